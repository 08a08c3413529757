"""Tests of verification: results, waiting and failure messages."""

import asyncio
import time
from dataclasses import replace

import pytest

from emulator.core.json import Object
from emulator.journal.entry import LimitCheck
from tests.conftest import Start
from tests.control.asking import KEY, ask, control, until_waiting
from tests.handler.toy import TOY
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

RULES = """
rules:
  - {name: greets, when: {prompt: {contains: Hello}}, reply: {text: Good day}}
  - {name: refuses, when: {prompt: {contains: refuse}}, error: {kind: rate_limited}}
  - {name: bends, when: {prompt: {contains: bend}}, faults: [{type: wrong_content_type}]}
"""
RIVERS = "What should I know about rivers?"


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(RULES, vendors=[TOY])


async def verify(running: Running, **body: JSON) -> Answer:
    return await control(running, "POST", "/verify", body)


async def mismatch(running: Running, **body: JSON) -> list[str]:
    """Return the lines of the failure message."""
    answer = await verify(running, **body)
    assert (answer.status, answer.header("Content-Type")) == (406, "application/problem+json")
    problem = answer.json()
    assert (problem["title"], problem["status"]) == ("Not as expected", 406)
    lines: list[str] = problem["detail"].split("\n")
    assert len(lines) <= 40
    return lines


# What holds


