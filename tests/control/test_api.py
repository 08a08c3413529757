"""Tests of the control API over HTTP, with a toy vendor."""

import asyncio
import json
import os
from pathlib import Path
from urllib.parse import quote

import jsonschema_rs
import pytest

from emulator.control.auth import ControlAuth, Headers
from emulator.control.problem import show_file
from emulator.core.errors import ProblemError
from emulator.runtime.runtime import LoadHistory
from emulator.scenario.load import load_paths
from emulator.vendors import VENDORS
from tests.conftest import FROZEN, Start
from tests.control.asking import KEY, ask, control
from tests.handler.toy import TOY
from tests.http_client import Running, read_answer
from tests.untyped_json import JSON

THROTTLED = """
rules:
  - {name: greets, when: {prompt: {contains: Hello}}, reply: {text: Good day}}
  - {name: second call, times: {nth: 2}, error: {kind: rate_limited, retry_after: 60s}}
"""


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(THROTTLED, vendors=[TOY])


@pytest.mark.parametrize("port", ["front", "toy"])
async def test_every_port_serves_control_plane(toy: Running, port: str) -> None:
    for path in ("/health", "/ready", "/scenario", "/scenarios", "/requests", "/clock", "/metrics", "/openapi.json"):
        answer = await toy.ask(port, f"/_emulator{path}")
        assert answer.status == 200, path


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "says"),
    [
        pytest.param("GET", "/nowhere", None, 404, "/_emulator/requests", id="an unknown path"),
        pytest.param("DELETE", "/scenario", None, 405, "GET, HEAD, PUT", id="a wrong method"),
        pytest.param("POST", "/requests/1", None, 405, "GET, HEAD", id="a wrong method of one request"),
        pytest.param("GET", "/clock?tick=1", None, 400, "tick", id="an unknown parameter"),
        pytest.param("GET", "/requests?limit=none", None, 400, "limit", id="a limit that is text"),
        pytest.param("GET", "/requests?limit=0", None, 400, "limit", id="a limit of nothing"),
        pytest.param("GET", "/requests?matched=no", None, 400, "matched", id="neither true nor false"),
        pytest.param("GET", "/requests?rule=a&rule=b", None, 400, "rule", id="a parameter given twice"),
        pytest.param("GET", "/requests/abc", None, 404, "abc", id="an unknown request"),
        pytest.param("POST", "/clock", "{", 400, "line 1", id="JSON that ends early"),
        pytest.param("POST", "/clock", None, 400, "EOF", id="no body"),
        pytest.param("POST", "/clock", {"advance": "60"}, 422, "250ms", id="a duration without a unit"),
        pytest.param(
            "POST",
            "/clock",
            {"advance": 60},
            422,
            "advance: expected a duration with a unit, such as 250ms, got 60",
            id="a number",
        ),
        pytest.param("POST", "/clock", {"advance": "3000000d"}, 422, "36525d", id="past the end of time"),
        pytest.param("POST", "/clock", {"rewind": "60s"}, 422, "rewind", id="an unknown key"),
        pytest.param("POST", "/clock", [], 422, "expected a mapping", id="a list"),
        pytest.param(
            "POST",
            "/verify",
            {"calls": {"vendor": ["a"] * 20_000}},
            413,
            "more than 10000 values",
            id="too many values",
        ),
        pytest.param(
            "POST", "/verify", {"calls": {f"x{n}": 1 for n in range(900)}}, 422, "and 700 more", id="very many mistakes"
        ),
        pytest.param("PUT", "/scenario?name=throtled", None, 404, "throtled", id="a scenario the library has not"),
        pytest.param("PUT", "/scenario?name=a", "version: 1", 400, "not both", id="two scenarios at once"),
    ],
)
async def test_invalid_control_request_returns_problem(
    toy: Running, method: str, target: str, body: JSON, status: int, says: str
) -> None:
    answer = await control(toy, method, target, body)
    assert (answer.status, answer.header("Content-Type")) == (status, "application/problem+json")
    problem = answer.json()
    assert (problem["status"], problem["type"]) == (status, "about:blank")
    assert says in problem["detail"]
    assert (answer.header("Allow") is not None) == (status == 405)


# Scenario


