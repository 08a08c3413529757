"""Which rule takes a call, which of its calls, and what the others say."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.call import ChatAsk, CompletionAsk, EmbeddingAsk, Message, Sampling, Tool
from emulator.core.errors import ErrorKind
from emulator.core.json import JSON
from emulator.scenario.comparisons import same_json
from emulator.scenario.conditions import NAMED_FACETS
from emulator.scenario.facets import FACETS
from emulator.scenario.load import load_text
from emulator.scenario.match import Facts, Match, Matcher, compile_rules, find_nearest
from emulator.scenario.schema import When
from emulator.state.memory import MemoryState

BODY = {
    "model": "llama",
    "temperature": 1.0,
    "stream": True,
    "user": None,
    "messages": [{"role": "user", "content": "How is the weather?"}, {"role": "user", "content": [{"type": "text"}]}],
}
CHAT = Facts(
    vendor="databricks",
    deployment="llama-70b",
    task="chat",
    endpoint="/serving-endpoints/llama-70b/invocations",
    principal="search",
    session="s1",
    stream=True,
    ask=ChatAsk(
        messages=(
            Message(role="system", text="You are terse."),
            Message(role="user", text="Hello", media=1),
            Message(role="assistant", text="Hi"),
            Message(role="tool", text="22 degrees"),
            Message(role="user", text="How is the weather?"),
        ),
        sampling=Sampling(max_tokens=100),
        tools=(Tool(name="get_weather"), Tool(name="get_time")),
        format="json_schema",
    ),
    prompt_tokens=42,
    body_bytes=1000,
    headers={"x-team": "search", "user-agent": "OpenAI/Python"},
    query={"api-version": "2024-05-01"},
    body=lambda: BODY,
    identity=b"chat",
)
PLAIN = Facts(vendor="tgi", task="chat", ask=ChatAsk(messages=(Message(role="assistant", text="Hi"),)))
COMPLETION = Facts(
    vendor="tgi", task="completions", ask=CompletionAsk(prompts=("Once upon", (1, 2), "a time"), media=0)
)
EMBEDDING = Facts(vendor="azure", task="embeddings", ask=EmbeddingAsk(inputs=("first", "second")), prompt_tokens=2)
TOKENS = Facts(vendor="azure", task="embeddings", ask=EmbeddingAsk(inputs=((1, 2),)))
MODELS = Facts(vendor="azure", endpoint="/info")


def rules(text: str, seed: int = 0) -> Matcher:
    return compile_rules(load_text(f"version: 1\nseed: {seed}\nrules:\n{text}").scenario)


async def holds(when: str, facts: Facts) -> bool:
    matcher = rules(f"- name: r\n  when: {{{when}}}\n  pass: true")
    match = await matcher.match(facts, MemoryState())
    (verdict,) = matcher.explain(facts, match)
    assert (verdict.failed is None) == (match.rule is not None)  # the explanation never contradicts
    return match.rule is not None


@pytest.mark.parametrize(
    ("when", "facts", "expected"),
    [
        pytest.param("", MODELS, True, id="no facet holds for every call"),
        pytest.param("vendor: databricks", CHAT, True, id="vendor, exact"),
        pytest.param("vendor: databrick", CHAT, False, id="vendor, exact and not a part"),
        pytest.param("vendor: Databricks", CHAT, False, id="vendor, case-sensitive"),
        pytest.param("vendor: [azure, databricks]", CHAT, True, id="vendor, any of a list"),
        pytest.param("vendor: [azure, tgi]", CHAT, False, id="vendor, none of a list"),
        pytest.param("deployment: llama-*", CHAT, True, id="deployment, glob"),
        pytest.param("deployment: '*-70b'", CHAT, True, id="deployment, glob in front"),
        pytest.param("deployment: 'l*7*b'", CHAT, True, id="deployment, two globs"),
        pytest.param("deployment: llama", CHAT, False, id="deployment, no glob"),
        pytest.param("deployment: 'llama-?0b'", CHAT, False, id="deployment, a question mark is itself"),
        pytest.param("deployment: '[l]lama*'", CHAT, False, id="deployment, a bracket is itself"),
        pytest.param("deployment: [gpt*, llama*]", CHAT, True, id="deployment, a list of globs"),
        pytest.param("deployment: '*'", MODELS, False, id="a call to no deployment"),
        pytest.param("task: chat", CHAT, True, id="task"),
        pytest.param("task: embed*", EMBEDDING, True, id="task, glob"),
        pytest.param("task: '*'", MODELS, False, id="a call without a task"),
        pytest.param("endpoint: /serving-endpoints/*/invocations", CHAT, True, id="endpoint, glob"),
        pytest.param("endpoint: '/serving*'", CHAT, True, id="endpoint, a glob spans slashes"),
        pytest.param("endpoint: /info", MODELS, True, id="endpoint of a catalogue route"),
        pytest.param("principal: search", CHAT, True, id="principal"),
        pytest.param("principal: '*'", MODELS, False, id="a call of nobody"),
        pytest.param("session: s*", CHAT, True, id="session"),
        pytest.param("session: '*'", MODELS, False, id="a call outside a session"),
        pytest.param("stream: true", CHAT, True, id="stream"),
        pytest.param("stream: false", CHAT, False, id="streamed is not whole"),
        pytest.param("stream: false", PLAIN, True, id="whole"),
        pytest.param("stream: false", MODELS, False, id="a route that never streams"),
        pytest.param("structured: true", CHAT, True, id="structured by schema"),
        pytest.param("structured: false", PLAIN, True, id="not structured"),
        pytest.param("structured: true", EMBEDDING, False, id="an embedding is not structured"),
        pytest.param("structured: false", MODELS, False, id="a route that asks nothing"),
        pytest.param("multimodal: true", CHAT, True, id="multimodal"),
        pytest.param("multimodal: false", PLAIN, True, id="text alone"),
        pytest.param("multimodal: false", COMPLETION, True, id="a completion of text"),
        pytest.param("multimodal: false", MODELS, False, id="multimodal of no ask"),
        pytest.param("prompt: How is the weather?", CHAT, True, id="prompt, equal"),
        pytest.param("prompt: weather", CHAT, False, id="prompt, a part is not equal"),
        pytest.param("prompt: Hello", CHAT, False, id="prompt, the last user message only"),
        pytest.param("prompt: {contains: weather}", CHAT, True, id="prompt, contains"),
        pytest.param("prompt: {contains: Weather}", CHAT, False, id="prompt, contains is case-sensitive"),
        pytest.param("prompt: {prefix: How}", CHAT, True, id="prompt, prefix"),
        pytest.param("prompt: {prefix: is}", CHAT, False, id="prompt, prefix only in front"),
        pytest.param("prompt: {suffix: '?'}", CHAT, True, id="prompt, suffix"),
        pytest.param("prompt: {suffix: is}", CHAT, False, id="prompt, suffix only at the end"),
        pytest.param("prompt: {regex: 'w.a'}", CHAT, True, id="prompt, regex searches"),
        pytest.param("prompt: {regex: '^w'}", CHAT, False, id="prompt, regex anchored"),
        pytest.param("prompt: {not: Hello}", CHAT, True, id="prompt, not a string"),
        pytest.param("prompt: {not: {contains: weather}}", CHAT, False, id="prompt, not a comparison"),
        pytest.param("prompt: {not: {not: {contains: weather}}}", CHAT, True, id="prompt, not not"),
        pytest.param("prompt: {prefix: How, suffix: '?', contains: is}", CHAT, True, id="prompt, several keys"),
        pytest.param("prompt: {prefix: How, suffix: '!'}", CHAT, False, id="prompt, one of several fails"),
        pytest.param("prompt: {contains: sun, not: x}", CHAT, False, id="prompt, not beside another"),
        pytest.param("prompt: {not: x}", PLAIN, False, id="no user message"),
        pytest.param("prompt: a time", COMPLETION, True, id="prompt of a completion"),
        pytest.param("prompt: {prefix: Once}", COMPLETION, True, id="another prompt of a completion"),
        pytest.param("prompt: first", EMBEDDING, True, id="first of two inputs"),
        pytest.param("prompt: second", EMBEDDING, True, id="second of two inputs"),
        pytest.param("prompt: third", EMBEDDING, False, id="none of two inputs"),
        pytest.param("prompt: {not: x}", TOKENS, False, id="an input of token ids has no text"),
        pytest.param("system: {contains: terse}", CHAT, True, id="system"),
        pytest.param("system: {not: x}", PLAIN, False, id="no system message"),
        pytest.param("system: {not: x}", COMPLETION, False, id="a completion has no system message"),
        pytest.param("tools: get_time", CHAT, True, id="any tool offered"),
        pytest.param("tools: get_*", CHAT, True, id="tools, glob"),
        pytest.param("tools: [a, get_time]", CHAT, True, id="tools, list"),
        pytest.param("tools: time", CHAT, False, id="a tool that is not offered"),
        pytest.param("tools: '*'", PLAIN, False, id="no tools"),
        pytest.param("tools: '*'", COMPLETION, False, id="a completion has no tools"),
        pytest.param("tool_result: {suffix: degrees}", CHAT, True, id="tool result"),
        pytest.param("tool_result: {not: x}", PLAIN, False, id="no tool result"),
        pytest.param("prompt_tokens: 42", CHAT, True, id="prompt tokens, equal"),
        pytest.param("prompt_tokens: 41", CHAT, False, id="prompt tokens, not equal"),
        pytest.param("prompt_tokens: {above: 41}", CHAT, True, id="above"),
        pytest.param("prompt_tokens: {above: 42}", CHAT, False, id="above leaves out the bound"),
        pytest.param("prompt_tokens: {below: 43}", CHAT, True, id="below"),
        pytest.param("prompt_tokens: {below: 42}", CHAT, False, id="below leaves out the bound"),
        pytest.param("prompt_tokens: {above: 10, below: 20}", CHAT, False, id="both bounds must hold"),
        pytest.param("prompt_tokens: {below: 10}", MODELS, False, id="no prompt has no tokens"),
        pytest.param("max_tokens: {below: 101}", CHAT, True, id="max tokens"),
        pytest.param("max_tokens: {above: 0}", PLAIN, False, id="no bound on tokens"),
        pytest.param("max_tokens: {above: 0}", EMBEDDING, False, id="embeddings have no max tokens"),
        pytest.param("messages: 5", CHAT, True, id="messages"),
        pytest.param("messages: {below: 9}", COMPLETION, False, id="a completion has no messages"),
        pytest.param("body_bytes: {below: 1KiB}", CHAT, True, id="body bytes with a unit"),
        pytest.param("body_bytes: {above: 1KiB}", CHAT, False, id="body bytes above"),
        pytest.param("body_bytes: 1000", CHAT, True, id="body bytes as a number"),
        pytest.param("header.x-team: search", CHAT, True, id="header"),
        pytest.param("header.X-Team: search", CHAT, True, id="header, in any case"),
        pytest.param("header.user-agent: {prefix: OpenAI}", CHAT, True, id="header, compared"),
        pytest.param("header.x-other: {not: x}", CHAT, False, id="a header that is not there"),
        pytest.param("query.api-version: {prefix: '2024'}", CHAT, True, id="query"),
        pytest.param("query.API-Version: {not: x}", CHAT, False, id="query, case-sensitive"),
        pytest.param("body.model: llama", CHAT, True, id="body, equal text"),
        pytest.param("body.model: {prefix: ll}", CHAT, True, id="body, compared"),
        pytest.param("body.temperature: 1", CHAT, True, id="body, equal number"),
        pytest.param("body.temperature: true", CHAT, False, id="body, one is not true"),
        pytest.param("body.stream: true", CHAT, True, id="body, equal boolean"),
        pytest.param("body.stream: 1", CHAT, False, id="body, true is not one"),
        pytest.param("body.user: ~", CHAT, True, id="body, null"),
        pytest.param("body.seed: ~", CHAT, False, id="body, what is left out is not null"),
        pytest.param("'body.messages[0].role': user", CHAT, True, id="body, in a list"),
        pytest.param("'body.messages[0].content': {contains: weather}", CHAT, True, id="body, deep"),
        pytest.param("'body.messages[1].content': [{type: text}]", CHAT, True, id="body, equal list"),
        pytest.param("'body.messages[1].content[0]': {type: text}", CHAT, True, id="body, equal mapping"),
        pytest.param("'body.messages[1].content': {contains: t}", CHAT, False, id="body, a list contains no text"),
        pytest.param(
            "'body.messages[1].content': {not: {contains: t}}", CHAT, True, id="body, a list is not that text"
        ),
        pytest.param(
            "'body.messages[1].content': {not: {not: t}}", CHAT, False, id="body, a list is not not that text"
        ),
        pytest.param("'body.messages[9].role': {not: x}", CHAT, False, id="body, past the list"),
        pytest.param("body.model.name: {not: x}", CHAT, False, id="body, a key of a text"),
        pytest.param("body.model: {not: x}", MODELS, False, id="no body"),
        pytest.param("vendor: databricks, principal: batch", CHAT, False, id="all facets must hold"),
        pytest.param("vendor: databricks, principal: search, stream: true", CHAT, True, id="all facets hold"),
    ],
)
async def test_facet(when: str, facts: Facts, expected: bool) -> None:
    assert await holds(when, facts) is expected


def test_every_facet_of_the_language_is_compared() -> None:
    assert {*FACETS, *NAMED_FACETS} == When.model_fields.keys()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(value=json_values, other=json_values)
def test_json_values_equal_themselves_and_the_relation_is_symmetric(value: JSON, other: JSON) -> None:
    assert same_json(value, value)
    assert same_json(value, other) == same_json(other, value)


async def play(matcher: Matcher, calls: Sequence[Facts]) -> list[Match]:
    state = MemoryState()
    return [await matcher.match(call, state) for call in calls]


async def taken(rule: str, calls: Sequence[Facts]) -> str:
    """``x`` for each call a rule takes, ``.`` for each it does not."""
    matches = await play(rules(f"- {{name: r, pass: true, {rule}}}"), calls)
    return "".join("x" if match.rule else "." for match in matches)


def at(*seconds: float) -> list[Facts]:
    return [replace(CHAT, since_start=second) for second in seconds]


A = replace(CHAT, identity=b"a", principal="search", deployment="llama-70b")
B = replace(CHAT, identity=b"b", principal="batch", deployment="llama-70b")
C = replace(CHAT, identity=b"c", principal="search", deployment="llama-8b")


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
async def test_times(times: str, calls: Sequence[Facts], expected: str) -> None:
    assert await taken(f"times: {{{times}}}", calls) == expected


async def test_calls_whose_when_fails_are_not_counted() -> None:
    assert await taken("when: {principal: search}, times: {nth: 2}", [A, B, C]) == "..x"


async def names(text: str, calls: Sequence[Facts]) -> list[str | None]:
    return [None if match.rule is None else match.rule.name for match in await play(rules(text), calls)]


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
async def test_sequence(rule: str, calls: Sequence[Facts], expected: list[str]) -> None:
    matches = await play(rules(f"- {{name: r, sequence: {STEPS}, {rule}}}"), calls)
    assert [describe(match) for match in matches] == expected


# Chance


def attempts(count: int) -> list[Facts]:
    return [replace(CHAT, attempt=index) for index in range(count)]


async def test_chance_is_as_likely_as_it_says() -> None:
    outcome = await taken("times: {probability: 0.3}", attempts(3000))
    assert outcome.count("x") / 3000 == pytest.approx(0.3, abs=0.03)


async def test_chance_follows_from_request_and_attempt_in_any_order() -> None:
    calls = [replace(call, identity=identity) for call in attempts(50) for identity in (b"a", b"b")]
    forwards = await taken("times: {probability: 0.5}", calls)
    assert await taken("times: {probability: 0.5}", calls[::-1]) == forwards[::-1]
    assert forwards[::2] != forwards[1::2]


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
- {name: third, times: {every: 3}, pass: true}
- {name: later, times: {between: [30s, 60s]}, pass: true}
- {name: never, times: {probability: 0}, pass: true}
- {name: takes it, when: {principal: search}, pass: true}
- {name: not reached, pass: true}
"""


