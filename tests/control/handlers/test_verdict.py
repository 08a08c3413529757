"""Tests of ``GET /_emulator/verdict``: calls to a server, judged."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from emulator.control.verdict import has_left_at_once
from emulator.core.clock import Clock, FrozenClock, InstantClock, RealClock
from emulator.journal.entry import JournalEntry
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.control.asking import KEY, ask, control
from tests.handler.toy import TOY
from tests.http_client import Answer, Running
from tests.tools.soak.load import CHATS
from tests.untyped_json import JSON

SESSION = {**KEY, "x-emulator-session": "a"}
REAL = "version: 1\nname: test\n"
RULES = """
rules:
  - name: busy
    when: {prompt: busy}
    times: {first: 2, per: request}
    error: {kind: rate_limited, headers: {Retry-After: "5"}}
  - {name: filter, when: {prompt: bad}, error: {kind: content_filter}}
  - {name: cut, when: {prompt: cut}, faults: [{type: disconnect, after_tokens: 2}]}
"""


async def judge(running: Running, session: str = "") -> JSON:
    return (await control(running, "GET", f"/verdict?session={session}")).json()


def kept(verdict: JSON) -> dict[str, bool | None]:
    return {row["rule"]: row["kept"] for row in verdict["rules"]}


@pytest.mark.covers("language/control plane", "GET /verdict")
async def test_verdict_names_rule_calls_and_figures(start: Start) -> None:
    running = await start(REAL + RULES, vendors=[TOY])
    first, second = [(await ask(running, "busy", "a")).header("x-emulator-request-id") for _ in range(2)]
    await ask(running, "fine")
    verdict = await judge(running, "a")
    assert not verdict["ok"]
    (broken,) = [row for row in verdict["broken"] if row["rule"] == "honours_retry_after"]
    assert broken["calls"] == [first, second]
    assert broken["figures"]["asked"] == 5.0
    assert broken["sentence"].endswith("that asked for 5 s; a sound client waits as long as it is told.")
    assert {"rule": "backs_off", "kept": None, "why": "no call was tried again twice"} in verdict["rules"]
    assert (await judge(running))["ok"]


async def test_retry_of_what_cannot_succeed_is_found(start: Start) -> None:
    running = await start(REAL + RULES, vendors=[TOY])
    await ask(running, "bad")
    assert (await judge(running))["ok"]
    await ask(running, "bad")
    verdict = await judge(running)
    assert [row["rule"] for row in verdict["broken"]] == ["no_useless_retry"]


async def test_waits_are_null_under_an_instant_clock(start: Start) -> None:
    running = await start(REAL + "clock: instant\n" + RULES, vendors=[TOY])
    for _ in range(3):
        await ask(running, "busy")
    verdict = await judge(running)
    assert verdict["ok"]
    assert {kept(verdict)[name] for name in ("honours_retry_after", "backs_off", "jitter", "deadline")} == {None}


@pytest.mark.covers("language/sections", "expect")
@pytest.mark.covers("language/sections", "budget")
async def test_scenario_says_what_is_expected(start: Start) -> None:
    running = await start(
        REAL + "expect: {robust: false, attempts: 1}\nbudget: {output_tokens: 2}\n" + RULES, vendors=[TOY]
    )
    for _ in range(2):
        await ask(running, "busy")
    for _ in range(2):
        await ask(running, "fine")
    verdict = await judge(running)
    assert {row["rule"] for row in verdict["broken"]} == {"attempts", "stops_at_budget"}
    judged = [name for name, value in kept(verdict).items() if value is not None]
    assert judged == ["attempts", "stops_at_budget"]


@pytest.mark.parametrize(
    "expect", ["attempts: false, hedges: false", "deadline: false, closes_within: false", "no_useless_retry: false"]
)
async def test_rule_is_off_if_it_is_false(start: Start, expect: str) -> None:
    running = await start(f"{REAL}expect: {{{expect}}}\n{RULES}", vendors=[TOY])
    verdict = await judge(running)
    off = {row["rule"] for row in verdict["rules"] if row.get("why") == "`expect` leaves it out"}
    assert off == {name.partition(":")[0] for name in expect.split(", ")}


@pytest.mark.parametrize(("second", "wanted"), [("renewed", True), ("expired", False)])
async def test_credential_that_was_refused_may_be_renewed(start: Start, second: str, wanted: bool) -> None:
    running = await start(REAL + "rules: [{name: r, times: {first: 1}, error: {kind: unauthenticated}}]")
    for key in ("expired", second):
        target = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
        body = {"messages": [{"role": "user", "content": "Hi"}]}
        await running.ask("databricks", target, body, headers={"Authorization": f"Bearer {key}-12345678"})
    verdict = (await running.ask("front", "/_emulator/verdict")).json()
    assert kept(verdict)["no_useless_retry"] is wanted


async def test_stream_that_is_closed_at_once_has_not_failed(start: Start) -> None:
    slow = "clock: {scale: 0.001}\nrules: [{name: slow, latency: {itl: 500ms}}]"  # a second lasts a quarter of an hour
    running = await start(REAL + slow, vendors=[TOY])
    body = b'{"prompt": "Is it good?", "max": 99, "stream": true}'
    head = "POST /chat HTTP/1.1\r\nHost: a\r\nx-key: k\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    for number in range(1, 4):
        reader, writer = await running.connect("toy")
        writer.write((head % len(body)).encode() + body)
        await reader.readuntil(b"\r\n\r\n")
        await reader.read(1)
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()
        while len((await control(running, "GET", "/requests")).json()["requests"]) < number:
            await asyncio.sleep(0)
    verdict = await judge(running)
    assert verdict["ok"]
    assert kept(verdict)["no_retry_after_delivery"]


@pytest.mark.parametrize("clock", [RealClock(), RealClock(10), RealClock(0.5), InstantClock(), FrozenClock()])
@pytest.mark.parametrize(("took", "wanted"), [(0.5, True), (1.5, False)])
def test_client_leaves_at_once_or_late_in_its_own_time(clock: Clock, took: float, wanted: bool) -> None:
    entry = JournalEntry(id="a", time=0, vendor="toy", method="POST", path="/chat", status=200, stream=True)
    entry.client_left, entry.sent_tokens, entry.ttft, entry.real_start = True, 3, 4.0, 7.0
    entry.real_end = entry.real_start + took + (4.0 / clock.scale if isinstance(clock, RealClock) else 0.0)
    assert has_left_at_once(entry, clock) is wanted


async def test_open_call_has_a_deadline_and_counts_as_running(start: Start) -> None:
    text = REAL + "expect: {deadline: 1ms, concurrency: 1}\nrules: [{name: hang, faults: [{type: hang, for: 1h}]}]"
    running = await start(text, vendors=[TOY])
    waiting = [asyncio.create_task(ask(running, f"Hi {number}")) for number in range(2)]
    while (await control(running, "GET", "/open")).json()["total"] < 2:
        await asyncio.sleep(0)
    verdict = await judge(running)
    while len(verdict["broken"]) < 2:  # a little after the deadline: that a client left is noticed late
        verdict = await judge(running)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert {row["rule"] for row in verdict["broken"]} == {"deadline", "concurrency"}


async def test_times_are_those_of_the_client_when_the_clock_is_moved(start: Start) -> None:
    running = await start(REAL + RULES, vendors=[TOY])
    await ask(running, "busy")
    await control(running, "POST", "/clock", {"advance": "60s"})
    await ask(running, "busy")
    assert not (await judge(running))["ok"]


@pytest.mark.parametrize(
    ("stream", "wanted"), [pytest.param(True, False, id="of a stream"), pytest.param(False, False, id="of a body")]
)
async def test_retry_after_delivery_is_found(start: Start, stream: bool, wanted: bool) -> None:
    running = await start(REAL + RULES, vendors=[TOY])
    for _ in range(2):
        try:
            body = {"prompt": "cut", "max": 5, "stream": stream}
            await running.ask("toy", "/chat", body, headers=KEY)
        except Exception:  # the connection is reset
            pass
    assert kept(await judge(running))["no_retry_after_delivery"] is wanted


@pytest.mark.covers("language/control plane", "GET /usage")
@pytest.mark.covers("language/sections", "prices")
async def test_usage_tells_what_was_sent_and_wasted(start: Start) -> None:
    running = await start(REAL + "prices: {toy: {input: 1000000, output: 10}}\n" + RULES, vendors=[TOY])
    await ask(running, "fine", "a")
    with pytest.raises(Exception):  # noqa: B017, PT011  # the connection is reset
        await running.ask("toy", "/chat", {"prompt": "cut", "max": 5, "stream": True}, headers=SESSION)
    usage = (await control(running, "GET", "/usage?session=a")).json()
    tokens = usage["output_tokens"]
    assert tokens == {
        "sent": 5,
        "delivered": 3,
        "wasted": 2,
        "waste": {"refused": 0, "cut": 2, "abandoned": 0, "superseded": 0},
    }
    assert usage["cost"]["usd"] == pytest.approx(usage["prompt_tokens"] + 5 * 10 / 1e6)
    assert usage["amplification"] == 1.0


@pytest.mark.parametrize(
    ("price", "usd"),
    [  # one hour and a half from the first call to the last; 3 calls of 3 tokens
        pytest.param("{per_hour: 50, unit: PTU}", 150.0, id="50 PTU of 2 USD"),
        pytest.param("{per_hour: 100, unit: DBU}", 10.5, id="100 DBU of 0.07 USD"),
        pytest.param("{per_hour: 4}", 6.0, id="USD"),
        pytest.param("{output: 1000000, unit: DBU}", 0.63, id="9 tokens of 1 DBU"),
    ],
)
async def test_units_and_hours_are_paid(start: Start, price: str, usd: float) -> None:
    running = await start(f"version: 1\nclock: frozen\nprices: {{toy: {price}}}\n", vendors=[TOY])
    for number in range(3):
        await ask(running, f"{number}")
        await control(running, "POST", "/clock", {"advance": "45m"})
    usage = (await control(running, "GET", "/usage")).json()
    assert usage["cost"]["usd"] == pytest.approx(usd)


@pytest.mark.parametrize(
    ("budget", "prompts", "refused", "hint"),
    [
        pytest.param("output_tokens: 6", "abcd", "..xx", "6 output tokens", id="3 tokens each"),
        pytest.param("output_tokens: 7", "abcde", "...xx", "7 output tokens", id="the call that overruns may end"),
        pytest.param("cost: 0.000005 USD", "abcd", "..xx", "0.000005 USD", id="money"),
        pytest.param("attempts: 2", ["down"] * 4, "..xx", "2 attempts", id="attempts"),
        pytest.param("attempts: 1", ["a", "a", "a"], "...", "", id="the same question after a whole answer"),
        pytest.param("attempts: 2", ["down", "a", "down", "down"], "...x", "2 attempts", id="of one request"),
        pytest.param("attempts: 3", ["flaky"] * 6, "......", "", id="a whole answer ends the attempts"),
    ],
)
async def test_enforced_budget_refuses(
    start: Start, budget: str, prompts: Sequence[str], refused: str, hint: str
) -> None:
    rules = """