@pytest.mark.parametrize(
    ("target", "text", "name"),
    [
        pytest.param("/scenario?default_name=k", "version: 1", "k", id="a file's text, which was named by the file"),
        pytest.param("/scenario?default_name=k", "version: 1\nname: other", "other", id="a name of its own"),
        pytest.param("/scenario", "version: 1", "", id="none"),
    ],
)
async def test_scenario_without_name_takes_the_default(toy: Running, target: str, text: str, name: str) -> None:
    assert (await control(toy, "PUT", target, text)).json()["name"] == name


@pytest.mark.covers("language/control plane", "GET /health", "PUT /scenario")
async def test_put_scenario_resets_rule_counters(toy: Running) -> None:
    assert [(await ask(toy)).status for _ in range(2)] == [200, 400]
    answer = await control(toy, "PUT", "/scenario", FROZEN + THROTTLED)
    assert answer.status == 200
    assert answer.json()["rules"] == ["greets", "second call"]
    assert [(await ask(toy)).status for _ in range(3)] == [200, 400, 200]


@pytest.mark.covers("language/sections", "name", "description")
@pytest.mark.covers("language/control plane", "GET /scenario")
async def test_get_scenario_returns_loaded_scenario(toy: Running) -> None:
    text = "version: 1\nname: other\ndescription: What it teaches\nseed: 5\nrules: [{name: a, pass: true}]\n"
    put = (await control(toy, "PUT", "/scenario", text)).json()
    shown = (await control(toy, "GET", "/scenario")).json()
    assert put == shown
    assert (shown["name"], shown["description"], shown["seed"], shown["rules"]) == (
        "other",
        "What it teaches",
        5,
        ["a"],
    )
    assert shown["document"]["rules"] == [{"name": "a", "pass": True}]
    health = (await control(toy, "GET", "/health")).json()
    assert health["scenario"] == {"name": "other", "hash": shown["hash"]}


@pytest.mark.parametrize("ascii_only", [True, False])
async def test_put_scenario_accepts_escaped_and_raw_json(toy: Running, ascii_only: bool) -> None:
    rule: JSON = {"name": "r", "reply": {"text": "Grüße 🙂 \x7f"}}
    text = json.dumps({"version": 1, "name": "j", "rules": [rule]}, ensure_ascii=ascii_only)
    answer = await control(toy, "PUT", "/scenario", text)
    assert (answer.status, answer.json()["document"]["rules"]) == (200, [rule])
    assert "Grüße 🙂 \x7f" in (await ask(toy, max=50)).body.decode()


@pytest.mark.slow
async def test_scenario_errors_are_capped_at_200(toy: Running) -> None:
    text = "version: 1\nrules:\n" + "- {name: a, what: 1}\n" * 500
    for method, target in (("PUT", "/scenario"), ("POST", "/check")):
        answer = (await control(toy, method, target, text)).json()
        assert len(answer["errors"]) == 200
        assert answer.get("detail", "and").splitlines()[-1].startswith("and")


@pytest.mark.slow
async def test_health_responds_while_long_scenario_is_parsed(toy: Running) -> None:
    rules = "".join(
        f"- {{name: r{number}, when: {{prompt: p{number}}}, reply: {{text: x}}}}\n" for number in range(3000)
    )
    put = asyncio.create_task(control(toy, "PUT", "/scenario", f"version: 1\nname: long\nrules:\n{rules}"))
    answered = 0
    while not put.done():
        answered += (await control(toy, "GET", "/health")).status == 200
    assert put.result().status == 200
    assert len(put.result().json()["rules"]) == 3000
    assert answered > 3


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param('{"version": 1,\n"name": "\\ud83d"}', [(2, "", None)], id="half of a character"),
        pytest.param("version: 1\nrulez: []\nseed: x\n", [(2, "rulez", "rules"), (3, "seed", None)], id="two mistakes"),
        pytest.param("a: b: c", [(1, "", None)], id="not YAML"),
        pytest.param("version: 1\nvendors: {toi: {}}\n", [(2, "vendors.toi", "toy")], id="no such vendor"),
        pytest.param(
            "version: 1\nrulez: []\nvendors: {toy: {load: 1}}\ndeployments: [{vendor: toi}]\n",
            [(2, "rulez", "rules"), (3, "vendors.toy.load", "loud"), (4, "deployments[0].name", None)],
            id="the vendor's mistakes too",
        ),
    ],
)
async def test_invalid_scenario_reports_every_error_and_changes_nothing(
    toy: Running, text: str, rows: list[tuple[int, str, str | None]]
) -> None:
    before = (await control(toy, "GET", "/scenario")).json()
    answer = await control(toy, "PUT", "/scenario", text)
    assert (answer.status, answer.header("Content-Type")) == (422, "application/problem+json")
    assert [(row["line"], row["path"], row.get("suggestion")) for row in answer.json()["errors"]] == rows
    assert (await control(toy, "GET", "/scenario")).json() == before
    assert (await ask(toy, "Hello")).header("x-emulator-rule") == "greets"


