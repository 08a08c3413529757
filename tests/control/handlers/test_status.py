"""Tests of the status handlers."""

import asyncio

import pytest

from emulator.control.models import Parsed, Place
from emulator.core.redaction.credentials import placeholder
from tests.conftest import Start
from tests.control.asking import ask, control
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.untyped_json import JSON

FROZEN = "version: 1\nname: t\nclock: frozen\n"
BUSY = (
    FROZEN
    + """
keys: [{token: key-search-secret, principal: search}]
limits:
  - {unit: requests, amount: 10, window: 60s}
  - {unit: requests, per: principal, amount: 4, window: 60s, strategy: fixed}
rules:
  - {name: greets, when: {prompt: Hello}, reply: {text: Good day}}
  - {name: never, when: {prompt: Hello, stream: true}, times: {probability: 0.0}, pass: true}
  - {name: rarely, times: {probability: 0.000001}, error: {kind: internal}}
"""
)
KEY = {"x-key": "key-search-secret"}


async def get(running: Running, target: str) -> JSON:
    answer = await control(running, "GET", target)
    assert answer.status == 200
    return answer.json()


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(BUSY, vendors=[TOY])


async def say(toy: Running, prompt: str, session: str = "") -> None:
    headers = {**KEY, **({"x-emulator-session": session} if session else {})}
    answer = await toy.ask("toy", "/chat", {"prompt": prompt, "max": 3}, headers=headers)
    assert answer.status == 200


async def test_unused_limit_is_shown_full(toy: Running) -> None:
    assert (await get(toy, "/limits"))["limits"] == [
        {
            "limit": "limits[0]",
            "unit": "requests",
            "amount": 10,
            "window": 60.0,
            "strategy": "bucket",
            "per": None,
            "scope": "",
            "principal": "",
            "left": 10,
            "full_in": 0.0,
        }
    ]


@pytest.mark.covers("language/control plane", "GET /limits")
async def test_limits_show_remaining_and_refill_time(toy: Running) -> None:
    await say(toy, "Hello")
    await say(toy, "Hello", session="a")
    await control(toy, "POST", "/clock", {"advance": "2s"})
    shown = (await get(toy, "/limits"))["limits"]
    assert [(row["scope"], row["left"], row["full_in"]) for row in shown] == [("", 9, 4.0), ("search", 3, 58.0)]


@pytest.mark.covers("language/control plane", "GET /rules")
async def test_rules_show_hits_and_draws(toy: Running) -> None:
    for prompt in ("Hello", "Hello", "Goodbye"):
        await say(toy, prompt)
    shown = (await get(toy, "/rules"))["rules"]
    assert [(row["name"], row["hits"]) for row in shown] == [("greets", 2), ("never", 0), ("rarely", 0)]
    assert shown[0]["last"] == (await get(toy, "/requests"))["requests"][1]["id"]
    assert shown[0]["draw"] is None
    assert 0.000001 < shown[2]["draw"] < 1.0
    assert [row["nearest"] for row in shown] == [1, 0, 0]


@pytest.mark.covers("language/control plane", "GET /status")
async def test_status_counts_calls_sessions_and_journal(toy: Running) -> None:
    await say(toy, "Hello", session="a")
    await toy.ask("toy", "/chat", {"prompt": 1}, headers=KEY)
    status = await get(toy, "/status")
    assert status["vendors"] == [{"vendor": "toy", "open": 0, "requests": 2, "failed": 1}]
    assert (status["sessions"], status["servers"], status["valid"]) == (1, [], True)
    journal = status["journal"]
    assert (journal["entries"], journal["forgotten"], journal["emptied"]) == (2, 0, 0)
    assert journal["bytes"] > 0


@pytest.mark.covers("language/control plane", "POST /check")
@pytest.mark.parametrize(
    ("text", "ok", "errors", "warnings"),
    [
        pytest.param("version: 1\nseed: 7\n", True, [], [], id="one that works"),
        pytest.param("version: 1\nrule: []\n", False, [(2, "rules")], [], id="a key that is misspelled"),
        pytest.param(
            "version: 1\nrules:\n  - {name: a, pass: true}\n  - {name: b, pass: true}\n",
            True,
            [],
            [(4, None)],
            id="a rule that is never reached",
        ),
        pytest.param("version: [\n", False, [(2, None)], [], id="no YAML at all"),
    ],
)
async def test_check_reports_rows_without_loading_scenario(
    toy: Running, text: str, ok: bool, errors: JSON, warnings: JSON
) -> None:
    answer = await control(toy, "POST", "/check", text)
    found = answer.json()
    assert (answer.status, found["ok"]) == (200, ok)
    assert [(row["line"], row["suggestion"]) for row in found["errors"]] == errors
    assert [(row["line"], row["suggestion"]) for row in found["warnings"]] == warnings
    assert (await get(toy, "/scenario"))["name"] == "t"