rules:
  - {name: down, when: {prompt: down}, error: {kind: internal}}
  - {name: flaky, when: {prompt: flaky}, times: {every: 2}, error: {kind: overloaded}}
"""
    prices = "prices: {toy: {output: 1}}"
    running = await start(f"{REAL}budget: {{{budget}, enforce: true}}\n{prices}\n{rules}", vendors=[TOY])
    for prompt in prompts:
        await ask(running, prompt, "a")
    calls = (await control(running, "GET", "/requests?session=a&detail=true")).json()["requests"]
    assert "".join("x" if call["error"] == "rate_limited" else "." for call in calls) == refused
    spent = [call for call in calls if call["error"] == "rate_limited"]
    assert {call["summary"] for call in spent} == ({f"the budget of {hint} is spent"} if hint else set())
    assert not any("x-retry" in call["response"]["headers"] for call in spent)  # no wait helps
    assert (await ask(running, "new", "b")).status == 200  # another session has a budget of its own
    assert (await control(running, "GET", "/limits?session=a")).json()["limits"] == []


async def test_enforced_budget_is_renewed_by_reset(start: Start) -> None:
    running = await start(REAL + "budget: {output_tokens: 3, enforce: true}\n", vendors=[TOY])
    statuses = [(await ask(running)).status for _ in range(2)]
    await control(running, "POST", "/reset")
    assert [*statuses, (await ask(running)).status] == [200, 400, 200]  # the toy vendor words every refusal as 400


async def test_error_that_comes_as_an_event_of_a_stream_is_a_failure(start: Start) -> None:
    rule = "rules: [{name: filter, error: {kind: content_filter}}]"
    running = await start(f"version: 1\nname: a\n{rule}\n", vendors=[VENDORS["tgi"]])
    body = {"messages": [{"role": "user", "content": "a"}], "stream": True}
    answers = [await running.ask("tgi", "/v1/chat/completions", body) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    verdict = (await running.ask("front", "/_emulator/verdict")).json()
    assert [row["rule"] for row in verdict["broken"]] == ["no_useless_retry"]
    assert verdict["broken"][0]["figures"] == {"status": 200}


def list_keys(answer: Answer) -> list[str]:
    """Return the keys of a body, or the body itself if it is text."""
    return list(answer.json()) if answer.body.startswith(b"{") else [answer.body.decode()]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_spent_budget_is_worded_as_the_vendor_words_a_limit(start: Start, vendor: str) -> None:
    rule = "rules: [{name: asked, when: {prompt: asked}, error: {kind: rate_limited, limit: output_tokens}}]"
    served = [VENDORS[vendor]]
    limited, spent = [
        await start(f"version: 1\nname: a\nclock: frozen\n{text}", vendors=served)
        for text in (rule, "budget: {output_tokens: 1, enforce: true}")
    ]
    target, model = CHATS[vendor]
    body = {"model": model, "messages": [{"role": "user", "content": "asked"}], "max_tokens": 3}
    headers = {"authorization": "Bearer a", "api-key": "a"}
    expected = await limited.ask(vendor, target, body, headers=headers)
    first, second = [await spent.ask(vendor, target, body, headers=headers) for _ in range(2)]
    assert first.status == 200
    assert (second.status, list_keys(second)) == (expected.status, list_keys(expected))
    assert expected.status >= 400