@pytest.mark.parametrize(
    ("traceparent", "traced"),
    [
        pytest.param("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True, id="a trace"),
        pytest.param("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what", True, id="of a later version"),
        pytest.param(None, False, id="none"),
        pytest.param("00-00000000000000000000000000000000-b7ad6b7169203331-01", False, id="no trace's id"),
        pytest.param("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", False, id="no span's id"),
        pytest.param("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False, id="no version"),
        pytest.param("nonsense", False, id="nonsense"),
    ],
)
async def test_verify_matches_calls_by_valid_traceparent(toy: Running, traceparent: str | None, traced: bool) -> None:
    headers = {} if traceparent is None else {"traceparent": traceparent}
    await toy.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers={**KEY, **headers})
    assert (await verify(toy, calls={"traced": traced})).status == 200
    (line,) = [line for line in await mismatch(toy, calls={"traced": not traced}) if "traced ✗" in line]
    assert f"traced ✗ {str(not traced).lower()}" in line


@pytest.mark.covers("language/control plane", "POST /verify")
@pytest.mark.covers("promises/verification", "facets of the request", case="what was sent")
@pytest.mark.covers("promises/verification", "groups of facets", case="any of two groups")
@pytest.mark.covers("promises/verification", "status", case="a bound")
@pytest.mark.covers("promises/verification", "error", case="an error")
@pytest.mark.covers("promises/verification", "rule", case="a glob")
@pytest.mark.covers("promises/verification", "fault", case="a fault")
@pytest.mark.covers("promises/verification", "attempt", case="a retry")
@pytest.mark.covers("promises/verification", "whole, client_left", case="how it ended")
@pytest.mark.covers("promises/verification", "finish_reason", case="why it ended")
@pytest.mark.covers("promises/verification", "completion_tokens", case="tokens")
@pytest.mark.covers("promises/verification", "retries", case="a call that was made again")
@pytest.mark.parametrize(
    ("calls", "count"),
    [
        pytest.param({}, 4, id="every call"),
        pytest.param({"vendor": "toy", "prompt": {"contains": "Hello"}, "status": 200}, 2, id="the contract's own"),
        pytest.param({"status": {"above": 399}}, 1, id="a bound"),
        pytest.param({"status": 200, "rule": ["greets", "other"]}, 2, id="a list"),
        pytest.param({"rule": "gre*"}, 2, id="a glob"),
        pytest.param({"error": "rate_limited"}, 1, id="an error"),
        pytest.param({"fault": "wrong_content_type"}, 1, id="a fault"),
        pytest.param({"attempt": 2}, 1, id="a retry"),
        pytest.param({"retries": {"above": 0}}, 1, id="a call that was made again"),
        pytest.param({"whole": True, "client_left": False}, 4, id="how it ended"),
        pytest.param({"finish_reason": "length"}, 1, id="why it ended"),
        pytest.param({"completion_tokens": {"below": 3}, "status": 200}, 2, id="tokens"),
        pytest.param({"header.x-key": "k", "body.max": 3}, 4, id="what was sent"),
        pytest.param({"body.prompt": {"not": "refuse"}}, 3, id="not"),
        pytest.param({"any": [{"prompt": "bend"}, {"prompt": "refuse"}]}, 2, id="any of two groups"),
        pytest.param({"not": {"prompt": "Hello"}}, 2, id="not a group"),
        pytest.param({"prompt": {"contains": "HELLO", "ignore_case": True}}, 2, id="in any case"),
        pytest.param({"messages.last.role": "user"}, 4, id="the role of the last message"),
    ],
)
async def test_verify_matches_facets_of_request_and_outcome(toy: Running, calls: Object, count: int) -> None:
    ids = [(await ask(toy, text)).header("x-emulator-request-id") for text in ("Hello", "refuse", "bend", "Hello")]
    answer = await verify(toy, calls=calls, times={"exactly": count})
    assert answer.status == 200, answer.json()["detail"]
    found = answer.json()
    assert (found["ok"], found["count"]) == (True, count)
    assert [each for each in ids if each in found["ids"]] == found["ids"]


@pytest.mark.covers("promises/verification", "at least one where nothing is said", case="without a word at least one")
@pytest.mark.covers("promises/verification", "exactly", case="fewer than exactly")
@pytest.mark.covers("promises/verification", "at_least", case="fewer than at least")
@pytest.mark.covers("promises/verification", "at_most", case="more than at most")
@pytest.mark.parametrize(
    ("times", "holds"),
    [
        pytest.param(None, True, id="without a word at least one"),
        pytest.param({}, True, id="an empty one has no effect"),
        pytest.param({"exactly": 2}, True, id="exactly"),
        pytest.param({"exactly": 1}, False, id="more than exactly"),
        pytest.param({"exactly": 3}, False, id="fewer than exactly"),
        pytest.param({"exactly": 0}, False, id="never"),
        pytest.param({"at_least": 2}, True, id="at least"),
        pytest.param({"at_least": 3}, False, id="fewer than at least"),
        pytest.param({"at_most": 2}, True, id="at most"),
        pytest.param({"at_most": 1}, False, id="more than at most"),
        pytest.param({"at_least": 1, "at_most": 2}, True, id="between"),
    ],
)
async def test_verify_checks_number_of_calls(toy: Running, times: Object | None, holds: bool) -> None:
    for prompt in ("Hello", "Hello again", "other"):
        await ask(toy, prompt)
    body: Object = {"calls": {"rule": "greets"}} if times is None else {"calls": {"rule": "greets"}, "times": times}
    assert (await verify(toy, **body)).status == (200 if holds else 406)


@pytest.mark.covers("promises/verification", "an order, others between", case="others between")
@pytest.mark.parametrize(
    ("prompts", "reached"),
    [
        pytest.param(["one", "two"], None, id="in order"),
        pytest.param(["one", "three"], None, id="others between"),
        pytest.param(["one", "two", "three"], None, id="all"),
        pytest.param(["two", "one"], 2, id="the wrong way round"),
        pytest.param(["one", "one"], 2, id="twice what came once"),
        pytest.param(["four", "one"], 1, id="what never came"),
    ],
)
async def test_verify_checks_order_of_calls(toy: Running, prompts: list[str], reached: int | None) -> None:
    for prompt in ("one", "two", "three"):
        await ask(toy, prompt)
    order: JSON = [{"prompt": prompt} for prompt in prompts]
    if reached is None:
        answer = await verify(toy, order=order)
        assert (answer.status, answer.json()["count"]) == (200, len(prompts))
    else:
        lines = await mismatch(toy, order=order)
        assert lines[0] == f"expected {len(prompts)} calls in this order; number {reached} is missing:"


async def test_order_is_by_start_of_calls(start: Start) -> None:
    rules = "rules: [{name: slow, when: {prompt: slow}, latency: {ttft: 10s}}]\n"
    running = await start(rules, vendors=[TOY])
    slow = asyncio.create_task(ask(running, "slow"))
    while running.built.runtime.metrics["toy"].in_flight() < 1:
        await asyncio.sleep(0)
    await ask(running, "quick")
    running.built.clock.advance(10.0)
    await slow
    assert (await verify(running, order=[{"prompt": "slow"}, {"prompt": "quick"}])).status == 200
    assert (await verify(running, order=[{"prompt": "quick"}, {"prompt": "slow"}])).status == 406


@pytest.mark.covers("promises/sessions", "held against alone")
@pytest.mark.parametrize("way", ["body", "query", "both"])
async def test_verify_is_limited_to_named_session(toy: Running, way: str) -> None:
    await ask(toy, "Hello", "a")
    await ask(toy, "Hello", "b")
    target = "/verify" if way == "body" else "/verify?session=a"
    body: Object = {"times": {"exactly": 1}} | ({} if way == "query" else {"session": "a"})
    assert (await control(toy, "POST", target, body)).json()["count"] == 1
    assert (await control(toy, "POST", "/verify", {"times": {"exactly": 2}})).status == 200
    assert (await control(toy, "POST", "/verify?session=b", {"session": "a"})).status == 400


async def test_verify_reads_calls_of_replaced_scenario(toy: Running) -> None:
    await ask(toy, "Hello")
    await control(toy, "PUT", "/scenario", "version: 1\n")
    assert (await verify(toy, calls={"prompt": "Hello", "rule": "greets"})).status == 200


# What is refused


@pytest.mark.covers("promises/verification", "a mistake in the question")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param({"calls": {"promt": "a"}}, "calls.promt: unknown key; did you mean prompt?", id="a facet"),
        pytest.param({"calls": {"finish_reson": "a"}}, "did you mean finish_reason?", id="a facet of the outcome"),
        pytest.param({"calls": {"prompt": {"contain": "a"}}}, "did you mean contains?", id="a comparison"),
        pytest.param(
            {"order": [{"status": 200}, {"stats": 2}]},
            "order[1].stats: unknown key; did you mean status?",
            id="a facet of an order",
        ),
        pytest.param({"times": {"exact": 1}}, "times.exact: unknown key; did you mean exactly?", id="how many"),
        pytest.param({"calls": {"status": "ok"}}, "calls.status", id="a status that is text"),
        pytest.param({"times": {"exactly": 1, "at_most": 2}}, "times: expected exactly, or at_least", id="both"),
        pytest.param({"times": {"at_least": 3, "at_most": 2}}, "at_least to be no more than at_most", id="none fits"),
        pytest.param({"times": {"exactly": -1}}, "times.exactly: expected at least 0, got -1", id="fewer than none"),
        pytest.param({"order": [{}], "calls": {}}, "expected order, or calls and times", id="an order, and calls"),
        pytest.param({"order": []}, "order: expected a list of at least 1", id="an empty order"),
        pytest.param(
            {"within": 2}, "within: expected a duration with a unit, such as 250ms, got 2", id="a time that is a number"
        ),
        pytest.param({"within": "2"}, "250ms", id="a time without a unit"),
        pytest.param({"session": "a b"}, "session", id="a name that no session has"),
    ],
)
async def test_invalid_expectation_returns_422_with_reason(toy: Running, body: Object, says: str) -> None:
    answer = await verify(toy, **body)
    assert answer.status == 422
    assert says in answer.json()["detail"]