async def test_open_response_finishes_under_old_scenario(start: Start) -> None:
    running = await start("version: 1\nname: slow\nclock: frozen\nlatency: {ttft: 10s}\n", vendors=[TOY])
    slow = asyncio.create_task(ask(running, stream=True))
    while not (await control(running, "GET", "/metrics")).body.count(b'in_flight_requests{vendor="toy"} 1'):
        await asyncio.sleep(0)
    put = await control(
        running, "PUT", "/scenario", "version: 1\nname: broken\nrules: [{name: a, error: {kind: internal}}]\n"
    )
    assert put.status == 200
    assert len((await slow).chunks) == 3
    assert (await ask(running)).status == 400


@pytest.mark.covers("language/sections", "vendors")
async def test_disabled_vendor_returns_404_until_enabled_again(toy: Running) -> None:
    await control(toy, "PUT", "/scenario", "version: 1\nvendors: {toy: false}\n")
    gone = await ask(toy)
    assert (gone.status, gone.header("Content-Type")) == (404, "application/problem+json")
    await control(toy, "PUT", "/scenario", "version: 1\n")
    assert (await ask(toy)).status == 200


async def test_vendor_enabled_later_gets_port(start: Start) -> None:
    running = await start("vendors: {toy: false}\n", vendors=[TOY])
    assert list(running.urls) == ["front"]
    put = await running.ask("front", "/_emulator/scenario", b"version: 1\n", method="PUT")
    assert put.status == 200
    assert (await ask(running)).status == 200


# Reset and sessions


async def test_reset_clears_counters_and_journal_only(toy: Running) -> None:
    first = [(await ask(toy)).header("x-emulator-request-id") for _ in range(2)]
    await control(toy, "POST", "/clock", {"advance": "60s"})
    answer = await control(toy, "POST", "/reset")
    assert (answer.status, answer.json()["name"]) == (200, "test")
    assert (await control(toy, "GET", "/requests")).json() == {"requests": [], "total": 0}
    clock = (await control(toy, "GET", "/clock")).json()
    assert (clock["time"], clock["since_start"]) == ("2026-01-01T00:01:00.000Z", 0.0)
    assert [(await ask(toy)).header("x-emulator-request-id") for _ in range(2)] == first


async def test_reset_drops_call_that_began_before_it(start: Start) -> None:
    running = await start("latency: {ttft: 10s}\n", vendors=[TOY])
    slow = asyncio.create_task(ask(running, stream=True))
    while not (await control(running, "GET", "/metrics")).body.count(b'in_flight_requests{vendor="toy"} 1'):
        await asyncio.sleep(0)
    await control(running, "POST", "/reset")
    await control(running, "POST", "/clock", {"advance": "10s"})
    assert len((await slow).chunks) == 3
    assert (await control(running, "GET", "/requests")).json()["total"] == 0


