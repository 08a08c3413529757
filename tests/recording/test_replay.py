"""Recorded exchanges as answers."""

import asyncio
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from emulator.core.http import Mark
from emulator.handler.forward import Forwarding
from emulator.handler.replay import load_recording
from emulator.recording.canonical import canonicalize
from emulator.recording.exchange import Exchange, RecordedWrite, format_exchange, load_folder
from emulator.recording.replay import RecordedExchange
from emulator.scenario.load import load_scenario
from emulator.scenario.parsed import ScenarioError
from emulator.vendors import VENDORS
from tests.conftest import Start, running
from tests.golden import read_request
from tests.http_client import Running
from tests.recording.servers import recording
from tests.tools.attack.rows import CHATS, chat

_CHANGING = re.compile(rb"(?m)^(x-emulator-request-id: |date: \w{3}, \d\d \w{3} )[^\r]*", re.IGNORECASE)
KEY = {"Authorization": "Bearer key-of-mine", "api-key": "key-of-mine", "Content-Type": "application/json"}
STREAM = Exchange(
    vendor="databricks",
    method="POST",
    target=CHATS["databricks"][0],
    request_body=json.dumps({"messages": [{"role": "user", "content": "Hi"}], "stream": True}).encode(),
    status=200,
    reason="OK",
    headers=(("Content-Type", "text/event-stream"),),
    offset=0.25,
    framing="chunked",
    writes=tuple(
        RecordedWrite(0.5 + number / 4, f"data: {json.dumps(event)}\n\n".encode())
        for number, event in enumerate(
            [
                {"choices": [{"index": 0, "delta": {"content": "One two three"}}]},
                {"choices": [{"index": 0, "delta": {"content": " four five six"}, "finish_reason": "stop"}]},
                {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 6}},
            ]
        )
    ),
    ending="whole",
    ended=1.25,
)


def say(text: str) -> Exchange:
    """A whole answer to the prompt Hi."""
    body = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}).encode()
    asked = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
    headers = (("Content-Type", "application/json"),)
    return replace(STREAM, request_body=asked, headers=headers, framing="length", writes=(RecordedWrite(0.5, body),))


def write_scenario(more: str = "", *exchanges: Exchange, **settings: object) -> str:
    """A scenario that replays these exchanges."""
    texts = [f"{number:04}.exchange\n{format_exchange(each)}" for number, each in enumerate(exchanges, 1)]
    replay = json.dumps({"exchanges": texts, **settings})
    return f"version: 1\nname: replayed\nclock: instant\nreplay: {replay}\n{more}"