# Waiting


@pytest.mark.covers("promises/verification", "within")
async def test_verify_within_waits_for_expected_calls(toy: Running) -> None:
    waiting = asyncio.create_task(verify(toy, calls={"rule": "greets"}, times={"exactly": 2}, within="60s"))
    await until_waiting(toy)
    await ask(toy, "Hello")
    await ask(toy, "other")
    assert not waiting.done()
    await ask(toy, "Hello")
    assert (await waiting).json()["count"] == 2
    assert toy.built.journal.watchers == []


async def test_verify_within_waits_for_order(toy: Running) -> None:
    order: JSON = [{"prompt": "one"}, {"prompt": "two"}]
    waiting = asyncio.create_task(verify(toy, order=order, within="60s"))
    await until_waiting(toy)
    await ask(toy, "one")
    await ask(toy, "two")
    assert (await waiting).json()["count"] == 2


async def test_verify_within_waits_for_amended_call(toy: Running) -> None:
    await ask(toy, "Hello")
    (entry,) = toy.built.journal
    waiting = asyncio.create_task(verify(toy, calls={"client_left": True}, within="60s"))
    await until_waiting(toy)
    entry.client_left = True
    toy.built.journal.amend(entry)
    assert (await waiting).json()["count"] == 1


@pytest.mark.covers("promises/verification", "never, until the time is over")
async def test_expecting_no_call_waits_until_within_elapses(toy: Running) -> None:
    started = time.monotonic()
    assert (await verify(toy, calls={"rule": "greets"}, times={"exactly": 0}, within="50ms")).status == 200
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize("times", [{"exactly": 0}, {"at_most": 0}])
async def test_expecting_no_call_fails_on_first_call(toy: Running, times: Object) -> None:
    waiting = asyncio.create_task(mismatch(toy, calls={"rule": "greets"}, times=times, within="60s"))
    await until_waiting(toy)
    await ask(toy, "Hello")
    assert await waiting == ["expected no call whose rule is 'greets'; there was 1:", "  #1 POST /chat 200"]