@pytest.mark.covers("language/control plane", "POST /reset")
async def test_sessions_count_and_reset_independently(toy: Running) -> None:
    assert [(await ask(toy, session=name)).status for name in ("a", "b", "a", "b")] == [200, 200, 400, 400]
    await control(toy, "POST", "/reset?session=a")
    left = (await control(toy, "GET", "/requests")).json()["requests"]
    assert [entry["session"] for entry in left] == ["b", "b"]
    assert [(await ask(toy, session=name)).status for name in ("a", "b", "a")] == [200, 200, 400]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(None, id="nothing"),
        pytest.param(("POST", "/reset?session=a", None), id="reset on its own"),
        pytest.param(("POST", "/clock?session=a", {"advance": "60s"}), id="clocked on its own"),
        pytest.param(("PUT", "/scenario?session=a", f"version: 1\nname: own\n{THROTTLED}"), id="loaded on its own"),
    ],
)
async def test_reset_without_session_reaches_every_session(toy: Running, before: tuple[str, str, JSON] | None) -> None:
    if before is not None:
        assert (await control(toy, *before)).status == 200
    clock = (await control(toy, "GET", "/clock?session=a")).json()["time"]
    scenario = (await control(toy, "GET", "/scenario?session=a")).json()["name"]
    assert [(await ask(toy, session=name)).status for name in ("a", "b", "a", "b")] == [200, 200, 400, 400]
    await control(toy, "POST", "/reset")
    assert (await control(toy, "GET", "/requests")).json()["total"] == 0
    after = (await control(toy, "GET", "/clock?session=a")).json()
    assert (after["time"], after["since_start"]) == (clock, 0.0)
    assert (await control(toy, "GET", "/scenario?session=a")).json()["name"] == scenario
    assert [(await ask(toy, session=name)).status for name in ("a", "b", "a")] == [200, 200, 400]


# Journal


async def test_control_requests_are_not_journaled(toy: Running) -> None:
    await control(toy, "GET", "/clock")
    assert (await control(toy, "GET", "/requests")).json()["total"] == 0


@pytest.mark.covers("language/control plane", "GET /requests/{id}")
async def test_request_detail_explains_each_rule_and_timing(start: Start) -> None:
    running = await start(
        """
rules:
  - {name: another vendor, when: {vendor: azure}, pass: true}
  - {name: a secret, when: {prompt: {contains: secret}}, pass: true}
  - {name: by luck, times: {probability: 0}, pass: true}
  - {name: the third, times: {nth: 3}, pass: true}
  - {name: streams, when: {stream: true}, latency: {ttft: 2s}}
""",
        vendors=[TOY],
    )
    streaming = asyncio.create_task(ask(running, stream=True))
    while not list(running.built.journal):
        await asyncio.sleep(0)
        running.built.clock.advance(1.0)
    name = (await streaming).header("x-emulator-request-id")
    detail = (await control(running, "GET", f"/requests/{name}")).json()
    said = [(word["rule"], word["failed"]) for word in detail["explanation"]]
    assert said == [
        ("another vendor", "vendor"),
        ("a secret", "prompt"),
        ("by luck", "times.probability"),
        ("the third", "times.nth"),
        ("streams", None),
    ]
    assert [word["takes"] for word in detail["explanation"]] == [False] * 4 + [True]
    assert detail["explanation"][3]["detail"] == "call 1, wanted nth 3"
    assert 0 <= detail["explanation"][2]["draw"] < 1
    assert (detail["rule"], detail["planned_ttft"]) == ("streams", 2.0)
    assert detail["ttft"] >= 2.0
    assert detail["explanation"][1]["detail"] == 'is "Hi", wanted {"contains":"secret"}'


@pytest.mark.parametrize(
    ("rules", "prompt", "summary"),
    [
        pytest.param(THROTTLED, "Hello", "'greets' matched.", id="a rule took it"),
        pytest.param(
            THROTTLED, "Hi", "No rule matched. The nearest is 'greets': prompt does not hold", id="none took it"
        ),
        pytest.param("", "Hi", "No rules apply.", id="there are none"),
        pytest.param(THROTTLED, None, "Toy has no such path", id="the vendor refused it first"),
    ],
)
async def test_request_summary_states_outcome(start: Start, rules: str, prompt: str | None, summary: str) -> None:
    running = await start(rules, vendors=[TOY])
    if prompt is None:
        await running.ask("toy", "/nowhere", headers=KEY)
    else:
        await ask(running, prompt)
    (entry,) = running.built.journal
    detail = (await control(running, "GET", f"/requests/{entry.id}")).json()
    assert detail["summary"].startswith(summary)


async def test_explanation_survives_scenario_change(toy: Running) -> None:
    name = (await ask(toy, "Hello")).header("x-emulator-request-id")
    await control(toy, "PUT", "/scenario", "version: 1\n")
    detail = (await control(toy, "GET", f"/requests/{name}")).json()
    assert [word["rule"] for word in detail["explanation"]] == ["greets"]


