"""Validation of chat requests."""

import json

import pytest

from emulator.core.requests import ChatRequest
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    accept,
    error_of,
)

BATCH = (
    "The {0} parameter ({1}) exceeds '{2}' ({3}). Please reduce n or increase '{2}' in config.json of mindie-service."
)
BEAMS = "Please set the max_tokens to be not larger than 128 when the use_beam_search is on."
MESSAGES = [
    ({}, "Request contains not model or model null"),
    ({"model": 5}, "Request param model must be string"),
    ({"model": ""}, "Request param model must be not empty"),
    ({"model": "other"}, "Model not found"),
    ({"model": MODEL}, "Request param contains not messages or messages null"),
    ({"model": MODEL, "messages": []}, "Request param messages not arr or arr is empty"),
    ({"model": MODEL, "messages": [{}]}, "Request param contains not role or role null"),
    ({"model": MODEL, "messages": [{"role": "user"}]}, "Request param contains not content or content null"),
    (
        {"model": MODEL, "messages": [{"role": "assistant", "content": ""}]},
        'Request param "content" should not be empty',
    ),
    (
        {"model": MODEL, "messages": [{"role": "tool", "content": "x"}]},
        "Request param contains not tool_call_id or tool_call_id null while role is tool",
    ),
    ({"model": MODEL, "messages": HELLO, "top_logprobs": 21}, "Parameter top logprobs must be in [0, 20], got 21."),
    ({"model": MODEL, "messages": HELLO, "tools": [{}]}, "Tool param invalid, tool type not exist"),
    (
        {"model": MODEL, "messages": HELLO, "tool_choice": "x"},
        "Parameter tool_choice string not in [none, auto, required]",
    ),
    (
        {"model": MODEL, "messages": HELLO, "response_format": {"type": "xml"}},
        "Parameter response_format.type must be 'json_object', 'json_schema' or 'text', got 'xml'",
    ),
]


@pytest.mark.parametrize(("body", "text"), MESSAGES, ids=[json.dumps(body) for body, _ in MESSAGES])
def test_invalid_chat_is_refused(body: JSON, text: str) -> None:
    assert error_of(CHAT, body) == text


async def test_chat_follows_json_schema(start: Start) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"model": MODEL, "messages": HELLO, "response_format": form}
    answer = (await (await start()).ask("mindie", CHAT, body)).json()
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"])["n"], int)


THINKING = {"model": MODEL, "messages": HELLO, "chat_template_kwargs": {"enable_thinking": True}}
SPLIT = "vendors: {mindie: {enable_reasoning: true}}\n"
THOUGHTS = "rules: [{name: thinks, reply: {reasoning: 'Let me see.', text: 'Yes.'}}]\n"


async def test_reasoning_is_separated_with_split_setting(start: Start) -> None:
    answer = (await (await start(SPLIT + THOUGHTS)).ask("mindie", CHAT, THINKING)).json()
    message = answer["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Yes.", "Let me see.")
    usage = answer["usage"]
    assert list(usage) == ["prompt_tokens", "completion_tokens", "completion_tokens_details", "total_tokens"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 4


async def test_reasoning_stays_in_content_without_split(start: Start) -> None:
    running = await start(THOUGHTS)
    answer = (await running.ask("mindie", CHAT, THINKING)).json()
    message = answer["choices"][0]["message"]
    assert message["content"] == "<think>\nLet me see.\n</think>\n\nYes."
    assert "reasoning_content" not in message
    assert list(answer["usage"]) == ["prompt_tokens", "completion_tokens", "total_tokens"]
    streamed = await running.ask("mindie", CHAT, {**THINKING, "stream": True})
    deltas = [event["choices"][0]["delta"] for event in streamed.events()[:-1]]
    assert "".join(delta["content"] for delta in deltas) == message["content"]


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param(None, "Request param messages is null", id="none"),
        pytest.param("x", "Request param messages is not arr or arr is empty", id="a text"),
        pytest.param([], "Request param messages is not arr or arr is empty", id="an empty list"),
        pytest.param([{}], "Request param contains not role or role null", id="no role"),
        pytest.param(
            [{"role": "developer", "content": "x"}],
            "Request param contains role must be system, assistant, user or tool",
            id="another role",
        ),
        pytest.param([{"role": "user"}], "Request param contains not content or content null", id="no content"),
        pytest.param([{"role": "user", "content": ""}], "Request param content len should not be 0", id="no text"),
        pytest.param([{"role": "user", "content": []}], "Request param content len should not be 0", id="no parts"),
        pytest.param([{"role": "user", "content": 5}], "Check open ai req parameter error", id="a number"),
        pytest.param(
            [{"role": "user", "content": [{"type": "image_url", "image_url": "a.png"}]}],
            "Check open ai req parameter error",
            id="a picture",
        ),
        pytest.param(
            [{"role": "tool", "content": "x"}],
            "Request param contains not tool_call_id or tool_call_id null while role is tool",
            id="a tool without its call",
        ),
    ],
)
def test_invalid_messages_with_tools_have_own_errors(messages: JSON, text: str) -> None:
    assert error_of(CHAT, {"model": MODEL, "messages": messages, "tools": TOOLS, "tool_choice": "none"}) == text