async def test_too_many_calls_fail_without_waiting(toy: Running) -> None:
    await ask(toy, "Hello")
    await ask(toy, "Hello")
    lines = await mismatch(toy, calls={"rule": "greets"}, times={"exactly": 1}, within="60s")
    assert lines[0] == "expected exactly 1 call whose rule is 'greets'; there were 2:"


async def test_timeout_message_states_waited_time(toy: Running) -> None:
    assert (await mismatch(toy, within="20ms"))[0] == "expected at least 1 call; there was none within 0.02 s."


async def test_closing_server_ends_waiting_verify(toy: Running) -> None:
    waiting = asyncio.create_task(verify(toy, within="60s"))
    await until_waiting(toy)
    toy.built.runtime.closing.set()
    assert (await asyncio.wait_for(waiting, 5)).status == 406


# The text


@pytest.mark.covers("promises/verification", "the text of what does not hold")
async def test_mismatch_text_lists_nearest_calls_and_facets(toy: Running) -> None:
    await ask(toy, RIVERS, "a")
    await ask(toy, "Hello refuse", "a")
    lines = await mismatch(
        toy,
        session="a",
        calls={"vendor": "toy", "prompt": {"contains": "tides"}, "status": 200},
        times={"exactly": 1},
    )
    assert lines == [
        "expected exactly 1 call of toy whose prompt contains 'tides', status 200; there was none.",
        "2 calls were made in session 'a'; the nearest:",
        "  #1 POST /chat 200   prompt: 'What should I know about rivers?'",
        "      vendor ✓   prompt ✗ contains 'tides'   status ✓",
        "  #2 POST /chat 200   prompt: 'Hello refuse'",
        "      vendor ✓   prompt ✗ contains 'tides'   status ✓",
    ]


async def test_mismatch_text_without_calls(toy: Running) -> None:
    assert await mismatch(toy) == ["expected at least 1 call; there was none.", "no calls were made."]
    await ask(toy, "one", "b")
    await ask(toy, "one")
    assert (await mismatch(toy, session="a"))[1:] == [
        "no calls were made in session 'a'; there are 1 in session 'b', 1 in no session."
    ]


async def test_mismatch_text_for_too_few_calls(toy: Running) -> None:
    await ask(toy, "Hello")
    await ask(toy, "other")
    assert await mismatch(toy, calls={"rule": "greets"}, times={"at_least": 2, "at_most": 3}) == [
        "expected 2 to 3 calls whose rule is 'greets'; there was 1: #1.",
        "2 calls were made; the nearest of the other 1:",
        "  #2 POST /chat 200   rule: none",
        "      rule ✗ 'greets'",
    ]
    assert (await mismatch(toy, times={"exactly": 3}))[1:] == ["2 calls were made, and no other."]


