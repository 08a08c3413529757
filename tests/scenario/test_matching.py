"""Tests of matching, of ``times`` and of explanations."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.http import Request
from emulator.core.json import JSON, as_object, dump_json, dump_text
from emulator.core.requests import ChatRequest, Message
from emulator.core.rng import derive_key, draw_uniform
from emulator.scenario.matchers import compile_when, list_necessary
from emulator.scenario.matching import Match, RequestAttributes, RuleMatcher, find_nearest
from emulator.storage.memory import MemoryState
from tests.scenario.calls import (
    BODY,
    CHAT,
    COMPLETION,
    EMBEDDING,
    GRAMMAR,
    MODELS,
    PLAIN,
    TOKENS,
    find_match,
    rules,
    vary,
)


async def play(matcher: RuleMatcher, calls: Sequence[RequestAttributes]) -> list[Match]:
    state = MemoryState()
    return [await find_match(matcher, call, state.count_now) for call in calls]


async def taken(rule: str, calls: Sequence[RequestAttributes]) -> str:
    """Return ``x`` for each request that a rule takes and ``.`` for each other one."""
    matches = await play(rules(f"- {{name: r, pass: true, {rule}}}"), calls)
    return "".join("x" if match.rule else "." for match in matches)


def at(*seconds: float) -> list[RequestAttributes]:
    return [vary(CHAT, since_start=second) for second in seconds]


def day(*seconds: float) -> list[RequestAttributes]:
    return [vary(CHAT, now=second) for second in seconds]


A = vary(CHAT, fingerprint=b"a", principal="search", deployment="llama-70b")
B = vary(CHAT, fingerprint=b"b", principal="batch", deployment="llama-70b")
C = vary(CHAT, fingerprint=b"c", principal="search", deployment="llama-8b")


@pytest.mark.covers("language/times", "first", case="first")
@pytest.mark.covers("language/times", "nth", case="nth of a list")
@pytest.mark.covers("language/times", "every", case="every")
@pytest.mark.covers("language/times", "after", case="after")
@pytest.mark.covers("language/times", "between", case="between is half open")
@pytest.mark.covers("language/times", "repeat", case="a burst opens each period")
@pytest.mark.covers("language/times", "per", case="per rule is the default")
@pytest.mark.covers("language/scopes", "rule", case="per rule")
@pytest.mark.covers("language/scopes", "request", case="per request, so a retry is attempt two")
@pytest.mark.covers("language/scopes", "principal", case="per principal")
@pytest.mark.covers("language/scopes", "deployment", case="per deployment")
@pytest.mark.parametrize(
    ("times", "calls", "expected"),
    [
        pytest.param("first: 2", [CHAT] * 4, "xx..", id="first"),
        pytest.param("nth: 2", [CHAT] * 4, ".x..", id="nth"),
        pytest.param("nth: [1, 3]", [CHAT] * 4, "x.x.", id="nth of a list"),
        pytest.param("every: 3", [CHAT] * 7, "..x..x.", id="every"),
        pytest.param("after: 2", [CHAT] * 4, "..xx", id="after"),
        pytest.param("after: 0", [CHAT] * 2, "xx", id="after none"),
        pytest.param("after: 1, first: 3", [CHAT] * 5, ".xx..", id="several keys must all hold"),
        pytest.param("every: 2, after: 2", [CHAT] * 6, "...x.x", id="every counts the calls that after leaves out"),
        pytest.param("probability: 0", [CHAT] * 3, "...", id="no chance"),
        pytest.param("probability: 1", [CHAT] * 3, "xxx", id="certain"),
        pytest.param("between: [30s, 60s]", at(0, 29.9, 30, 59.9, 60), "..xx.", id="between is half open"),
        pytest.param('between: ["10:00", "10:05"]', day(35999, 36000, 36299, 36300, 122400), ".xx.x", id="every day"),
        pytest.param("between: [10:00, 10:05]", day(35999, 36000, 36299), ".xx", id="without quotes"),
        pytest.param('between: ["23:59", "00:01:30"]', day(86339, 86340, 0, 89, 90), ".xxx.", id="past midnight"),
        pytest.param(
            "between: [1970-01-02T00:00:00Z, 1970-01-02T02:00:00+01:00]", day(0, 86400, 9e4), ".x.", id="dates"
        ),
        pytest.param("between: [0s, 10s], first: 1", at(0, 5, 20), "x..", id="between and first"),
        pytest.param(
            "repeat: {every: 60s, for: 10s}",
            at(0, 9.9, 10, 59.9, 60, 69, 71),
            "xx..xx.",
            id="a burst opens each period",
        ),
        pytest.param("first: 1", [A, B, C], "x..", id="per rule is the default"),
        pytest.param("first: 1, per: rule", [A, B, C], "x..", id="per rule"),
        pytest.param("first: 1, per: request", [A, B, A, B, C], "xx..x", id="per request, so a retry is attempt two"),
        pytest.param("first: 1, per: principal", [A, B, C, B], "xx..", id="per principal"),
        pytest.param("first: 1, per: deployment", [A, B, C, C], "x.x.", id="per deployment"),
        pytest.param(
            "first: 1, per: deployment", [A, vary(A, vendor="azure")], "xx", id="deployments of two vendors are two"
        ),
        pytest.param("first: 1", [A, vary(A, session="s2"), A], "xx.", id="sessions always count apart"),
        pytest.param(
            "first: 1, per: request", [A, vary(A, session="s2"), A], "xx.", id="sessions count apart per request too"
        ),
    ],
)
async def test_times(times: str, calls: Sequence[RequestAttributes], expected: str) -> None:
    assert await taken(f"times: {{{times}}}", calls) == expected


async def test_failed_when_is_not_counted() -> None:
    assert await taken("when: {principal: search}, times: {nth: 2}", [A, B, C]) == "..x"


async def names(text: str, calls: Sequence[RequestAttributes]) -> list[str | None]:
    return [None if match.rule is None else match.rule.name for match in await play(rules(text), calls)]


@pytest.mark.covers("language/sections", "rules")
async def test_first_matching_rule_wins() -> None:
    text = "- {name: one, when: {vendor: azure}, pass: true}\n- {name: two, pass: true}\n- {name: three, pass: true}"
    assert await names(text, [CHAT, MODELS]) == ["two", "one"]


async def test_no_match_gives_empty_outcome() -> None:
    (match,) = await play(rules("- {name: one, when: {vendor: tgi}, pass: true}"), [CHAT])
    assert (match.rule, match.outcome.given) == (None, frozenset())


async def test_call_skipped_by_times_goes_to_next_rule() -> None:
    text = "- {name: one, times: {every: 2}, pass: true}\n- {name: two, times: {first: 1}, pass: true}"
    assert await names(text, [CHAT] * 4) == ["two", "one", None, "one"]


async def test_rule_counts_only_calls_that_reach_it() -> None:
    text = "- {name: one, times: {nth: [1, 3]}, pass: true}\n- {name: two, times: {nth: 2}, pass: true}"
    assert await names(text, [CHAT] * 5) == ["one", None, "one", "two", None]


STEPS = "[{error: {kind: overloaded}}, {reply: {text: hi}}]"


def describe(match: Match) -> str:
    outcome = match.outcome
    if outcome.error:
        return outcome.error.kind.value
    if outcome.reply:
        return outcome.reply.text or ""
    return "pass" if outcome.pass_ else "nothing"


@pytest.mark.covers("language/what follows a sequence", "pass", case="then pass is the default")
@pytest.mark.covers("language/what follows a sequence", "repeat", case="then repeat")
@pytest.mark.covers("language/what follows a sequence", "last", case="then last")
@pytest.mark.covers("language/outcomes", "pass", case="then pass")
@pytest.mark.covers("language/outcomes", "sequence", case="per beside it")
@pytest.mark.parametrize(
    ("rule", "calls", "expected"),
    [
        pytest.param("", [CHAT] * 4, ["overloaded", "hi", "pass", "pass"], id="then pass is the default"),
        pytest.param("then: pass", [CHAT] * 3, ["overloaded", "hi", "pass"], id="then pass"),
        pytest.param("then: last", [CHAT] * 4, ["overloaded", "hi", "hi", "hi"], id="then last"),
        pytest.param(
            "then: repeat", [CHAT] * 5, ["overloaded", "hi", "overloaded", "hi", "overloaded"], id="then repeat"
        ),
        pytest.param("per: request", [A, B, A, B], ["overloaded", "overloaded", "hi", "hi"], id="per beside it"),
        pytest.param("times: {per: principal}", [A, B, C], ["overloaded", "overloaded", "hi"], id="per inside times"),
        pytest.param("times: {after: 1}", [CHAT] * 3, ["nothing", "hi", "pass"], id="counts what times leaves out"),
        pytest.param("", [A, vary(A, session="s2"), A], ["overloaded", "overloaded", "hi"], id="sessions apart"),
    ],
)
async def test_sequence(rule: str, calls: Sequence[RequestAttributes], expected: list[str]) -> None:
    matches = await play(rules(f"- {{name: r, sequence: {STEPS}, {rule}}}"), calls)
    assert [describe(match) for match in matches] == expected


# Chance


def attempts(count: int) -> list[RequestAttributes]:
    return [vary(CHAT, attempt=index) for index in range(count)]


@pytest.mark.covers("language/times", "probability")
async def test_probability_matches_frequency() -> None:
    outcome = await taken("times: {probability: 0.3}", attempts(3000))
    assert outcome.count("x") / 3000 == pytest.approx(0.3, abs=0.03)


async def test_draw_depends_on_request_and_not_on_order() -> None:
    calls = [vary(call, fingerprint=identity) for call in attempts(50) for identity in (b"a", b"b")]
    forwards = await taken("times: {probability: 0.5}", calls)
    assert await taken("times: {probability: 0.5}", calls[::-1]) == forwards[::-1]
    assert forwards[::2] != forwards[1::2]


@pytest.mark.covers("language/sections", "seed")
async def test_draw_depends_on_rule_name_and_seed() -> None:
    def chance(name: str) -> str:
        return f"- {{name: {name}, when: {{vendor: databricks}}, times: {{probability: 0.5}}, pass: true}}"

    async def run(text: str, seed: int = 0) -> list[bool]:
        return [match.rule is not None for match in await play(rules(text, seed), attempts(64))]

    alone = await run(chance("r"))
    assert await run("- {name: q, when: {vendor: tgi}, times: {probability: 0.5}, pass: true}\n" + chance("r")) == alone
    assert await run(chance("other")) != alone
    assert await run(chance("r"), seed=1) != alone


# Explanations

EXPLAINED = """
- {name: other vendor, when: {vendor: azure, principal: batch}, pass: true}
- {name: other principal, when: {vendor: databricks, principal: [batch, nightly]}, pass: true}
- {name: long, when: {prompt_tokens: {above: 4000}}, pass: true}
- {name: secret, when: {header.x-team: ads}, pass: true}
- {name: prompt, when: {prompt: {contains: sun}}, pass: true}
- {name: absent, when: {query.stage: test}, pass: true}
- {name: either, when: {any: [{vendor: azure}, {prompt: {contains: sun}}]}, pass: true}
- {name: neither, when: {not: {vendor: databricks, stream: true}}, pass: true}
- {name: bearer, when: {header.authorization: Bearer other-secret}, pass: true}
- {name: third, times: {every: 3}, pass: true}
- {name: later, times: {between: [30s, 60s]}, pass: true}
- {name: at ten, times: {between: ["10:00", "10:05:30"]}, pass: true}
- {name: that day, times: {between: [2026-11-23T10:00:00Z, 2026-11-24T10:00:00Z]}, pass: true}
- {name: never, times: {probability: 0}, pass: true}
- {name: takes it, when: {principal: search}, pass: true}
- {name: not reached, pass: true}
"""


async def test_explanation_gives_reason_for_each_failed_rule() -> None:
    matcher = rules(EXPLAINED)
    call = vary(CHAT, headers={**CHAT.request.headers, "authorization": "Bearer dapi-secret-1"})
    match = await find_match(matcher, call, MemoryState().count_now)
    verdicts = matcher.explain(call, match)
    draw = verdicts[13].draw
    assert [(verdict.rule, verdict.failed, verdict.detail) for verdict in verdicts] == [
        ("other vendor", "vendor", 'is "databricks", wanted "azure"'),
        ("other principal", "principal", 'is "search", wanted ["batch","nightly"]'),
        ("long", "prompt_tokens", 'is 42, wanted {"above":4000.0}'),
        ("secret", "header.x-team", 'is "search", wanted "ads"'),
        ("prompt", "prompt", 'is "How is the weather?", wanted {"contains":"sun"}'),
        ("absent", "query.stage", 'the call has none, wanted "test"'),
        (
            "either",
            "any",
            'vendor is "databricks", wanted "azure"; prompt is "How is the weather?", wanted {"contains":"sun"}',
        ),
        ("neither", "not", 'all of it holds: vendor "databricks", stream true'),
        ("bearer", "header.authorization", 'is "Bearer dapi…", wanted "Bearer othe…"'),
        ("third", "times.every", "call 1, wanted every 3"),
        ("later", "times.between", "at 0 s, wanted [30.0,60.0]"),
        ("at ten", "times.between", 'at 1970-01-01T00:00:00.000Z, wanted ["10:00","10:05:30"]'),
        (
            "that day",
            "times.between",
            'at 1970-01-01T00:00:00.000Z, wanted ["2026-11-23T10:00:00.000Z","2026-11-24T10:00:00.000Z"]',
        ),
        ("never", "times.probability", f"drew {draw:.6f}, wanted below 0.0"),
        ("takes it", None, ""),
    ]


async def test_loggable_explanation_omits_prompt() -> None:
    matcher = rules(EXPLAINED)
    match = await find_match(matcher, CHAT, MemoryState().count_now)
    said = {verdict.rule: verdict.loggable for verdict in matcher.explain(CHAT, match)}
    assert said["other principal"] == 'is "search", wanted ["batch","nightly"]'
    assert said["secret"] == 'wanted "ads"'
    assert said["prompt"] == 'wanted {"contains":"sun"}'
    assert said["either"] == 'vendor is "databricks", wanted "azure"; prompt wanted {"contains":"sun"}'


async def test_explain_does_not_change_counts() -> None:
    matcher, state = rules("- {name: r, times: {nth: 2}, pass: true}"), MemoryState()
    first = await find_match(matcher, CHAT, state.count_now)
    second = await find_match(matcher, CHAT, state.count_now)
    for _ in range(2):
        assert matcher.explain(CHAT, first)[0].failed == "times.nth"
        assert matcher.explain(CHAT, second)[0].failed is None
    assert (first.counts, second.counts) == ({"r": 1}, {"r": 2})


@pytest.mark.covers("promises/first steps", "the nearest rule")
@pytest.mark.parametrize(
    ("whens", "nearest", "failed"),
    [
        pytest.param(
            ["{vendor: azure}", "{vendor: databricks, principal: batch, stream: false}"],
            "r1",
            "principal",
            id="most facets that hold, however many fail",
        ),
        pytest.param(
            ["{vendor: databricks, principal: batch, stream: false}", "{vendor: databricks, stream: false}"],
            "r1",
            "stream",
            id="of those the fewest that fail",
        ),
        pytest.param(["{vendor: azure}", "{vendor: tgi}"], "r0", "vendor", id="of those the first"),
        pytest.param(
            ["{stream: true, task: embeddings}", "{any: [{stream: true}], not: {vendor: tgi}, task: embeddings}"],
            "r1",
            "task",
            id="any and not are a facet each",
        ),
    ],
)
async def test_nearest_rule_has_most_matching_facets(whens: list[str], nearest: str, failed: str) -> None:
    matcher = rules("\n".join(f"- {{name: r{n}, when: {when}, pass: true}}" for n, when in enumerate(whens)))
    match = await find_match(matcher, CHAT, MemoryState().count_now)
    found = find_nearest(matcher.explain(CHAT, match))
    assert found is not None
    assert (found.rule, found.failed) == (nearest, failed)


def test_nearest_rule_without_rules_is_missing() -> None:
    assert find_nearest(()) is None


async def test_address_cache_is_bounded() -> None:
    matcher = rules("- {name: r, when: {deployment: d5}, pass: true}")
    calls = [vary(CHAT, deployment=f"d{index}") for index in range(3000)]
    assert [index for index, match in enumerate(await play(matcher, calls)) if match.rule] == [5]
    assert len(matcher._by_address) <= 1024
    assert len(set(matcher._by_address.values())) == 1


# Every rule asked in order, without an index

CONDITIONS: list[JSON] = [
    *({"vendor": name} for name in ("databricks", ["azure", "tgi"], "data*")),
    *({"deployment": name} for name in ("llama-70b", "llama-*")),
    *({"task": name} for name in ("chat", ["completions", "embeddings"])),
    *({"endpoint": name} for name in ("/info", "/serving*")),
    *({"principal": name} for name in ("search", ["search", "batch"], "b*")),
    *({"stream": flag} for flag in (True, False)),
    *({"tools": name} for name in ("get_weather", ["get_time", "get_weather"], "get_*")),
    *({"prompt": text} for text in ("first", "a time", {"contains": "weather"}, {"suffix": "e"}, {"regex": "[a-f]ir"})),
    *({"prompt": {"not": text}} for text in ("first", {"prefix": "How"})),
    *({"prompt": {name: text}} for name, text in (("prefix", "How"), ("suffix", "\u00df"), ("contains", "\u00df"))),
    *({"prompt": {"regex": text}} for text in ("(?i)WEATHER|karl", "weather|Karl", r"\b[A-Z]ow\W")),
    {"prompt": {"contains": "STRASSE", "ignore_case": True}},
    {"system": "You are terse."},
    {"system": {"contains": "YOU", "ignore_case": True}},
    *({"header.x-team": text} for text in ("search", "ads", {"prefix": "s"})),
    *({"query.api-version": text} for text in ("2024-05-01", {"contains": "2023"})),
    *({"body.temperature": value} for value in (1, 2)),
    *({"body.messages[1].content[0].type": value} for value in ("text", "image")),
    *({"messages": bounds} for bounds in ({"above": 1}, 5, {"above": 1, "below": 5})),
    *({"messages.last.role": role} for role in ("user", ["assistant", "tool"])),
    *({"multimodal": flag} for flag in (True, False)),
    {"any": [{"vendor": "azure"}, {"prompt": {"contains": "weather"}, "principal": "search"}]},
    {"not": {"principal": "batch", "stream": True}},
]
TIMES: list[JSON] = [
    {"first": 1},
    {"every": 2},
    {"nth": [1, 3], "per": "principal"},
    {"after": 1, "per": "deployment"},
    {"first": 1, "per": "request"},
    {"between": ["10s", "20s"], "every": 2},
    {"probability": 0.5},
]
CALLS = [
    *(vary(call, fingerprint=call.vendor.encode()) for call in (CHAT, PLAIN, COMPLETION, GRAMMAR, EMBEDDING)),
    *(TOKENS, MODELS, B, C, vary(A, since_start=12.0, attempt=1), vary(A, stream=False, headers={})),
    *(vary(CHAT, options="chat", principal=name, headers={"x-team": name}) for name in ("search", "batch")),
    *(vary(CHAT, options="chat", body=dump_json({**BODY, "messages": []}), query={}, session=name) for name in "ab"),
    vary(A, request=ChatRequest(messages=(Message(role="user", text="In which Stra\u00dfe, \u212aarl? Ru\u00df"),))),
]


@st.composite
def scenarios(draw: st.DrawFn) -> RuleMatcher:
    """Draw up to eight rules of up to three conditions each."""
    text = []
    for number in range(draw(st.integers(1, 8))):
        rule: dict[str, JSON] = {"name": f"r{number}"}
        chosen = draw(st.lists(st.sampled_from(CONDITIONS), max_size=3))
        if chosen:
            rule["when"] = {name: value for condition in chosen for name, value in as_object(condition).items()}
        if draw(st.booleans()):
            rule["times"] = draw(st.sampled_from(TIMES))
        steps: JSON = [{"reply": {"text": "one"}}, {"reply": {"text": "two"}}]
        rule |= draw(st.sampled_from([{"pass": True}, {"sequence": steps, "then": "repeat"}]))
        text.append(f"- {dump_text(rule)}")
    return rules("\n".join(text))


def ask_every_rule(matcher: RuleMatcher, call: RequestAttributes, state: MemoryState) -> Match:
    """Return the match as the documentation states it: every condition of every rule, in order."""
    counts: dict[str, int] = {}
    for rule in matcher.rules:
        if not all(check.holds(check.extract(call)) for check in compile_when(rule.when)):
            continue
        times, ordinal = rule.times, 0
        if rule.sequence is not None or (times is not None and times.counts):
            key = {
                "request": derive_key(rule.name, "request", call.fingerprint),
                "principal": derive_key(rule.name, "principal", call.request.principal),
                "deployment": derive_key(rule.name, "deployment", call.vendor, call.deployment),
            }.get(rule.scope, derive_key(rule.name))
            counts[rule.name] = ordinal = 1 + state.count_now(call.request.session, "rule", key)
        if times is None or (
            (times.first is None or ordinal <= times.first)
            and (times.nth is None or ordinal in times.nth)
            and (times.every is None or ordinal % times.every == 0)
            and (times.after is None or ordinal > times.after)
            and (times.between is None or times.between[0] <= call.since_start < times.between[1])
            and (times.probability is None or draw_chance(rule.name, call) < times.probability)
        ):
            outcome = rule.sequence[(ordinal - 1) % len(rule.sequence)] if rule.sequence is not None else rule
            return Match(rule, outcome, counts)
    return Match(counts=counts)


def draw_chance(rule: str, call: RequestAttributes) -> float:
    return draw_uniform(derive_key("chance", 0), rule, call.fingerprint, call.attempt)


@given(matcher=scenarios(), calls=st.lists(st.sampled_from(CALLS), min_size=1, max_size=12))
def test_the_index_finds_the_rule_that_asking_every_rule_finds(
    matcher: RuleMatcher, calls: list[RequestAttributes]
) -> None:
    state, other = MemoryState(), MemoryState()
    for call in calls:
        found, expected = asyncio.run(find_match(matcher, call, state.count_now)), ask_every_rule(matcher, call, other)
        assert (found.rule, found.outcome, found.counts) == (expected.rule, expected.outcome, expected.counts)
        last = next(reversed(matcher.explain(call, found)))
        assert (last.failed is None) == (found.rule is not None)
        assert found.rule is None or last.rule == found.rule.name


@pytest.mark.parametrize("other_rules", [pytest.param(3, id="few rules"), pytest.param(80, id="many rules")])
async def test_rules_are_found_for_more_options_than_the_index_holds(other_rules: int) -> None:
    others = "".join(
        [f"- {{name: o{number}, when: {{prompt: {{suffix: no}}}}, pass: true}}\n" for number in range(other_rules)]
    )
    matcher = rules(f"{others}- {{name: r, when: {{body.seed: 1005}}, pass: true}}")
    for seed in (*range(1_100), 5, 1_005):
        request = Request("POST", "/", body=dump_json({**BODY, "seed": seed}))
        call = replace(vary(CHAT, options=f"seed {seed}"), request=request)
        found = await find_match(matcher, call, MemoryState().count_now)
        assert (found.rule is not None) is (seed == 1_005)


async def test_a_rule_after_the_first_match_searches_nothing() -> None:
    first = "- {name: one, when: {prompt: {contains: weather}}, pass: true}"
    matcher = rules(f"{first}\n- {{name: two, when: {{not: {{body.a: 1}}}}, pass: true}}")

    class Unread(Request):
        def json(self) -> JSON:
            raise AssertionError("the body was read")

    call = replace(CHAT, request=Unread("POST", "/"))
    match = await find_match(matcher, call, MemoryState().count_now)
    assert match.rule is not None
    assert match.rule.name == "one"


async def test_counters_of_a_remote_store_are_awaited() -> None:
    matcher, state = rules("- {name: r, times: {nth: 2}, pass: true}"), MemoryState()
    assert [(await find_match(matcher, CHAT, state.count)).counts for _ in range(2)] == [{"r": 1}, {"r": 2}]


@pytest.mark.parametrize(
    ("when", "is_costly"),
    [
        pytest.param("{prompt: {not: {regex: x}}}", True, id="not an expression"),
        pytest.param("{body.a: {regex: x}}", True, id="an expression in the body"),
        pytest.param("{prompt: {not: x}}", False, id="not a text"),
        pytest.param("{prompt: {prefix: x, not: {regex: y}}}", False, id="a prefix as well"),
    ],
)
def test_expression_is_searched_only_in_its_turn(when: str, *, is_costly: bool) -> None:
    """A rule that no comparison rules out is asked in order, so that the first match spares the others."""
    (rule,) = rules(f"- {{name: r, when: {when}, pass: true}}").rules
    (check,) = compile_when(rule.when)
    assert (not list_necessary(check)) == is_costly