async def test_each_rule_before_the_one_that_matched_says_why_not() -> None:
    matcher = rules(EXPLAINED)
    match = await matcher.match(CHAT, MemoryState())
    verdicts = matcher.explain(CHAT, match)
    draw = verdicts[8].draw
    assert [(verdict.rule, verdict.failed, verdict.detail) for verdict in verdicts] == [
        ("other vendor", "vendor", 'is "databricks", wanted "azure"'),
        ("other principal", "principal", 'is "search", wanted ["batch","nightly"]'),
        ("long", "prompt_tokens", 'is 42, wanted {"above":4000.0}'),
        ("secret", "header.x-team", 'wanted "ads"'),
        ("prompt", "prompt", 'wanted {"contains":"sun"}'),
        ("absent", "query.stage", 'the call has none, wanted "test"'),
        ("third", "times.every", "call 1, wanted every 3"),
        ("later", "times.between", "at 0 s, wanted [30.0,60.0]"),
        ("never", "times.probability", f"drew {draw:.6f}, wanted below 0.0"),
        ("takes it", None, ""),
    ]


async def test_explaining_counts_nothing_and_says_the_same_later() -> None:
    matcher, state = rules("- {name: r, times: {nth: 2}, pass: true}"), MemoryState()
    first = await matcher.match(CHAT, state)
    second = await matcher.match(CHAT, state)
    for _ in range(2):
        assert matcher.explain(CHAT, first)[0].failed == "times.nth"
        assert matcher.explain(CHAT, second)[0].failed is None
    assert (first.counts, second.counts) == ({"r": 1}, {"r": 2})