async def test_mismatch_text_for_order(toy: Running) -> None:
    for prompt in ("one", "two", "three"):
        await ask(toy, prompt)
    assert await mismatch(toy, order=[{"prompt": "two"}, {"vendor": "toy", "prompt": "one"}, {"prompt": "three"}]) == [
        "expected 3 calls in this order; number 2 is missing:",
        "  1. a call whose prompt is 'two': #2 'two'",
        "  2. a call of toy whose prompt is 'one': none after #2",
        "  3. a call whose prompt is 'three': …",
        "such a call came before: #1.",
        "3 calls were made; the nearest of the other 1:",
        "  #3 POST /chat 200   prompt: 'three'",
        "      vendor ✓   prompt ✗ is 'one'",
    ]


RIGHT: Object = {"vendor": "toy", "prompt": {"contains": "rivers"}, "status": 200}
SEEDED = [
    ("vendor", "azure", "✗ 'azure'", "vendor: 'toy'"),
    ("vendor", ["azure", "tgi"], "✗ 'azure' or 'tgi'", "vendor: 'toy'"),
    ("deployment", "llama-*", "✗ 'llama-*'", "deployment: 'toy'"),
    ("task", "embeddings", "✗ 'embeddings'", "task: 'chat'"),
    ("endpoint", "/v1/*", "✗ '/v1/*'", "endpoint: '/chat'"),
    ("principal", "batch", "✗ 'batch'", "principal: 'default'"),
    ("session", "a", "✗ 'a'", "session: none"),
    ("stream", True, "✗ true", "stream: false"),
    ("structured", True, "✗ true", "structured: false"),
    ("multimodal", True, "✗ true", "multimodal: false"),
    ("prompt", {"contains": "tides"}, "✗ contains 'tides'", f"prompt: '{RIVERS}'"),
    ("prompt", {"prefix": "Where"}, "✗ starts with 'Where'", f"prompt: '{RIVERS}'"),
    ("prompt", {"suffix": "!"}, "✗ ends with '!'", f"prompt: '{RIVERS}'"),
    ("prompt", {"regex": "[0-9]+"}, "✗ matches '[0-9]+'", f"prompt: '{RIVERS}'"),
    ("prompt", {"not": {"contains": "know"}}, "✗ is not (contains 'know')", f"prompt: '{RIVERS}'"),
    ("prompt", {"contains": "rivers", "not": RIVERS}, f"✗ contains 'rivers' and is not '{RIVERS}'", "prompt: 'What"),
    ("prompt", "What about rivers?", "✗ is 'What about rivers?'", f"prompt: '{RIVERS}'"),
    ("system", {"contains": "be brief"}, "✗ contains 'be brief'", "system: none"),
    ("tools", "get_weather", "✗ 'get_weather'", "tools: none"),
    ("tool_result", "22", "✗ is '22'", "tool_result: none"),
    ("prompt_tokens", {"above": 4000}, "✗ above 4000", "prompt_tokens: "),
    ("max_tokens", 400, "✗ 400", "max_tokens: 3"),
    ("messages", {"above": 1, "below": 3}, "✗ above 1 and below 3", "messages: 1"),
    ("body_bytes", {"above": 1024}, "✗ above 1024", "body_bytes: 56"),
    ("header.x-trace", "7", "✗ is '7'", "header.x-trace: none"),
    ("header.authorization", {"prefix": "Basic"}, "✗ starts with 'Basic'", "header.authorization: 'Bearer dapi…'"),
    ("query.api-version", "2024", "✗ is '2024'", "query.api-version: none"),
    ("body.max", 4, "✗ 4", "body.max: 3"),
    ("body.model.name", {"prefix": "a"}, "✗ starts with 'a'", "body.model.name: none"),
    ("status", 429, "✗ 429", "#1 POST /chat 200"),
    ("status", {"above": 399}, "✗ above 399", "#1 POST /chat 200"),
    ("error", "rate_limited", "✗ 'rate_limited'", "error: none"),
    ("rule", "greets", "✗ 'greets'", "rule: none"),
    ("fault", ["stall", "hang"], "✗ 'stall' or 'hang'", "fault: none"),
    ("attempt", 2, "✗ 2", "attempt: 1"),
    ("retries", {"above": 0}, "✗ above 0", "retries: 0"),
    ("whole", False, "✗ false", "whole: true"),
    ("client_left", True, "✗ true", "client_left: false"),
    ("finish_reason", "stop", "✗ 'stop'", "finish_reason: 'length'"),
    ("completion_tokens", {"above": 400}, "✗ above 400", "completion_tokens: 3"),
]


