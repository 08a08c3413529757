"""Tests of match fields and conditions."""

import pytest

from emulator.scenario.conditions import GROUPS, NAMED_FACETS, When
from emulator.scenario.matchers import MATCH_FIELDS
from emulator.scenario.matching import RequestAttributes
from emulator.storage.memory import MemoryState
from tests.scenario.calls import CHAT, COMPLETION, EMBEDDING, GRAMMAR, MODELS, PATTERN, PLAIN, TOKENS, find_match, rules


async def holds(when: str, facts: RequestAttributes) -> bool:
    matcher = rules(f"- name: r\n  when: {{{when}}}\n  pass: true")
    match = await find_match(matcher, facts, MemoryState().count_now)
    (verdict,) = matcher.explain(facts, match)
    assert (verdict.failed is None) == (match.rule is not None)  # the explanation never contradicts
    return match.rule is not None


@pytest.mark.covers("language/facets", "vendor", case="vendor, exact")
@pytest.mark.covers("language/facets", "deployment", case="deployment, glob")
@pytest.mark.covers("language/facets", "task", case="task")
@pytest.mark.covers("language/facets", "endpoint", case="endpoint, glob")
@pytest.mark.covers("language/facets", "principal", case="principal")
@pytest.mark.covers("language/facets", "session", case="session")
@pytest.mark.covers("language/facets", "stream", case="stream")
@pytest.mark.covers("language/facets", "structured", case="structured by schema")
@pytest.mark.covers("language/facets", "multimodal", case="multimodal")
@pytest.mark.covers("language/facets", "prompt", case="prompt, equal")
@pytest.mark.covers("language/facets", "system", case="system")
@pytest.mark.covers("language/facets", "tools", case="any tool offered")
@pytest.mark.covers("language/facets", "tool_result", case="tool result")
@pytest.mark.covers("language/facets", "prompt_tokens", case="prompt tokens, equal")
@pytest.mark.covers("language/facets", "max_tokens", case="max tokens")
@pytest.mark.covers("language/facets", "messages", case="messages")
@pytest.mark.covers("language/facets", "messages.last.role", case="role of the last message")
@pytest.mark.covers("language/facets", "body_bytes", case="body bytes with a unit")
@pytest.mark.covers("language/facets", "header.<name>", case="header")
@pytest.mark.covers("language/facets", "query.<name>", case="query")
@pytest.mark.covers("language/facets", "body.<path>", case="body, deep")
@pytest.mark.covers("language/facets", "any", case="any, one of two")
@pytest.mark.covers("language/facets", "not", case="not, they do not all hold")
@pytest.mark.covers("language/comparisons", "contains", case="prompt, contains")
@pytest.mark.covers("language/comparisons", "prefix", case="prompt, prefix")
@pytest.mark.covers("language/comparisons", "suffix", case="prompt, suffix")
@pytest.mark.covers("language/comparisons", "regex", case="prompt, regex searches")
@pytest.mark.covers("language/comparisons", "not", case="prompt, not a string")
@pytest.mark.covers("language/comparisons", "ignore_case", case="prompt, in any case")
@pytest.mark.covers("language/comparisons", "above", case="above leaves out the bound")
@pytest.mark.covers("language/comparisons", "below", case="below leaves out the bound")
@pytest.mark.covers("promises/first steps", "any", case="any, one of two")
@pytest.mark.covers("promises/first steps", "not", case="not, they do not all hold")
@pytest.mark.covers("promises/first steps", "the last message's role", case="role of the last message")
@pytest.mark.covers("promises/first steps", "in any case", case="prompt, in any case")
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
        pytest.param("principal: '*'", MODELS, False, id="a call without a principal"),
        pytest.param("session: s*", CHAT, True, id="session"),
        pytest.param("session: '*'", MODELS, False, id="a call outside a session"),
        pytest.param("stream: true", CHAT, True, id="stream"),
        pytest.param("stream: false", CHAT, False, id="streamed is not whole"),
        pytest.param("stream: false", PLAIN, True, id="whole"),
        pytest.param("stream: false", MODELS, False, id="a route that never streams"),
        pytest.param("structured: true", CHAT, True, id="structured by schema"),
        pytest.param("structured: false", PLAIN, True, id="not structured"),
        pytest.param("structured: true", GRAMMAR, True, id="a completion structured by schema"),
        pytest.param("structured: true", PATTERN, False, id="a completion that matches a pattern is not structured"),
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
        pytest.param("prompt: {contains: sun, not: x}", CHAT, False, id="prompt, not with another"),
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
        pytest.param("'body.model[0]': l", CHAT, False, id="body, a character is no value of its own"),
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
        pytest.param("prompt: {contains: WEATHER, ignore_case: true}", CHAT, True, id="prompt, in any case"),
        pytest.param("prompt: {contains: WEATHER, ignore_case: false}", CHAT, False, id="prompt, its case matters"),
        pytest.param("prompt: {prefix: HOW, suffix: 'R?', ignore_case: true}", CHAT, True, id="both ends in any case"),
        pytest.param("prompt: {regex: '^HOW', ignore_case: true}", CHAT, True, id="regex in any case"),
        pytest.param("prompt: {not: HOW IS THE WEATHER?, ignore_case: true}", CHAT, False, id="not, in any case"),
        pytest.param("prompt: {not: {prefix: HOW}, ignore_case: true}", CHAT, False, id="not a prefix, in any case"),
        pytest.param("header.user-agent: {contains: PYTHON, ignore_case: true}", CHAT, True, id="header in any case"),
        pytest.param("body.model: {prefix: LL, ignore_case: true}", CHAT, True, id="body in any case"),
        pytest.param(
            "'body.messages[1].content': {not: t, ignore_case: true}", CHAT, True, id="body in any case, a list"
        ),
        pytest.param("messages.last.role: user", CHAT, True, id="role of the last message"),
        pytest.param("messages.last.role: [assistant, tool]", CHAT, False, id="another role"),
        pytest.param("messages.last.role: a*", PLAIN, True, id="role, glob"),
        pytest.param("messages.last.role: '*'", COMPLETION, False, id="a completion has no messages with roles"),
        pytest.param("any: [{vendor: azure}, {stream: true}]", CHAT, True, id="any, one of two"),
        pytest.param("any: [{vendor: azure}, {stream: false}]", CHAT, False, id="any, none of two"),
        pytest.param("any: [{stream: true, vendor: azure}]", CHAT, False, id="any, all facets of an item"),
        pytest.param("any: [{header.x-team: search}, {body.model: x}]", CHAT, True, id="any of headers and body"),
        pytest.param("any: [{stream: true}], vendor: azure", CHAT, False, id="any with another facet"),
        pytest.param("not: {principal: batch}", CHAT, True, id="not, what does not hold"),
        pytest.param("not: {principal: search}", CHAT, False, id="not, what holds"),
        pytest.param("not: {principal: search, stream: false}", CHAT, True, id="not, they do not all hold"),
        pytest.param("not: {header.x-other: a}", CHAT, True, id="not, what the call does not have"),
        pytest.param("not: {any: [{vendor: tgi}, {vendor: azure}]}", CHAT, True, id="not any"),
        pytest.param("any: [{not: {vendor: databricks}}, {not: {stream: false}}]", CHAT, True, id="any not"),
        pytest.param("not: {not: {not: {stream: true}}}", CHAT, False, id="not not not"),
        pytest.param("vendor: databricks, principal: batch", CHAT, False, id="all facets must hold"),
        pytest.param("vendor: databricks, principal: search, stream: true", CHAT, True, id="all facets hold"),
    ],
)
async def test_facet(when: str, facts: RequestAttributes, expected: bool) -> None:
    assert await holds(when, facts) is expected


def test_every_facet_has_matcher() -> None:
    written = {field.alias or name for name, field in When.model_fields.items()}
    assert written == {*MATCH_FIELDS, *GROUPS, *(f"{name}.*" for name in NAMED_FACETS)}