async def test_the_nearest_rule_fails_in_the_fewest_facets() -> None:
    matcher = rules(
        "- {name: far, when: {vendor: azure, principal: batch}, pass: true}\n"
        "- {name: near, when: {vendor: databricks, principal: batch}, pass: true}\n"
        "- {name: as near, when: {vendor: azure}, pass: true}"
    )
    match = await matcher.match(CHAT, MemoryState())
    nearest = find_nearest(matcher.explain(CHAT, match))
    assert nearest is not None
    assert (nearest.rule, nearest.failed, nearest.missing) == ("near", "principal", 1)


def test_without_rules_none_is_nearest() -> None:
    assert find_nearest(()) is None


async def test_many_addresses_do_not_pile_up() -> None:
    matcher = rules("- {name: r, when: {deployment: d5}, pass: true}")
    calls = [replace(CHAT, deployment=f"d{index}") for index in range(3000)]
    assert [index for index, match in enumerate(await play(matcher, calls)) if match.rule] == [5]
    assert len(matcher._by_address) <= 1024


# Outcomes


async def test_an_error_outcome_is_the_error_the_vendor_words() -> None:
    (match,) = await play(
        rules(
            "- name: r\n  error: {kind: rate_limited, limit: output_tokens, status: 503, retry_after: 1500ms,"
            " message: slow down, param: n, body: {a: 1}, headers: {x-a: b}}"
        ),
        [CHAT],
    )
    assert match.outcome.error is not None
    error = match.outcome.error.to_error()
    assert (error.kind, error.limit, error.status, error.retry_after) == (
        ErrorKind.RATE_LIMITED,
        "output_tokens",
        503,
        1.5,
    )
    assert (error.message, error.param, error.body, error.headers) == ("slow down", "n", {"a": 1}, {"x-a": "b"})
