"""Comparison of recordings."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.handler.replay import Resolver
from emulator.recording.canonical import PARTS
from emulator.recording.compare import RecordingComparison, build_overlay, compare
from emulator.recording.exchange import Exchange, RecordedWrite, format_exchange, load_folder
from emulator.recording.replay import Recording
from emulator.scenario.load import load_scenario
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.recording.servers import recording
from tests.recording.test_replay import KEY, STREAM, say
from tests.tools.attack.rows import CHATS, chat
from tests.untyped_json import JSON

REFUSED = replace(
    say(""),
    target="/serving-endpoints/gone/invocations",
    status=404,
    writes=(RecordedWrite(0.1, b'{"error_code": "NOT_FOUND", "message": "No endpoint gone since 2026-11-26."}'),),
)


def diff(one: list[Exchange], two: list[Exchange], vendor: str = "databricks") -> RecordingComparison:
    resolve = Resolver(VENDORS[vendor])
    return compare(*(Recording(rows, vendor, resolve, PARTS).calls for rows in (one, two)))


def change(old: str, new: str) -> Callable[[Exchange], Exchange]:
    """Replace a text in the body."""
    return lambda each: replace(
        each, writes=tuple(replace(w, data=w.data.replace(old.encode(), new.encode())) for w in each.writes)
    )


def header(name: str, value: str) -> Callable[[Exchange], Exchange]:
    return lambda each: replace(each, headers=(*each.headers, (name, value)))


def swap_events(each: Exchange) -> Exchange:
    return replace(each, writes=tuple(reversed(each.writes)))


TYPED = replace(
    STREAM,
    writes=tuple(
        RecordedWrite(0.1, f'event: {name}\ndata: {{"type": "{name}", "at": 1}}\n\n'.encode())
        for name in ("start", "go")
    ),
)
LISTED = replace(say(""), writes=(RecordedWrite(0.1, b'{"tokens": [{"id": 1, "p": 0.5}, {"id": 2, "p": 2}]}'),))
TWICE = replace(say("a"), headers=(*say("a").headers, ("Vary", "Accept"), ("vary", "Origin")))


@pytest.mark.parametrize(
    ("base", "planted", "found"),
    [
        pytest.param(say("a"), change('"role": "assistant", ', ""), "gone choices[].message.role", id="a field gone"),
        pytest.param(say("a"), change('"index": 0', '"index": 0, "new": {"a": 1}'), "added choices[].new", id="added"),
        pytest.param(say("a"), change('"index": 0', '"index": "0"'), "type choices[].index", id="another type"),
        pytest.param(
            say("a"),
            change('"role": "assistant", "content": "a"', '"content": "a", "role": "assistant"'),
            "order choices[].message",
            id="another order",
        ),
        pytest.param(say("a"), change('"assistant"', '"model"'), "value choices[].message.role", id="another value"),
        pytest.param(say("a"), header("x-served-by", "b"), "added header x-served-by", id="a header"),
        pytest.param(say("a"), lambda each: replace(each, status=201), "status status", id="another status"),
        pytest.param(say("a"), lambda each: replace(each, ending="reset"), "ending end", id="another ending"),
        pytest.param(REFUSED, change("No endpoint", "There is no"), "error text message", id="an error's words"),
        pytest.param(REFUSED, change("NOT_FOUND", "MISSING"), "value error_code", id="an error's code"),
        pytest.param(STREAM, change("data: ", "data:"), "stream framing", id="framing of events"),
        pytest.param(STREAM, change('"index": 0, ', ""), "gone finish event: choices[].index", id="a field of events"),
        pytest.param(
            STREAM, lambda each: replace(each, writes=each.writes[:2]), "stream roles", id="an event that is not sent"
        ),
        pytest.param(STREAM, change("6}}\n\n", "6}}\n"), "stream last line", id="no blank line at the end"),
        pytest.param(
            STREAM,
            lambda each: replace(change("6}}\n\n", "6}}\n")(each), ending="cut"),
            "ending end",
            id="a stream that was cut",
        ),
        pytest.param(TYPED, change("event: start", "event: begin"), "stream roles", id="the name of an event"),
        pytest.param(TYPED, swap_events, "stream roles", id="events in another order"),
        pytest.param(say("a"), change('"index": 0', '"index": 0.0'), "type choices[].index", id="numbers as written"),
        pytest.param(LISTED, change(', "p": 2', ""), "gone tokens[].p", id="a field that some items lack"),
        pytest.param(LISTED, change("0.5", "1"), None, id="a whole number is a number"),
        pytest.param(TWICE, lambda each: replace(each, headers=each.headers[:-1]), "header vary", id="a header twice"),
        pytest.param(say("a"), change('"a"', '"other words, 7"'), None, id="words are noise"),
        pytest.param(say("a"), header("x-request-id", "b"), None, id="ids are noise"),
        pytest.param(REFUSED, change("2026-11-26", "2027-01-02"), None, id="dates are noise"),
        pytest.param(STREAM, lambda each: replace(each, offset=9.0, ended=10.0), None, id="times are noise"),
    ],
)
def test_planted_change_is_found(base: Exchange, planted: Callable[[Exchange], Exchange], found: str | None) -> None:
    assert diff([base], [base]).exit_code == 0
    comparison = diff([base], [planted(base)])
    rows = [f"{drift.kind} {drift.place}" for drift in comparison.drift]
    assert found in rows if found else not rows
    assert {row.partition(" ")[0] for row in rows} == ({found.partition(" ")[0]} if found else set())
    assert comparison.exit_code == bool(found)


ENVELOPE = {  # the two envelopes of Azure's errors
    "added error: 5",
    "gone header x-ms-error-code: 5",
    *(f"gone {name}: 5" for name in ("code", "detail", "message", "status")),
}


async def record_fifty(vendor: str, scenario: str, start: Start, folder: Path) -> list[Exchange]:
    """Whole answers, streams and refusals, recorded from a vendor under a scenario."""
    service = await start(f"version: 1\n{scenario}\n")
    async with recording({vendor: service.urls[vendor]}, folder) as server:
        running = replace(service, urls=server.urls)
        for number in range(50):
            more: dict[str, JSON] = {"stream": number % 2 == 0, "max_tokens": 3 + number // 2 if number % 5 else -1}
            body = chat(vendor, **more, temperature=number / 100)
            await running.ask(vendor, CHATS[vendor][0], body, headers=KEY)
    return load_folder(folder)


@pytest.mark.slow
@pytest.mark.parametrize("vendor", CHATS)
async def test_equal_recordings_have_no_drift(vendor: str, start: Start, tmp_path: Path) -> None:
    """Fifty pairs of calls that differ in seed, words, ids and times."""
    found = [await record_fifty(vendor, f"seed: {seed}", start, tmp_path / str(seed)) for seed in (1, 2)]
    comparison = diff(found[0], found[1], vendor)
    assert (comparison.compared, comparison.drift) == (50, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vendor", "before", "after", "whole", "streamed"),
    [
        pytest.param(
            "databricks",
            "{profile: real}",
            "{profile: seed}",
            {"value object: 20"},
            {f"gone {role} event: usage: 20" for role in ("finish", "other", "text")},
            id="databricks",
        ),
        pytest.param(
            "mindie",
            "{profile: strict}",
            "{profile: motor}",
            {"added header server: 25", "header content-type: 25"},
            {"added header server: 25", "header content-type: 20", "header content-type: 5"},
            id="mindie",
        ),
        pytest.param(
            "tgi",
            "{compute_type: gpu}",
            "{compute_type: cpu}",
            {"header x-compute-type: 20"},
            {"header x-compute-type: 20"},
            id="tgi",
        ),
        pytest.param(
            "openvino",
            "{profile: '2025.0'}",
            "{profile: '2026.3'}",
            {
                "added choices[].message.tool_calls: 20",
                *(f"added header access-control-allow-{name}: 25" for name in ("headers", "methods", "origin")),
            },
            {
                *(f"added header access-control-allow-{name}: 20" for name in ("headers", "methods", "origin")),
                "order finish event: choices[]: 20",
                "order text event: choices[]: 20",
                "status status: 5",
                "stream roles: 20",
            },
            id="openvino",
        ),
        pytest.param(
            "azure",
            "{error_shape: docs}",
            "{error_shape: wire}",
            ENVELOPE,
            ENVELOPE,
            id="azure",
        ),
    ],
)
async def test_profiles_differ_where_planted(
    vendor: str, before: str, after: str, whole: set[str], streamed: set[str], start: Start, tmp_path: Path
) -> None:
    """Fifty pairs from two profiles of a vendor; the count of pairs is that of the answers, or of the refusals."""
    found = [
        await record_fifty(vendor, f"vendors: {{{vendor}: {given}}}", start, tmp_path / str(number))
        for number, given in enumerate((before, after))
    ]
    comparison = diff(found[0], found[1], vendor)
    rows: dict[bool, set[str]] = {False: set(), True: set()}
    for drift, count in comparison.drift.items():
        rows[drift.operation.endswith(" stream")].add(f"{drift.kind} {drift.place}: {count}")
    assert (comparison.compared, rows[False], rows[True]) == (50, whole, streamed)


@pytest.mark.covers("language/commands", "diff")
def test_command_compares_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rows in {"a": [say("a")], "b": [change('"index": 0', '"index": 0, "new": 1')(say("b"))], "c": []}.items():
        (tmp_path / name).mkdir()
        for number, each in enumerate(rows):
            (tmp_path / name / f"{number}.exchange").write_text(format_exchange(each))
    a, b, c = (str(tmp_path / name) for name in "abc")
    assert [main(["diff", a, a]), main(["diff", a, b]), main(["diff", a, c])] == [0, 1, 2]
    assert main(["diff", a]) == 2
    capsys.readouterr()
    assert main(["diff", a, str(tmp_path / "missing")]) == 2
    assert f"cannot read {tmp_path / 'missing'}: no such file" in capsys.readouterr().err
    overlay = tmp_path / "overlay.yaml"
    assert main(["diff", a, b, "--json", "--as-profile", str(overlay)]) == 1
    (row,) = json.loads(capsys.readouterr().out)["drift"]
    assert (row["kind"], row["place"], row["pairs"]) == ("added", "choices[].new", 1)
    (rule,) = load_scenario([overlay]).scenario.rules
    assert [fault.type for fault in rule.faults] == ["drop"]


CHAT = say("").target
FINGERPRINT = change('"choices"', '"system_fingerprint": "fp_1", "choices"')


@pytest.mark.parametrize(
    ("real", "mine", "faults", "left"),
    [
        pytest.param(
            [say("a"), say("b")],
            [change('"index": 0', '"index": 0, "new": 1')(say(text)) for text in "ab"],
            [{"type": "drop", "field": ["choices.new"]}],
            [],
            id="a field that only the emulator has",
        ),
        pytest.param(
            [FINGERPRINT(say("a")), change('"choices"', '"logs": [], "choices"')(FINGERPRINT(say("b")))],
            [say("a"), say("b")],
            [
                {"type": "extra_fields", "fields": {"logs": []}, "at": "."},
                {"type": "extra_fields", "fields": {"system_fingerprint": "fp_1"}, "at": "."},
            ],
            [],
            id="fields that only the service has",
        ),
        pytest.param(
            [FINGERPRINT(say("a")), change("No endpoint", "None")(replace(REFUSED, target=CHAT, request_body=b"{}"))],
            [say("a"), replace(REFUSED, target=CHAT, request_body=b"{}")],
            [{"type": "extra_fields", "fields": {"system_fingerprint": "fp_1"}, "at": "."}],
            ["error text message: no rule changes a refusal"],
            id="a field of answers beside an error of the operation",
        ),
        pytest.param(
            [change('"index": 0', f'"index": 0, "words": "{text}"')(say("a")) for text in ("some", "others")],
            [say("a"), say("a")],
            None,
            ["gone choices[].words: its value varies"],
            id="a field whose value varies",
        ),
        pytest.param(
            [change('"index": 0', '"index": "0"')(say("a"))],
            [say("a")],
            [
                {"type": "drop", "field": ["choices.index"]},
                {"type": "extra_fields", "fields": {"index": "0"}, "at": "choices"},
            ],
            [],
            id="another type",
        ),
        pytest.param(
            [change("No endpoint", "There is no endpoint")(REFUSED)],
            [REFUSED],
            None,
            ["error text message: no rule changes a refusal"],
            id="words of an error",
        ),
        pytest.param(
            [change('"role"', '"speaker"')(say("a"))],
            [say("a")],
            [
                {"type": "drop", "field": ["choices.message.role"]},
                {"type": "extra_fields", "fields": {"speaker": "assistant"}, "at": "choices.message"},
            ],
            [],
            id="another name",
        ),
        pytest.param(
            [change('"finish_reason": "stop"', '"finish_reason": "stop", "why": "end"')(STREAM)],
            [STREAM],
            None,
            ["gone finish event: choices[].why: other events or answers of the operation lack the field"],
            id="a field of one event among several",
        ),
        pytest.param(
            [STREAM],
            [change('"choices": [], ', '"choices": [], "index": 0, ')(STREAM)],
            [{"type": "drop", "field": ["index"]}],
            [],
            id="a field that only an event of the emulator has",
        ),
        pytest.param(
            [
                header("x-a", "1")(
                    change('"role": "assistant", "content": "a"', '"content": "a", "role": "assistant"')(say("a"))
                )
            ],
            [say("a")],
            None,
            [
                "gone header x-a: a rule changes the fields of a body alone",
                "order choices[].message: a rule changes the fields of a body alone",
            ],
            id="headers and order",
        ),
    ],
)
def test_overlay_expresses_fields_and_names_the_rest(
    real: list[Exchange], mine: list[Exchange], faults: list[JSON] | None, left: list[str]
) -> None:
    rules, others = build_overlay(diff(real, mine), "databricks")
    assert [rule["faults"] for rule in rules] == ([] if faults is None else [faults])
    assert [line.partition(": ")[2] for line in others] == left


def test_long_texts_are_cut_where_they_differ() -> None:
    words = change("No endpoint", "No endpoint " + "of the many that are here " * 9)(REFUSED)
    ((drift, _),) = diff([words], [change(" since", " until")(words)]).drift.items()
    assert drift.before.endswith("gone since 2026-11-26.")
    assert drift.after.endswith("gone until 2026-11-26.")


@pytest.mark.slow
async def test_overlay_makes_the_emulator_as_recorded(start: Start, tmp_path: Path) -> None:
    """A profile of Databricks under an overlay differs by the place of a field that has another value."""
    real = await record_fifty("databricks", "vendors: {databricks: {profile: seed}}", start, tmp_path / "real")
    mine = await record_fifty("databricks", "", start, tmp_path / "mine")
    rules, left = build_overlay(diff(real, mine), "databricks")
    again = await record_fifty("databricks", f"rules: {json.dumps(rules)}", start, tmp_path / "again")
    assert left == []
    assert [f"{drift.kind} {drift.place}" for drift in diff(real, again).drift] == ["order body"]


@pytest.mark.slow
def test_recording_is_compared_with_the_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the real service says and the emulator does not, and the reverse."""
    (tmp_path / "0.exchange").write_text(format_exchange(say("a")))
    assert main(["diff", str(tmp_path), "--against", "databricks", "--json"]) == 1
    found = {(row["kind"], row["place"]) for row in json.loads(capsys.readouterr().out)["drift"]}
    assert {("added", "usage"), ("added", "id"), ("added", "choices[].finish_reason")} <= found
    assert not [place for kind, place in found if kind == "gone"]