# Clock


@pytest.mark.covers("language/sections", "clock")
@pytest.mark.covers("language/clocks", "real", case="real")
@pytest.mark.covers("language/clocks", "scale", case="scaled")
@pytest.mark.covers("language/clocks", "instant", case="instant")
@pytest.mark.covers("language/clocks", "frozen", case="frozen")
@pytest.mark.covers("language/control plane", "GET /clock", "POST /clock")
@pytest.mark.parametrize(
    ("clock", "kind", "scale"),
    [
        pytest.param("real", "real", 1.0, id="real"),
        pytest.param("{scale: 60}", "scale", 60.0, id="scaled"),
        pytest.param("instant", "instant", 0.0, id="instant"),
        pytest.param("frozen", "frozen", 0.0, id="frozen"),
    ],
)
async def test_every_clock_kind_can_be_advanced(start: Start, clock: str, kind: str, scale: float) -> None:
    running = await start(f"version: 1\nclock: {clock}\n", vendors=[TOY])
    before = (await control(running, "GET", "/clock")).json()
    after = (await control(running, "POST", "/clock", {"advance": "1h"})).json()
    assert (before["kind"], before["scale"]) == (kind, scale)
    assert after["now"] - before["now"] == pytest.approx(3600.0, abs=120.0)
    if kind in ("instant", "frozen"):
        assert (before["time"], after["time"]) == ("2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z")


@pytest.mark.parametrize(
    ("clock", "reported", "moved"),
    [
        pytest.param("frozen", 60.0, 0.0, id="frozen: as it is"),
        pytest.param("{scale: 60}", 1.0, None, id="scaled: in the client's seconds"),
        pytest.param("instant", 0.0, 60.0, id="instant: nothing, and the wait is over"),
    ],
)
async def test_retry_after_is_given_in_client_seconds(
    start: Start, clock: str, reported: float, moved: float | None
) -> None:
    text = f"version: 1\nclock: {clock}\nrules: [{{name: a, error: {{kind: rate_limited, retry_after: 60s}}}}]\n"
    running = await start(text, vendors=[TOY])
    begun = running.built.clock.now()
    answer = await ask(running)
    assert answer.header("x-retry") == str(reported)
    assert answer.header("retry-after-ms") == (None if reported else "1")
    if moved is not None:
        assert running.built.clock.now() - begun == moved


# Strict


@pytest.mark.covers("language/sections", "strict")
async def test_strict_scenario_refuses_unmatched_request(start: Start) -> None:
    rules = "rules: [{name: greets, when: {prompt: {contains: Hello}}, reply: {text: Good day}}]\n"
    running = await start("strict: true\n" + rules, vendors=[TOY])
    answer = await ask(running, "anything")
    assert (answer.status, answer.header("Content-Type")) == (501, "application/json")
    assert answer.json()["error"]["type"] == "emulator_unmatched"
    assert "'greets': prompt does not hold" in answer.json()["error"]["message"]
    assert answer.header("x-should-retry") == "false"
    assert (await ask(running, "Hello")).status == 200
    assert (await running.ask("toy", "/open")).status == 200
    (unmatched,) = (await control(running, "GET", "/requests?status=501")).json()["requests"]
    assert (unmatched["error"], unmatched["rule"], unmatched["deployment"]) == ("unmatched", None, "toy")


async def test_request_that_asks_for_its_fault_is_explained(start: Start) -> None:
    running = await start("rules: [{name: greets, when: {prompt: Hello}, reply: {text: Good day}}]\n", vendors=[TOY])
    headers = {"x-key": "k", "x-emulator-fault": "garbage"}
    await running.ask("toy", "/chat", {"prompt": "Bye", "max": 3}, headers=headers)
    (entry,) = (await control(running, "GET", "/requests")).json()["requests"]
    assert entry["summary"] == "The request asked for it itself: x-emulator-fault: garbage."


