"""Bounds of Azure OpenAI's members below and beside the top level: lengths, patterns, ids, ranges, in its words."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.azure.service import accept, refuse

CHAT = "/openai/v1/chat/completions"
RESPONSES = "/openai/v1/responses"
USER: JSON = {"role": "user", "content": "Hi"}
NAME = "^[a-zA-Z0-9_-]+$"


def chat(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "messages": [USER], **fields}


def ask(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": "Hi", **fields}


def talk(name: str = "f", call: str = "call_1", count: int = 1) -> JSON:
    """Chat in which an assistant called tools."""
    calls = [
        {"id": f"{call}{n or ''}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n in range(count)
    ]
    answers = [{"role": "tool", "tool_call_id": each["id"], "content": "3"} for each in calls]
    return chat(messages=[USER, {"role": "assistant", "content": "", "tool_calls": calls}, *answers])


def put(kind: str, **fields: JSON) -> JSON:
    """Response that continues items of a kind."""
    call: JSON = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    custom: JSON = {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}
    usual: JSON = {
        "function_call": call,
        "function_call_output": {"call_id": "c", "output": "3"},
        "custom_tool_call": custom,
        "custom_tool_call_output": {"call_id": "c", "output": "3"},
        "reasoning": {"summary": []},
        "message": {"role": "user", "content": "x"},
    }
    item = {"type": kind, **usual[kind], **fields}
    name = item.get("call_id")
    before = {"function_call_output": [call], "custom_tool_call_output": [custom]}.get(kind, [])
    outputs = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
    after = [{"type": outputs[kind], "call_id": name, "output": "3"}] if kind in outputs else []
    return ask(input=[USER, *before, item, *after])


def long(limit: int) -> str:
    expected = f"Expected a string with maximum length {limit}, but got a string with length {limit + 1} instead."
    return f"string too long. {expected}"


EMPTY = "empty string. Expected a string with minimum length 1, but got an empty string instead."
AGAINST = f"string does not match pattern. Expected a string that matches the pattern '{NAME}'."
ODD = (
    "Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional "
    "characters."
)


@pytest.mark.parametrize(
    ("body", "param", "text", "code"),
    [
        (chat(safety_identifier="s" * 65), "safety_identifier", long(64), "string_above_max_length"),
        (chat(prompt_cache_key="s" * 65), "prompt_cache_key", long(64), "string_above_max_length"),
        (talk(call="c" * 41), "messages[1].tool_calls[0].id", long(40), "string_above_max_length"),
        (talk(name="f" * 65), "messages[1].tool_calls[0].function.name", long(64), "string_above_max_length"),
        (talk(name=""), "messages[1].tool_calls[0].function.name", EMPTY, "empty_string"),
        (talk(name="a b"), "messages[1].tool_calls[0].function.name", AGAINST, "invalid_value"),
        (
            talk(count=129),
            "messages[1].tool_calls",
            "array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
            "array_above_max_length",
        ),
        (
            chat(messages=[USER, {"role": "assistant", "content": "x", "tool_calls": []}, USER]),
            "messages[1].tool_calls",
            "empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "empty_array",
        ),
        (
            chat(prediction={"type": "content", "content": []}),
            "prediction.content",
            "empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "empty_array",
        ),
        (
            chat(tools=[{"type": "function", "function": {"name": ""}}]),
            "tools[0].function.name",
            EMPTY,
            "empty_string",
        ),
        (ask(safety_identifier="s" * 65), "safety_identifier", long(64), "string_above_max_length"),
        (ask(prompt_cache_key="s" * 65), "prompt_cache_key", long(64), "string_above_max_length"),
        (ask(user="s" * 65), "user", long(64), "string_above_max_length"),
        (ask(input="x" * 10_485_761), "input", long(10_485_760), "string_above_max_length"),
        (put("function_call", call_id=""), "input[1].call_id", EMPTY, "empty_string"),
        (put("function_call", call_id="c" * 65), "input[1].call_id", long(64), "string_above_max_length"),
        (put("function_call", name=""), "input[1].name", EMPTY, "empty_string"),
        (put("function_call", name="a.b"), "input[1].name", AGAINST, "invalid_value"),
        (put("function_call_output", id=f"fc_{'c' * 62}"), "input[2].id", long(64), "string_above_max_length"),
        (put("custom_tool_call", call_id=""), "input[1].call_id", EMPTY, "empty_string"),
        (
            ask(context_management=[{"type": "compaction", "compact_threshold": 999}]),
            "context_management[0].compact_threshold",
            "integer below minimum value. Expected a value >= 1000, but got 999 instead.",
            "integer_below_min_value",
        ),
        (
            ask(context_management=[]),
            "context_management",
            "empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "empty_array",
        ),
        (
            ask(tools=[{"type": "image_generation", "partial_images": 4}]),
            "tools[0].partial_images",
            "integer above maximum value. Expected a value <= 3, but got 4 instead.",
            "integer_above_max_value",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bound_is_kept(body: JSON, param: str, text: str, code: str) -> None:
    refused = refuse(body, CHAT if "messages" in body else RESPONSES)
    error = {"message": f"Invalid '{param}': {text}", "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


@pytest.mark.parametrize(
    ("body", "param", "value", "text"),
    [
        (put("message", id="item_1"), "input[1].id", "item_1", "Expected an ID that begins with 'msg'."),
        (put("function_call", id="call_1"), "input[1].id", "call_1", "Expected an ID that begins with 'fc'."),
        (put("function_call_output", id="x_1"), "input[2].id", "x_1", "Expected an ID that begins with 'fc'."),
        (put("custom_tool_call", id="fc_1"), "input[1].id", "fc_1", "Expected an ID that begins with 'ctc'."),
        (put("reasoning", id="msg_1"), "input[1].id", "msg_1", "Expected an ID that begins with 'rs'."),
        (put("message", id=""), "input[1].id", "", ODD),
        (put("message", id="msg:1"), "input[1].id", "msg:1", ODD),
        (
            ask(previous_response_id="chatcmpl-1"),
            "previous_response_id",
            "chatcmpl-1",
            "Expected an ID that begins with 'resp'.",
        ),
        (ask(previous_response_id="@x"), "previous_response_id", "@x", ODD),
        (ask(conversation="thread_1"), "conversation", "thread_1", "Expected an ID that begins with 'conv'."),
        (ask(conversation={"id": "t"}), "conversation.id", "t", "Expected an ID that begins with 'conv'."),
    ],
    ids=lambda value: str(value)[:60],
)
def test_id_is_of_its_kind(body: JSON, param: str, value: str, text: str) -> None:
    refused = refuse(body, RESPONSES)
    error = {"message": f"Invalid '{param}': '{value}'. {text}", "type": "invalid_request_error", "param": param}
    assert (refused.status, refused.json()) == (400, {"error": {**error, "code": "invalid_value"}})


@pytest.mark.parametrize(
    "body",
    [
        chat(safety_identifier="s" * 64, prompt_cache_key="s" * 64),
        talk(name="f" * 64, call="c" * 40),
        talk(count=128),
        ask(safety_identifier="s" * 64, prompt_cache_key="s" * 64, user="s" * 64),
        put("function_call", call_id="c" * 64, name="n" * 128, id=f"fc_{'c' * 61}"),
        put("custom_tool_call_output", id="ctco_1"),
        put("reasoning", id=None),
        ask(context_management=[{"type": "compaction", "compact_threshold": 1000}]),
    ],
    ids=lambda value: str(value)[:60],
)
def test_value_at_its_bound_is_accepted(body: JSON) -> None:
    assert accept(body, CHAT if "messages" in body else RESPONSES)


@pytest.mark.parametrize(
    "body",
    [talk(call="c" * 41), talk(name=""), put("message", id="item_1"), ask(prompt_cache_key="s" * 65)],
    ids=lambda value: str(value)[:60],
)
def test_setting_drops_bounds(body: JSON) -> None:
    assert accept(body, CHAT if "messages" in body else RESPONSES, "strict_members=false")