async def receive(
    urls: Mapping[str, str], vendor: str, fault: str, body: bytes, *, asks: bool = True
) -> tuple[bytes, str]:
    """All bytes of one response, and how the connection ended.

    ``asks``: for the fault in a header; a replay has it already.
    """
    url = urlsplit(urls[vendor])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    headers = {**KEY, "Connection": "close", **({"x-emulator-fault": fault} if fault and asks else {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(
        f"POST {CHATS[vendor][0]} HTTP/1.1\r\n{head}Host: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    data, ending = b"", "closed"
    try:
        async with asyncio.timeout(0.5 if fault == "hang" else None):
            while part := await reader.read(65536):
                data += part
    except ConnectionResetError:
        ending = "reset"
    except TimeoutError:
        ending = "silent"
    writer.close()
    return _CHANGING.sub(rb"\1", data), ending


FAULTS = [
    "",
    "disconnect; after_tokens=2",
    "truncate; after_tokens=2",
    "hang",
    "disconnect",
    "late_error; after_tokens=1",
]


@pytest.mark.slow
@pytest.mark.parametrize("vendor", CHATS)
async def test_replay_equals_what_was_recorded(vendor: str, start: Start, tmp_path: Path) -> None:
    """Streams and whole responses with and without faults, errors of the vendor: bytes and ending."""
    bodies = [chat(vendor, max_tokens=8, stream=stream, temperature=n / 100) for n, stream in enumerate((True, False))]
    bodies.append(chat(vendor, max_tokens=-1))
    service = await start("version: 1\nname: service\nlatency: {ttft: 30ms, itl: 10ms}\n")
    calls = [
        (fault, body.replace(b'"Hi"', json.dumps(f"Hi {fault}").encode()))
        for fault in FAULTS
        for body in (bodies[:1] if fault == "hang" else bodies)
    ]
    for _, body in calls[:3]:  # the first calls import the vendor, which takes long
        await service.ask(vendor, CHATS[vendor][0], body, headers=KEY)
    async with recording({vendor: service.urls[vendor]}, tmp_path) as server:
        direct = [await receive(service.urls, vendor, fault, body) for fault, body in calls]
        recorded = [await receive(server.urls, vendor, fault, body) for fault, body in calls]
    for (data, ending), (others, other) in zip(recorded, direct, strict=True):
        assert ending == other
        assert abs(len(data) - len(others)) < 10  # ids and measured times differ
    texts = [f"{number:04}\n{format_exchange(each)}" for number, each in enumerate(load_folder(tmp_path))]
    replayed = await start(
        f"version: 1\nname: replayed\nreplay: {json.dumps({'exchanges': texts})}\nunmatched: answer\n"
    )
    await replayed.ask(vendor, CHATS[vendor][0], chat(vendor, max_tokens=2), headers=KEY)
    assert [await receive(replayed.urls, vendor, fault, body, asks=False) for fault, body in calls] == recorded


async def fetch(url: str, path: Path) -> bytes:
    """The bytes of the response to the request of a golden."""
    head, body = read_request(path)
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    lines = "".join(f"{line}\r\n" for line in (*head.split("\n"), "Host: x", f"Content-Length: {len(body)}"))
    writer.write(f"{lines}Connection: close\r\n\r\n".encode() + body)
    data = await reader.read()
    writer.close()
    return _CHANGING.sub(rb"\1", data)


@pytest.mark.slow
@pytest.mark.parametrize("vendor", CHATS)
async def test_every_golden_replays_as_recorded(vendor: str, start: Start, tmp_path: Path) -> None:
    """Only answers with credentials are others, as these are cut."""
    goldens = sorted((Path(__file__).parent.parent / "vendors" / vendor / "golden").glob("*.http"))
    service = await start("version: 1\nname: service\nclock: instant\nlimits: []\n")
    async with recording({vendor: service.urls[vendor]}, tmp_path) as server:
        recorded = [await fetch(server.urls[vendor], path) for path in goldens]
    texts = [f"{number:04}\n{format_exchange(each)}" for number, each in enumerate(load_folder(tmp_path))]
    replay = json.dumps({"exchanges": texts})
    replayed = await start(
        f"version: 1\nname: replayed\nclock: instant\nlimits: []\nreplay: {replay}\nunmatched: refuse\n"
    )
    again = [await fetch(replayed.urls[vendor], path) for path in goldens]
    differing = [path.stem for path, one, two in zip(goldens, recorded, again, strict=True) if one != two]
    assert differing == [path.stem for path in goldens if path.stem in ("token", "seed_token")]
    assert len({*recorded}) > 10


async def ask(emulator: Running, stream: bool = False, text: str = "Hi", **more: object) -> tuple[int, bytes]:
    body = {"messages": [{"role": "user", "content": text}], **({"stream": True} if stream else {}), **more}
    answer = await emulator.ask("databricks", CHATS["databricks"][0], body, headers=KEY)
    return answer.status, answer.body


@pytest.mark.covers("language/sections", "replay")
async def test_quotas_rules_and_journal_see_a_replayed_answer(start: Start) -> None:
    rules = """
limits: [{unit: output_tokens, amount: 15, window: 1h, strategy: fixed}]
rules:
- {name: slow down, when: {prompt: {contains: stop}}, error: {kind: rate_limited}}
- {name: cut, times: {nth: 2}, faults: [{type: truncate, after_tokens: 3}]}
"""
    emulator = await start(write_scenario(rules, STREAM))
    whole = STREAM.body
    assert await ask(emulator, stream=True, max_tokens=6) == (200, whole)
    assert await ask(emulator, stream=True, max_tokens=6) == (200, STREAM.writes[0].data)
    assert (await ask(emulator, stream=True, text="stop"))[0] == 429
    first, second, _ = [each.load() for each in emulator.built.journal.list_calls()[:3]]
    assert [first.completion_tokens, first.sent_tokens, second.sent_tokens] == [6, 6, 3]
    assert first.prompt_tokens == 9
    assert first.summary == "Replayed from 0001.exchange."
    assert second.summary == "Replayed from 0001.exchange, as rule 'cut' says."
    assert (await ask(emulator, stream=True, max_tokens=6))[0] == 200
    assert (await ask(emulator, stream=True, max_tokens=6))[0] == 429  # 15 tokens are used


@pytest.mark.parametrize(
    ("after", "expected"),
    [("last", ["a", "b", "b", "b"]), ("repeat", ["a", "b", "a", "b"]), ("refuse", ["a", "b", "", ""])],
)
async def test_answers_to_one_ask_come_in_order(after: str, expected: list[str], start: Start) -> None:
    emulator = await start(write_scenario("", say("a"), say("b"), after=after))
    found = [await ask(emulator, temperature=number / 10, seed=number) for number in range(4)]
    said = [json.loads(body)["choices"][0]["message"]["content"] if status == 200 else "" for status, body in found]
    assert said == expected


@pytest.mark.parametrize(
    ("timing", "expected"),
    [
        ("recorded", [0.25, 0.5, 0.75, 1.0, 1.25]),
        ({"scaled": 2}, [0.5, 1.0, 1.5, 2.0, 2.5]),
        ("none", [0, 0, 0, 0, 0]),
    ],
)
async def test_writes_are_due_as_timing_says(timing: object, expected: list[float], start: Start) -> None:
    emulator = await start(write_scenario("", STREAM, timing=timing))
    began = emulator.built.clock.now()
    await ask(emulator, stream=True)
    assert emulator.built.clock.now() - began == pytest.approx(expected[-1])


async def test_fitted_times_are_those_of_the_scenario(start: Start) -> None:
    emulator = await start(write_scenario("latency: {ttft: 3s, itl: 1s}\n", STREAM, timing="fitted"))
    began = emulator.built.clock.now()
    await ask(emulator, stream=True)
    assert emulator.built.clock.now() - began == pytest.approx(3 + 5)


@pytest.mark.parametrize(
    ("text", "more", "status"),
    [
        pytest.param("Hi", {"seed": 5, "user": "u"}, 200, id="seed and user do not count"),
        pytest.param("Hi", {"tools": [{"type": "function", "function": {"name": "a"}}]}, 501, id="tools count"),
        pytest.param("Ho", {}, 501, id="the prompt counts"),
    ],
)
async def test_what_counts_decides(text: str, more: dict[str, Any], status: int, start: Start) -> None:
    emulator = await start(write_scenario("", say("a")))
    assert (await ask(emulator, text=text, **more))[0] == status


async def test_ids_dates_and_order_of_tools_do_not_count(start: Start) -> None:
    def body(ident: str, day: str, tools: list[str]) -> dict[str, object]:
        return {
            "messages": [
                {"role": "user", "content": f"Today is {day}, request 0b2f77aa-5b53-4a26-9d0e-{ident}."},
                {"role": "assistant", "tool_calls": [{"id": f"call_{ident}", "type": "function", "function": {}}]},
                {"role": "tool", "tool_call_id": f"call_{ident}", "content": "x"},
            ],
            "tools": [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools],
        }

    recorded = replace(say("a"), request_body=json.dumps(body("0123456789ab", "2026-11-26", ["a", "b"])).encode())
    emulator = await start(write_scenario("", recorded))
    asked = body("ba9876543210", "2027-01-31T10:00:00Z", ["b", "a"])
    answer = await emulator.ask("databricks", CHATS["databricks"][0], asked, headers=KEY)
    assert answer.status == 200, answer.body


async def test_miss_names_the_nearest_and_what_differs(start: Start) -> None:
    emulator = await start(write_scenario("", say("a"), STREAM))
    status, body = await ask(emulator, text="Hi there")
    assert status == 501
    text = json.loads(body)["error"]["message"]
    assert "This call is not recorded. The nearest recorded call is 0001.exchange" in text
    assert 'prompt ✗ …ges":[{"content":"Hi there","role":"user"}]} here' in text
    assert "model ✓; tools ✓" in text
    answer = await emulator.ask("databricks", "/api/2.0/serving-endpoints", headers=KEY)
    assert answer.status == 200  # a route without a model is answered


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        pytest.param("faults: [{type: stall, for: 1ms}]", 501, id="faults alone are no answer"),
        pytest.param("latency: {ttft: 1ms}", 501, id="nor is latency"),
        pytest.param("reply: {text: Hello}", 200, id="a reply is one"),
        pytest.param("pass: true", 200, id="pass asks for an ordinary one"),
    ],
)
async def test_rule_without_answer_hides_no_miss(outcome: str, status: int, start: Start) -> None:
    emulator = await start(write_scenario(f"rules: [{{name: a, {outcome}}}]\n", say("a")))
    assert (await ask(emulator, text="another"))[0] == status
    assert (await ask(emulator))[0] == 200


@pytest.mark.covers("language/sections", "unmatched")
@pytest.mark.parametrize(("policy", "status"), [("answer", 200), ("refuse", 501), ("forward", 501), ("record", 501)])
async def test_unmatched_calls_follow_the_policy(policy: str, status: int, start: Start) -> None:
    emulator = await start(write_scenario(f"unmatched: {policy}\n", say("a")))
    found, body = await ask(emulator, text="another")
    assert found == status
    if policy in ("forward", "record"):
        more = " and --record-to FOLDER" if policy == "record" else ""
        assert json.loads(body)["error"]["message"] == (
            f"The scenario has `unmatched: {policy}`, which needs `serve --forward databricks=URL{more}`."
        )


async def test_unknown_models_and_errors_are_replayed(start: Start) -> None:
    """A deployment that only the real service has, and a request that the emulator would refuse."""
    mine = replace(say("a"), target="/serving-endpoints/mine/invocations")
    gone = replace(mine, target="/serving-endpoints/gone/invocations", status=404, reason="Not Found")
    emulator = await start(write_scenario("", mine, gone))
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    for name, status in (("mine", 200), ("gone", 404)):
        answer = await emulator.ask("databricks", f"/serving-endpoints/{name}/invocations", body, headers=KEY)
        assert (answer.status, answer.body) == (status, mine.body)
    assert emulator.built.journal.list_calls()[0].load().deployment == "mine"


async def test_refused_credential_takes_its_recorded_answer(start: Start) -> None:
    refused = replace(say("no key"), status=401, reason="Unauthorized")
    emulator = await start(write_scenario("", refused, say("a"), replace(say("b"), request_body=b'{"messages": "x"}')))
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    first = await emulator.ask("databricks", CHATS["databricks"][0], body)
    assert (first.status, first.body) == (401, refused.body)
    assert await ask(emulator) == (200, say("a").body)
    for again in (body, {"messages": "x"}):  # what is recorded is for callers with a credential
        answer = await emulator.ask("databricks", CHATS["databricks"][0], again)
        assert (answer.status, b'"error_code":401' in answer.body) == (401, True)


async def test_masked_credentials_match_real_ones(start: Start) -> None:
    secret = f"dapi{'0123456789abcdef' * 2}"
    recorded = replace(say("a"), request_body=b'{"messages": [{"role": "user", "content": "use dapi\xe2\x80\xa6"}]}')
    emulator = await start(write_scenario("", recorded))
    assert (await ask(emulator, text=f"use {secret}"))[0] == 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("replay: {from: missing}", "missing: no such file or directory"),
        ("replay: {from: empty}", "a folder without recordings (*.exchange)"),
        ("replay: {from: broken}", "expected `exchange 1`"),
        ("replay: {from: ../elsewhere}", "expected a folder in the scenario's folder or below it"),
        ("replay: {from: /etc}", "expected a folder in the scenario's folder or below it"),
        ("replay: {from: linked}", "expected a folder in the scenario's folder or below it"),
        ("replay: {}", "expected either from or exchanges"),
        ("replay: {from: several}", f"several/a.exchange:{len(format_exchange(STREAM).splitlines()) + 1}: expected"),
        ('replay: {exchanges: ["a\\nexchange 1\\nfoo"]}', "replay.exchanges[0]: a:2: expected `name: value`"),
        ("replay: {from: whole, timing: slow}", "timing"),
        ("strict: true\nunmatched: answer", "strict refuses unmatched calls"),
    ],
)
def test_mistakes_in_a_replay_are_located(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.exchange").write_text("no exchange")
    (tmp_path / "several").mkdir()
    (tmp_path / "several" / "a.exchange").write_text(f"{format_exchange(STREAM)}exchange 2\n")
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "0001.exchange").write_text(format_exchange(STREAM))
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").symlink_to("/etc")
    file = tmp_path / "scenario.yaml"
    file.write_text(f"version: 1\n{text}\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario([file])
    assert message in str(caught.value)


def test_folder_beside_the_scenario_is_read(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "0001.exchange").write_text(format_exchange(STREAM))
    file = tmp_path / "scenario.yaml"
    file.write_text("version: 1\nreplay: {from: calls}\n")
    loaded = load_scenario([file])
    assert loaded.scenario.replay is not None
    assert loaded.scenario.replay.exchanges == (f"0001.exchange\n{format_exchange(STREAM)}",)
    digest = loaded.digest
    (tmp_path / "all.exchange").write_text(2 * format_exchange(STREAM))
    file.write_text("version: 1\nreplay: {from: all.exchange}\n")
    several = load_scenario([file]).scenario.replay
    assert several is not None
    assert several.exchanges == 2 * (f"all.exchange\n{format_exchange(STREAM)}",)
    file.write_text("version: 1\nreplay: {from: calls}\n")
    (tmp_path / "calls" / "0001.exchange").write_text(format_exchange(replace(STREAM, status=201)))
    assert load_scenario([file]).digest != digest


async def test_unmatched_calls_go_to_the_service_and_are_recorded(start: Start, tmp_path: Path) -> None:
    service = await start("")
    for policy, kept in (("forward", 0), ("record", 2)):
        forwarding = Forwarding({"databricks": service.urls["databricks"]}, tmp_path)
        text = write_scenario(f"unmatched: {policy}\n", say("a"))
        async with running(text, forwarding=forwarding) as emulator:
            assert (await ask(emulator))[1] == say("a").body
            for stream in (True, False):
                found = await ask(emulator, stream=stream, text="another", max_tokens=3)
                expected = await ask(service, stream=stream, text="another", max_tokens=3)
                assert (found[0], len(found[1])) == (expected[0], len(expected[1]))
            entry = emulator.built.journal.list_calls()[-1].load()
            assert (entry.status, entry.whole) == (200, True)
            assert emulator.built.runtime.metrics["databricks"].working("databricks-meta-llama-3-3-70b-instruct") == 0
            await forwarding.close()
        assert len(load_folder(tmp_path)) == kept


async def test_forwarded_stream_ends_with_its_last_byte(start: Start) -> None:
    service = await start("version: 1\nname: slow\nlatency: {ttft: 0s, itl: 20ms}\n")
    forwarding = Forwarding({"databricks": service.urls["databricks"]}, None)
    async with running("version: 1\nname: a\nunmatched: forward\n", forwarding=forwarding) as emulator:
        await ask(emulator, stream=True, max_tokens=5)
        entry = emulator.built.journal.list_calls()[-1].load()
        await forwarding.close()
    assert entry.ttft is not None
    assert entry.duration >= entry.ttft + 0.06  # of four waits the service has ended the last when the call ends


async def test_recording_is_read_before_the_first_request(start: Start) -> None:
    server = await start(write_scenario("", STREAM, say("a")))
    replay = server.built.runtime.active.loaded.scenario.replay
    assert replay is not None
    before = load_recording.cache_info()
    replayed = load_recording(replay.exchanges or (), VENDORS["databricks"], replay.match)
    assert load_recording.cache_info() == before._replace(hits=before.hits + 1)
    assert [each.__dict__.keys() >= {"content", "pieces"} for each in replayed.calls] == [True, True]


@pytest.mark.parametrize("cuts", [[], [3], [20, 21, 22], list(range(1, 300, 7)), list(range(300))])
def test_event_ends_where_its_last_byte_is(cuts: list[int]) -> None:
    body = STREAM.body
    places = [0, *(cut for cut in cuts if cut < len(body)), len(body)]
    writes = tuple(RecordedWrite(0.1, body[one:two]) for one, two in itertools.pairwise(places))
    asked = canonicalize("", "", b"")
    pieces = RecordedExchange(replace(STREAM, writes=writes), asked).pieces
    assert b"".join(piece.data for piece in pieces) == body
    assert [(piece.mark, piece.spoken) for piece in pieces if piece.is_end] == [
        (Mark.PLAIN, 1),
        (Mark.FINISH, 2),
        (Mark.USAGE, 2),
    ]
    assert sum(piece.is_flushed for piece in pieces) == sum(bool(write.data) for write in writes)