@pytest.mark.covers("promises/verification", "the facet that is wrong")
@pytest.mark.parametrize(("facet", "wanted", "mark", "found"), SEEDED)
async def test_mismatch_marks_failing_facet(toy: Running, facet: str, wanted: JSON, mark: str, found: str) -> None:
    headers = {**KEY, "Authorization": "Bearer dapi-search-1"}
    await toy.ask("toy", "/chat", {"prompt": RIVERS, "max": 3}, headers=headers)
    await toy.ask("toy", "/nowhere", headers=headers)
    _, made, head, facets, *_ = await mismatch(toy, calls={**RIGHT, facet: wanted})
    assert made == "2 calls were made; the nearest:"
    assert head.startswith("  #1 POST /chat 200")
    assert found in head
    marks = [part for part in facets.strip().split("   ") if "✗" in part]
    assert marks == [f"{facet} {mark}"]


@pytest.mark.slow
@pytest.mark.covers("promises/verification", "forty lines of ten thousand calls")
async def test_mismatch_text_stays_short_with_ten_thousand_calls(toy: Running) -> None:
    text = "a\nlong prompt " * 3000
    await ask(toy, text + "A" + text[:1000])
    (entry,) = toy.built.journal
    for _ in range(9_999):
        toy.built.journal.add(replace(entry))
    lines = await mismatch(toy, calls={"prompt": {"contains": "tides\n" * 99}, "rule": "greets", "header.x": "y" * 999})
    assert lines[1] == "10000 calls were made; the nearest:"
    assert lines[-1] == "  and 9992 more."
    assert max(map(len, lines)) < 400
    lines = await mismatch(toy, times={"exactly": 1})
    assert lines[-1] == "  and 9990 more."


async def test_mismatch_excerpts_long_texts_where_they_differ(toy: Running) -> None:
    text = "tell me of the rivers " * 100
    await ask(toy, text + "and of the lakes " + text)
    *_, head, facets = await mismatch(toy, calls={"prompt": text + "and of the tides " + text})
    assert "of the lakes tell" in head
    assert "of the tides tell" in facets
    *_, head, _ = await mismatch(toy, calls={"prompt": {"suffix": "and no more"}})
    assert head.endswith("the rivers tell me of the rivers '")


async def test_mismatch_reports_dropped_payload(toy: Running) -> None:
    await ask(toy, "Hello")
    (entry,) = toy.built.journal
    entry.drop_payload()
    *_, head, facets = await mismatch(toy, calls={"vendor": "toy", "prompt": "Hello", "stream": False})
    assert head.endswith("prompt: no longer kept")
    assert facets.strip() == "vendor ✓   stream ✓   prompt ✗ is 'Hello'"


async def test_facets_without_body_are_checked_after_payload_was_cut(start: Start) -> None:
    running = await start("journal: {bodies: 16B}\n", vendors=[TOY])
    await ask(running, "a long prompt indeed")
    assert (await verify(running, calls={"header.x-key": "k", "body_bytes": 44, "task": "chat"})).status == 200
    *_, head, _ = await mismatch(running, calls={"prompt": {"contains": "long"}})
    assert head.endswith("prompt: no longer kept")


async def test_mismatch_lists_call_on_unrouted_path(toy: Running) -> None:
    await toy.ask("front", "/nowhere/at%0Aall")
    *_, head, _ = await mismatch(toy, calls={"vendor": "toy", "prompt": "Hi"})
    assert head == "  #1 GET /nowhere/at\N{REPLACEMENT CHARACTER}all 404   vendor: none   prompt: none"


async def test_verify_matches_rate_limited_call_in_session(start: Start) -> None:
    limits = "limits: [{vendor: toy, unit: requests, amount: 1, window: 60s}]\n"
    running = await start(limits, vendors=[TOY])
    for prompt in ("one", "two"):
        await ask(running, prompt, "a")
    calls: Object = {"prompt": "two", "error": "rate_limited", "session": "a"}
    assert (await verify(running, session="a", calls=calls, times={"exactly": 1})).status == 200
    refused = [entry.limits for entry in running.built.journal][1]
    assert refused == (LimitCheck("limits[0]", "requests", 1, 0, 60.0),)
