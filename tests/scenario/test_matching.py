"""Tests of matching, of ``times`` and of explanations."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from emulator.scenario.matching import Match, RequestAttributes, RuleMatcher, find_nearest
from emulator.storage.memory import MemoryState
from tests.scenario.calls import CHAT, MODELS, rules


async def play(matcher: RuleMatcher, calls: Sequence[RequestAttributes]) -> list[Match]:
    state = MemoryState()
    return [await matcher.match(call, state) for call in calls]


async def taken(rule: str, calls: Sequence[RequestAttributes]) -> str:
    """Return ``x`` for each request that a rule takes and ``.`` for each other one."""
    matches = await play(rules(f"- {{name: r, pass: true, {rule}}}"), calls)
    return "".join("x" if match.rule else "." for match in matches)


def at(*seconds: float) -> list[RequestAttributes]:
    return [replace(CHAT, since_start=second) for second in seconds]


A = replace(CHAT, fingerprint=b"a", principal="search", deployment="llama-70b")
B = replace(CHAT, fingerprint=b"b", principal="batch", deployment="llama-70b")
C = replace(CHAT, fingerprint=b"c", principal="search", deployment="llama-8b")


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
            "first: 1, per: deployment", [A, replace(A, vendor="azure")], "xx", id="deployments of two vendors are two"
        ),
        pytest.param("first: 1", [A, replace(A, session="s2"), A], "xx.", id="sessions always count apart"),
        pytest.param(
            "first: 1, per: request", [A, replace(A, session="s2"), A], "xx.", id="sessions count apart per request too"
        ),
    ],
)
async def test_times(times: str, calls: Sequence[RequestAttributes], expected: str) -> None:
    assert await taken(f"times: {{{times}}}", calls) == expected


async def test_calls_whose_when_fails_are_not_counted() -> None:
    assert await taken("when: {principal: search}, times: {nth: 2}", [A, B, C]) == "..x"


async def names(text: str, calls: Sequence[RequestAttributes]) -> list[str | None]:
    return [None if match.rule is None else match.rule.name for match in await play(rules(text), calls)]


@pytest.mark.covers("language/sections", "rules")
async def test_the_first_rule_that_matches_wins() -> None:
    text = "- {name: one, when: {vendor: azure}, pass: true}\n- {name: two, pass: true}\n- {name: three, pass: true}"
    assert await names(text, [CHAT, MODELS]) == ["two", "one"]


async def test_no_match_gives_the_empty_outcome() -> None:
    (match,) = await play(rules("- {name: one, when: {vendor: tgi}, pass: true}"), [CHAT])
    assert (match.rule, match.outcome.given) == (None, frozenset())


async def test_calls_left_out_by_times_go_on_to_the_next_rule_and_stay_counted() -> None:
    text = "- {name: one, times: {every: 2}, pass: true}\n- {name: two, times: {first: 1}, pass: true}"
    assert await names(text, [CHAT] * 4) == ["two", "one", None, "one"]


async def test_a_rule_does_not_count_calls_that_an_earlier_rule_took() -> None:
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
        pytest.param("", [A, replace(A, session="s2"), A], ["overloaded", "overloaded", "hi"], id="sessions apart"),
    ],
)
async def test_sequence(rule: str, calls: Sequence[RequestAttributes], expected: list[str]) -> None:
    matches = await play(rules(f"- {{name: r, sequence: {STEPS}, {rule}}}"), calls)
    assert [describe(match) for match in matches] == expected


# Chance


def attempts(count: int) -> list[RequestAttributes]:
    return [replace(CHAT, attempt=index) for index in range(count)]


@pytest.mark.covers("language/times", "probability")
async def test_chance_is_as_likely_as_it_says() -> None:
    outcome = await taken("times: {probability: 0.3}", attempts(3000))
    assert outcome.count("x") / 3000 == pytest.approx(0.3, abs=0.03)


async def test_chance_follows_from_request_and_attempt_in_any_order() -> None:
    calls = [replace(call, fingerprint=identity) for call in attempts(50) for identity in (b"a", b"b")]
    forwards = await taken("times: {probability: 0.5}", calls)
    assert await taken("times: {probability: 0.5}", calls[::-1]) == forwards[::-1]
    assert forwards[::2] != forwards[1::2]


@pytest.mark.covers("language/sections", "seed")
async def test_chance_depends_on_the_rule_and_the_seed_and_not_on_other_rules() -> None:
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
- {name: never, times: {probability: 0}, pass: true}
- {name: takes it, when: {principal: search}, pass: true}
- {name: not reached, pass: true}
"""


async def test_each_rule_before_the_one_that_matched_says_why_not() -> None:
    matcher = rules(EXPLAINED)
    call = replace(CHAT, headers={**CHAT.headers, "authorization": "Bearer dapi-secret-1"})
    match = await matcher.match(call, MemoryState())
    verdicts = matcher.explain(call, match)
    draw = verdicts[11].draw
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
        ("never", "times.probability", f"drew {draw:.6f}, wanted below 0.0"),
        ("takes it", None, ""),
    ]


async def test_what_may_be_logged_says_nothing_of_the_text() -> None:
    matcher = rules(EXPLAINED)
    match = await matcher.match(CHAT, MemoryState())
    said = {verdict.rule: verdict.loggable for verdict in matcher.explain(CHAT, match)}
    assert said["other principal"] == 'is "search", wanted ["batch","nightly"]'
    assert said["secret"] == 'wanted "ads"'
    assert said["prompt"] == 'wanted {"contains":"sun"}'
    assert said["either"] == 'vendor is "databricks", wanted "azure"; prompt wanted {"contains":"sun"}'


async def test_explaining_counts_nothing_and_says_the_same_later() -> None:
    matcher, state = rules("- {name: r, times: {nth: 2}, pass: true}"), MemoryState()
    first = await matcher.match(CHAT, state)
    second = await matcher.match(CHAT, state)
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
async def test_the_nearest_rule_has_the_most_facets_that_hold(whens: list[str], nearest: str, failed: str) -> None:
    matcher = rules("\n".join(f"- {{name: r{n}, when: {when}, pass: true}}" for n, when in enumerate(whens)))
    match = await matcher.match(CHAT, MemoryState())
    found = find_nearest(matcher.explain(CHAT, match))
    assert found is not None
    assert (found.rule, found.failed) == (nearest, failed)


def test_without_rules_none_is_nearest() -> None:
    assert find_nearest(()) is None


async def test_many_addresses_do_not_pile_up() -> None:
    matcher = rules("- {name: r, when: {deployment: d5}, pass: true}")
    calls = [replace(CHAT, deployment=f"d{index}") for index in range(3000)]
    assert [index for index, match in enumerate(await play(matcher, calls)) if match.rule] == [5]
    assert len(matcher._by_address) <= 1024