@pytest.mark.covers("language/control plane", "GET /open")
async def test_open_calls_are_listed_until_they_end(start: Start) -> None:
    running = await start("rules: [{name: slow, latency: {ttft: 2s}}]\n", vendors=[TOY])
    asked = asyncio.create_task(running.ask("toy", "/chat", {"prompt": "Hello", "max": 3}, headers={"x-key": "k"}))
    while not (found := (await control(running, "GET", "/open")).json())["total"]:
        await asyncio.sleep(0)
    (row,) = found["calls"]
    assert (row["prompt_line"], row["vendor"], row["elapsed"], row["completion_tokens"]) == ("Hello", "toy", 0.0, 3)
    await control(running, "POST", "/clock", {"advance": "1s"})
    assert (await control(running, "GET", "/open")).json()["calls"][0]["elapsed"] == 1.0
    assert (await control(running, "GET", "/open?session=other")).json()["total"] == 0
    assert [rule["hits"] for rule in (await control(running, "GET", "/rules")).json()["rules"]] == [1]
    await control(running, "POST", "/clock", {"advance": "9s"})
    assert (await asked).status == 200
    assert (await control(running, "GET", "/open")).json() == {"calls": [], "total": 0}


@pytest.mark.covers("language/control plane", "GET /history")
async def test_history_has_the_load_of_the_last_minutes(toy: Running) -> None:
    history = LoadHistory(toy.built.runtime.measure_load, now=iter([0.0, 10.0, 305.0]).__next__)
    toy.built.runtime.history = history
    history.sample()
    await ask(toy, "Hello")
    history.sample()
    rows = (await control(toy, "GET", "/history")).json()["samples"]
    assert [(row["time"], row["requests"], row["open"]) for row in rows] == [(0.0, 0, 0), (10.0, 1, 0)]
    history.sample()
    assert [row["time"] for row in (await control(toy, "GET", "/history")).json()["samples"]] == [10.0, 305.0]


async def test_browser_at_the_root_is_sent_to_the_console(toy: Running) -> None:
    answer = await toy.ask("front", "/", headers={"Accept": "text/html,application/xhtml+xml"})
    assert (answer.status, answer.header("Location")) == (302, "/_emulator/")
    assert (await toy.ask("front", "/", headers={"Accept": "*/*"})).status == 404


@pytest.mark.covers("language/control plane", "GET /examples")
async def test_examples_have_a_path_and_a_model_for_each_vendor(start: Start) -> None:
    running = await start("keys: [{token: dapi-search, principal: search}]\n", vendors=[*VENDORS.values()])
    found = (await running.ask("front", "/_emulator/examples")).json()["examples"]
    assert [row["vendor"] for row in found] == list(VENDORS)
    assert all(row["path"].startswith("/") and row["model"] for row in found)
    assert all("search" not in row["key"] for row in found)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        pytest.param({"messages": [{"role": "user", "content": "One\nTwo"}]}, "One", id="the first line"),
        pytest.param(
            {
                "messages": [
                    {"role": "user", "content": "One"},
                    {"role": "assistant", "content": "x"},
                    {"role": "user", "content": "Two"},
                ]
            },
            "Two",
            id="the last of a user",
        ),
        pytest.param({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}, "Hi", id="parts"),
        pytest.param({"input": ["cat", "dog"]}, "cat", id="inputs"),
        pytest.param({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, "Hi", id="contents"),
        pytest.param({"inputs": " \n Hi "}, "Hi", id="blank lines"),
        pytest.param({"model": "x"}, "", id="none"),
    ],
)
async def test_entry_has_the_first_line_of_its_prompt(toy: Running, body: dict[str, JSON], line: str) -> None:
    await toy.ask("toy", "/chat", body, headers={"x-key": "k"})
    (entry,) = (await control(toy, "GET", "/requests")).json()["requests"]
    assert entry["prompt_line"].startswith(line)
    assert bool(entry["prompt_line"]) == bool(line)


async def test_listed_key_in_a_prompt_is_redacted(start: Start) -> None:
    running = await start("keys: [{token: dapi-search, principal: search}]\n", vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "is dapi-search mine?"}, headers={"x-key": "dapi-search"})
    (entry,) = (await control(running, "GET", "/requests")).json()["requests"]
    assert entry["prompt_line"] == "is … mine?"


async def test_strict_refusal_mentions_missing_rules(start: Start) -> None:
    running = await start("strict: true\n", vendors=[TOY])
    assert "There are no rules." in (await ask(running)).body.decode()
    (unmatched,) = (await control(running, "GET", "/requests?status=501")).json()["requests"]
    assert unmatched["summary"] == "No rule matched. There are no rules."