@pytest.mark.parametrize("content", ["", [], [{"type": "text", "text": ""}, {"type": "other"}]], ids=repr)
def test_empty_content_without_tools_is_accepted(content: JSON) -> None:
    assert isinstance(
        accept(CHAT, {"model": MODEL, "messages": [{"role": "user", "content": content}]}).request, ChatRequest
    )


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": " two"}]
    for more in ({}, {"tools": TOOLS}):
        body = {"model": MODEL, "messages": [{"role": "user", "content": parts}], **more}
        assert accept(CHAT, body).request.prompt == "one two"


def test_invalid_part_is_reported_before_model() -> None:
    body = {"model": "other", "messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}
    assert error_of(CHAT, body) == "Check open ai req parameter error"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"chat_template_kwargs": None}, "chat_template_kwargs must be a JSON object"),
        ({"chat_template_kwargs": []}, "chat_template_kwargs must be a JSON object"),
        ({"chat_template_kwargs": {"enable_thinking": None}}, "enable_thinking must be boolean, got null"),
        ({"chat_template_kwargs": {"enable_thinking": "yes"}}, "enable_thinking must be boolean, got string"),
        ({"chat_template_kwargs": {"enable_thinking": 1}}, "enable_thinking must be boolean, got number"),
        (
            {"chat_template_kwargs": {"enable_thinking": True, "thinking_budget": 0}},
            "Parameter thinking_budget must be in [1,2147483647], got 0",
        ),
        ({"chat_template": 5}, "Parameter chat_template not string"),
        ({"chat_template": ""}, "Parameter chat_template is not valid"),
        ({"n": 51, "temperature": 1}, BATCH.format("n", 51, "maxPrefillBatchSize", 50)),
        ({"n": 129, "temperature": 1}, "Parameter [n] should be in [1, 128], got 129. "),
        ({"use_beam_search": "x"}, "use_beam_search must be boolean type."),
        ({"use_beam_search": True}, BEAMS),
        ({"use_beam_search": True, "max_tokens": 129}, BEAMS),
        (
            {"best_of": 2, "stream": True, "temperature": 1},
            "best_of must be equal to n in stream mode, but best_of is 2, n is None.",
        ),
        (
            {"n": 2},
            "best_of/n can not greater than 1 without using beam search when temperature is 0 or not set, "
            "but best_of is None, n is 2.",
        ),
    ],
    ids=repr,
)
def test_invalid_chat_options_are_refused(more: JSON, text: str) -> None:
    assert error_of(CHAT, {"model": MODEL, "messages": HELLO, **more}) == text


@pytest.mark.parametrize(
    ("section", "name", "most"),
    [("max_batch_size: 4", "max_batch_size", 4), ("max_n: 3", "maxN", 3)],
)
def test_number_of_choices_is_limited(section: str, name: str, most: int) -> None:
    body = {"model": MODEL, "messages": HELLO, "n": 5, "temperature": 1}
    text = BATCH.format("n", 5, name, most)
    assert error_of(CHAT, body, f"vendors: {{mindie: {{{section}}}}}\n").strip() == text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"use_beam_search": True}, "Request param use_beam_search can not be true in pd disaggregation mode."),
        ({"logprobs": True}, "logprobs is not supported in dmi mode"),
    ],
    ids=repr,
)
def test_pd_disaggregation_refuses_more_options(more: JSON, text: str) -> None:
    body = {"model": MODEL, "messages": HELLO, **more}
    assert error_of(CHAT, body, "vendors: {mindie: {pd_mode: true}}\n") == text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        pytest.param({"tools": 0}, "Tools not array", id="zero"),
        pytest.param({"tools": False}, "Tools not array", id="false"),
        pytest.param({"tools": ""}, "Tools not array", id="an empty text"),
        pytest.param({"tools": {"type": "function"}}, "Tools not array", id="an object"),
        pytest.param(
            {"stop_token_ids": 1, "include_stop_str_in_output": 1},
            "Parameter stop_token_ids not array",
            id="ids before the switch",
        ),
        pytest.param({"max_tokens": 2**64}, "Parameter max_tokens not number_integer", id="beyond 64 bits"),
    ],
)
def test_values_that_look_empty_keep_their_type(more: JSON, text: str) -> None:
    assert error_of(CHAT, {"model": MODEL, "messages": HELLO, **more}) == text


@pytest.mark.parametrize("tools", [None, [], {}], ids=repr)
def test_no_tools(tools: JSON) -> None:
    assert accept(CHAT, {"model": MODEL, "messages": HELLO, "tools": tools})


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        pytest.param({"a": {}}, "Tool call param contains no id.", id="members of an object"),
        pytest.param({"a": {"id": 1}}, 'Tool call param "id" arguments expected to be a string', id="a numeric id"),
        pytest.param("x", "Tool call param contains no id.", id="a text"),
    ],
)
def test_tool_calls_that_are_no_list(calls: JSON, text: str) -> None:
    messages = [{"role": "assistant", "tool_calls": calls}]
    assert error_of(CHAT, {"model": MODEL, "messages": messages}) == text
    assert accept(CHAT, {"model": MODEL, "messages": [{"role": "assistant", "tool_calls": {}}]})