@pytest.mark.covers("language/control plane", "POST /parse")
@pytest.mark.parametrize(
    ("text", "document", "values", "keys", "errors"),
    [
        pytest.param(
            "seed: 4\nrules:\n  - name: a\n",
            {"seed": 4, "rules": [{"name": "a"}]},
            {"": (1, 1), "seed": (1, 7), "rules": (3, 3), "rules.0": (3, 5), "rules.0.name": (3, 11)},
            {"seed": (1, 1), "rules": (2, 1), "rules.0.name": (3, 5)},
            [],
            id="values and keys",
        ),
        pytest.param("seed: .nan\n", {"seed": None}, {"": (1, 1), "seed": (1, 7)}, {"seed": (1, 1)}, [1], id="NaN"),
        pytest.param("seed: [\n", None, {}, {}, [2], id="no YAML"),
        pytest.param("", None, {"": (1, 1)}, {}, [], id="nothing"),
    ],
)
async def test_parse_returns_positions_of_keys_and_values(
    toy: Running, text: str, document: JSON, values: JSON, keys: JSON, errors: list[int]
) -> None:
    answer = await control(toy, "POST", "/parse", text)
    parsed = Parsed.model_validate_json(answer.body)

    def show(places: list[Place]) -> JSON:
        return {".".join(map(str, place.path)): (place.line, place.column) for place in places}

    assert (answer.status, parsed.document) == (200, document)
    assert (show(parsed.values), show(parsed.keys)) == (values, keys)
    assert [row.line for row in parsed.errors] == errors
    assert (await get(toy, "/scenario"))["name"] == "t"


async def test_scenario_text_is_unchanged_except_tokens(toy: Running) -> None:
    shown = (await get(toy, "/scenario"))["text"]
    assert shown == BUSY.replace("key-search-secret", placeholder("key-search-secret"))


async def test_clock_kind_can_be_changed(toy: Running) -> None:
    await say(toy, "Hello")
    before = await get(toy, "/clock")
    after = (await control(toy, "POST", "/clock", {"clock": {"scale": 60}, "advance": "30s"})).json()
    assert (after["kind"], after["scale"]) == ("scale", 60.0)
    assert after["now"] >= before["now"] + 30
    shown = (await get(toy, "/limits"))["limits"]
    assert [row["scope"] for row in shown] == ["", "search"]  # what was taken stays taken
    frozen = (await control(toy, "POST", "/clock", {"clock": "frozen"})).json()
    assert frozen["kind"] == "frozen"
    assert (await get(toy, "/clock"))["now"] == frozen["now"]


async def test_session_clock_changes_only_that_session(toy: Running) -> None:
    await control(toy, "POST", "/clock?session=a", {"clock": "instant"})
    assert (await get(toy, "/clock?session=a"))["kind"] == "instant"
    assert (await get(toy, "/clock"))["kind"] == "frozen"


async def test_status_shows_running_and_queued_calls(start: Start) -> None:
    toy = await start(FROZEN + "latency: {ttft: 1s, load: {capacity: 1, factor: 1, queue: 4}}\n", vendors=[TOY])
    calls = [asyncio.ensure_future(ask(toy, f"Hi {n}")) for n in range(3)]
    while not (servers := (await get(toy, "/status"))["servers"]) or servers[0]["queued"] < 2:
        await asyncio.sleep(0)
    assert servers == [{"session": "", "vendor": "toy", "deployment": "toy", "running": 1, "queued": 2}]
    for _ in calls:
        await control(toy, "POST", "/clock", {"advance": "1s"})
        await asyncio.sleep(0)
    await control(toy, "POST", "/clock", {"clock": "instant"})
    assert [answer.status for answer in await asyncio.gather(*calls)] == [200, 200, 200]
