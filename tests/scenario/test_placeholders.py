"""Tests of placeholders in reply texts."""

import pytest

from emulator.core.clock import EPOCH
from emulator.scenario.load import load_text
from emulator.scenario.placeholders import fill
from tests.scenario.calls import CHAT, COMPLETION, MODELS, TOKENS, vary
from tests.scenario.texts import rows_of

HEADERS = {**CHAT.request.headers, "authorization": "Bearer dapi-secret"}
CALL = vary(CHAT, headers=HEADERS, attempt=2)


@pytest.mark.covers("language/placeholders", "prompt", case="prompt")
@pytest.mark.covers("language/placeholders", "model", case="model")
@pytest.mark.covers("language/placeholders", "session", case="session")
@pytest.mark.covers("language/placeholders", "attempt", case="attempt")
@pytest.mark.covers("language/placeholders", "header.x", case="header.x")
@pytest.mark.covers("language/placeholders", "query.x", case="query.x")
@pytest.mark.covers("language/placeholders", "body.path", case="body.path")
@pytest.mark.covers("language/placeholders", "now", case="now")
@pytest.mark.covers("promises/first steps", "placeholders")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("Plain.", "Plain.", id="none"),
        pytest.param("You said: {prompt}", "You said: How is the weather?", id="prompt"),
        pytest.param("{model} speaks", "llama-70b speaks", id="model"),
        pytest.param("in {session}", "in s1", id="session"),
        pytest.param("try {attempt}", "try 3", id="attempt"),
        pytest.param("{header.X-Team}", "search", id="header.x"),
        pytest.param("{header.authorization}", "Bearer …", id="no credential is shown in whole"),
        pytest.param("{query.api-version}", "2024-05-01", id="query.x"),
        pytest.param("{body.temperature} {body.stream} {body.user}", "1.0 true null", id="body.path"),
        pytest.param("{body.messages[0].content}", "How is the weather?", id="a text of the body"),
        pytest.param("{body.messages[1].content}", '[{"type":"text"}]', id="a list of the body"),
        pytest.param("{now}", "2026-01-01T00:00:01.500Z", id="now"),
        pytest.param('{{"a": {{}}}', '{"a": {}}}', id="a brace"),
        pytest.param("{{prompt}", "{prompt}", id="a brace and a name"),
        pytest.param("{header.x-other}|{query.q}|{body.a.b}", "||", id="what the call does not have"),
        pytest.param("a}b", "a}b", id="a closing brace is itself"),
    ],
)
def test_placeholder(text: str, said: str) -> None:
    assert fill(text, CALL, b"key", EPOCH + 1.5) == said


@pytest.mark.covers("promises/first steps", "what is filled in is not read again")
def test_filled_value_is_not_expanded_again() -> None:
    call = vary(CALL, query={"q": "{prompt}"})
    assert fill("{query.q}", call, b"", EPOCH) == "{prompt}"


def test_prompt_placeholder_for_each_task() -> None:
    assert [fill("{prompt}", call, b"", EPOCH) for call in (COMPLETION, TOKENS, MODELS)] == ["a time", "", ""]


@pytest.mark.covers("language/placeholders", "uuid")
def test_uuid_depends_on_key_and_position() -> None:
    first, second = fill("{uuid} {uuid}", CALL, b"key", EPOCH).split()
    assert first != second
    assert fill("{uuid} {uuid}", CALL, b"key", EPOCH) == f"{first} {second}"
    assert first not in fill("{uuid} {uuid}", CALL, b"other", EPOCH)


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        pytest.param(
            "{text: 'Hi {promt}', template: true}",
            "2:33: rules[0].reply.text: unknown placeholder {promt}; did you mean {prompt}?",
            id="a typing error",
        ),
        pytest.param(
            "{text: 'Hi {1 + 1}', template: true}",
            "2:33: rules[0].reply.text: unknown placeholder {1 + 1}; there are {prompt}, {model}, {session}, "
            "{attempt}, {turn}, {uuid}, {now}, {prompt.words[0]}, {match.name}, {header.x}, {query.x}, {body.path}",
            id="nothing is evaluated",
        ),
        pytest.param(
            "{text: '{header.}', template: true}",
            "2:33: rules[0].reply.text: unknown placeholder {header.}; did you mean {header.x}?",
            id="a header without a name",
        ),
        pytest.param(
            "{text: '{body.a..b}', template: true}",
            "2:33: rules[0].reply.text: unknown placeholder {body.a..b}; did you mean {body.path}?",
            id="a path with a hole",
        ),
        pytest.param(
            '{text: "a\\nb { c", template: true}',
            "2:33: rules[0].reply.text: a brace that opens no placeholder in line 2 of the text; write it {{",
            id="a lone brace",
        ),
        pytest.param(
            "{template: true}",
            "2:26: rules[0].reply: expected text, file, tool_calls, json, refusal, embedding, embeddings, reasoning, "
            "chunks or generate",
            id="no text",
        ),
        pytest.param(
            "{refusal: No., template: true}",
            "2:26: rules[0].reply: expected a text or a file with template",
            id="another kind of answer",
        ),
    ],
)
def test_template_mistake_is_reported(reply: str, row: str) -> None:
    assert rows_of(f"version: 1\nrules: [{{name: r, reply: {reply}}}]") == [f"a.yaml:{row}"]


@pytest.mark.covers("promises/first steps", "no template without its word")
def test_braces_without_template_are_literal() -> None:
    rule = load_text("version: 1\nrules: [{name: r, reply: {text: '{promt} {{a}}'}}]").scenario.rules[0]
    assert rule.reply is not None
    assert (rule.reply.text, rule.reply.template) == ("{promt} {{a}}", False)