# Metrics and OpenAPI


@pytest.mark.covers("language/control plane", "GET /metrics")
async def test_metrics_count_requests_and_tokens(toy: Running) -> None:
    for _ in range(2):
        await ask(toy)
    answer = await control(toy, "GET", "/metrics")
    assert answer.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.body.decode().splitlines()
    assert 'emulator_requests_total{code="200",model="toy",vendor="toy"} 1.0' in lines
    assert 'emulator_completion_tokens_total{model="toy",vendor="toy"} 3.0' in lines


@pytest.mark.covers("language/control plane", "GET /ca.pem")
async def test_ca_pem_returns_authority_or_404(toy: Running) -> None:
    refused = await control(toy, "GET", "/ca.pem")
    assert (refused.status, refused.header("Content-Type")) == (404, "application/problem+json")
    assert "no authority of its own" in refused.json()["detail"]
    toy.built.control.authority = b"-----BEGIN CERTIFICATE-----\n"
    given = await control(toy, "GET", "/ca.pem")
    assert (given.status, given.header("Content-Type")) == (200, "application/pem-certificate-chain")
    assert given.body == b"-----BEGIN CERTIFICATE-----\n"


@pytest.mark.covers("language/control plane", "GET /scenarios", "GET /openapi.json")
async def test_control_responses_match_openapi_document(toy: Running) -> None:
    document = (await control(toy, "GET", "/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    name = (await ask(toy, "Hello")).header("x-emulator-request-id")
    for path, operations in document["paths"].items():
        if "get" not in operations or path.endswith(("metrics", "openapi.json", "events", "ca.pem", "/_emulator/")):
            continue
        answer = await toy.ask("toy", path.replace("{id}", name or ""))
        content = operations["get"]["responses"][str(answer.status)]["content"]["application/json"]
        schema = {**content["schema"], "components": document["components"]}
        jsonschema_rs.validate(schema, answer.json())


async def test_large_scenario_upload_honors_expect_continue(toy: Running) -> None:
    text = b"version: 1\nname: large\n#" + b"x" * 2_000_000
    reader, writer = await toy.connect("toy")
    lines = f"Host: localhost\r\nContent-Length: {len(text)}\r\nExpect: 100-continue\r\n\r\n"
    head = f"PUT /_emulator/scenario HTTP/1.1\r\n{lines}"
    writer.write(head.encode())
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(text)
    assert (await read_answer(reader)).json()["name"] == "large"
    writer.close()
    await writer.wait_closed()


async def test_scenario_with_non_utf8_file_name_can_be_selected(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    for name in (b"default.yaml", b"caf\xe9.yaml"):
        (folder / os.fsdecode(name)).write_text("version: 1\nname: one\n")
    toy = await start("", vendors=[TOY])
    _, toy.built.runtime.library = load_paths([folder], None)
    names = [row["name"] for row in (await control(toy, "GET", "/scenarios")).json()["scenarios"]]
    assert names == ["caf\\udce9", "default"]
    put = await control(toy, "PUT", f"/scenario?name={quote(names[0])}")
    assert put.status == 200
    assert put.json()["sources"] == ["caf\\udce9.yaml"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("default.yaml", "default.yaml"),
        ("library/default.yaml", "library/default.yaml"),
        ("/home/somebody/library/default.yaml", "default.yaml"),
        (str(Path.cwd() / "library" / "default.yaml"), "library/default.yaml"),
        ("scenario", "scenario"),
    ],
)
def test_show_file_strips_machine_folders(name: str, shown: str) -> None:
    assert show_file(name) == shown


class _Refuses(ControlAuth):
    """Authorisation that refuses with a header."""

    def check_browser(self, headers: Headers, target: str = "/", local: str | None = None) -> None:
        raise ProblemError(403, "Forbidden", "no", {"x-a": self.hostname})


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\0"])
async def test_header_with_line_break_returns_500_as_emulator_bug(toy: Running, value: str) -> None:
    toy.built.control.auth = _Refuses(hostname=value)
    answer = await toy.ask("front", "/_emulator/requests")
    assert (answer.status, answer.header("x-emulator-bug")) == (500, "1")
    assert (answer.header("Content-Type") or "").startswith("text/plain")
    assert b"Evil" not in answer.head
