"""Azure OpenAI's chat completions: what they take beyond Model Inference."""

import pytest

from emulator.core.requests import ChatRequest
from emulator.vendors.azure.chat.openai_models import NATIVE
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import CALL, REQUEST
from tests.vendors.azure.service import accept, chat, refuse

TARGET = "/openai/v1/chat/completions"
TOOL: JSON = {"type": "function", "function": {"name": "f"}}
OTHER: JSON = {"type": "function", "function": {"name": "g"}}
ORDINARY: dict[str, JSON] = {
    "data_sources": [
        {
            "type": "azure_search",
            "parameters": {"endpoint": "u", "index_name": "i", "authentication": {"type": "api_key", "key": "k"}},
        }
    ],
    "functions": [{"name": "f", "parameters": {"type": "object"}}],
    "logit_bias": {"5": -100},
    "logprobs": True,
    "max_completion_tokens": 20,
    "metadata": {"a": "b"},
    "moderation": {"model": "omni"},
    "n": 2,
    "prediction": {"type": "content", "content": "Hi"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "implicit"},
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "service_tier": "auto",
    "store": True,
    "user": "u",
    "user_security_context": {"application_name": "a"},
    "verbosity": "medium",
    "web_search_options": {"search_context_size": "low"},
}
TOGETHER: dict[str, dict[str, JSON]] = {
    "audio": {"audio": {"voice": "alloy", "format": "wav"}, "model": "gpt-4o-audio-preview"},
    "function_call": {"functions": [{"name": "f"}], "function_call": {"name": "f"}},
    "parallel_tool_calls": {"parallel_tool_calls": False, "tools": [TOOL]},
    "reasoning_effort": {"reasoning_effort": "low", "model": "o3"},
    "stream_options": {"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}},
    "top_logprobs": {"logprobs": True, "top_logprobs": 3},
}


@pytest.mark.covers("azure/Azure OpenAI", "no parameter forgotten")
def test_every_parameter_has_test_value() -> None:
    assert ORDINARY.keys() | TOGETHER.keys() == NATIVE


@pytest.mark.covers("azure/Azure OpenAI", "ordinary parameters")
@pytest.mark.parametrize("name", sorted(NATIVE))
def test_ordinary_parameters_are_accepted(name: str) -> None:
    fields = TOGETHER.get(name) or {name: ORDINARY[name]}
    assert accept(chat(**{"model": "gpt-4o", **fields}), TARGET)


@pytest.mark.parametrize(
    ("fields", "message", "param", "code"),
    [
        pytest.param(
            {"max_tokens": 5, "max_completion_tokens": 5},
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            None,
            "invalid_parameter_combination",
            id="two limits",
        ),
        pytest.param(
            {"stream_options": {"include_usage": True}},
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
            None,
            id="options of no stream",
        ),
        pytest.param(
            {"top_logprobs": 2},
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
            "top_logprobs",
            None,
            id="alternatives of nothing",
        ),
        pytest.param(
            {"parallel_tool_calls": True},
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
            "specified.",
            "parallel_tool_calls",
            None,
            id="calls of no tools",
        ),
        pytest.param(
            {"stop": ["a", "b", "c", "d", "e"]},
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 "
            "instead.",
            "stop",
            "array_above_max_length",
            id="too many stops",
        ),
        pytest.param(
            {"response_format": {"type": "json_object"}},
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            "messages",
            None,
            id="JSON mode without the word",
        ),
        pytest.param(
            {"messages": [{"role": "tool", "content": "x", "tool_call_id": "c"}]},
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            "messages.[0].role",
            None,
            id="an answer without its call",
        ),
        pytest.param(
            {"top_k": 5}, "Unrecognized request argument supplied: top_k", None, None, id="another engine's parameter"
        ),
        pytest.param(
            {"foo": 1, "bar": 2}, "Unrecognized request arguments supplied: foo, bar", None, None, id="two unknown ones"
        ),
        pytest.param(
            {"tool_choice": "auto"},
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
            "tool_choice",
            None,
            id="a choice of no tools",
        ),
        pytest.param(
            {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}},
            "Tool choice 'g' not found in 'tools' parameter.",
            "tool_choice",
            None,
            id="a choice of another tool",
        ),
        pytest.param(
            {"function_call": "auto"},
            "Invalid value for 'function_call': 'function_call' is only allowed when 'functions' are specified.",
            "function_call",
            None,
            id="a call of no functions",
        ),
        pytest.param(
            {"functions": [{"name": "f"}], "function_call": {"name": "g"}},
            "Invalid value for 'function_call': no function named 'g' was specified in the 'functions' parameter.",
            "function_call",
            None,
            id="a call of another function",
        ),
        pytest.param(
            {"functions": [{"name": "f"}], "function_call": "required"},
            "Invalid value: 'required'. Supported values are: 'none' and 'auto'.",
            "function_call",
            "invalid_value",
            id="a wrong call",
        ),
        pytest.param(
            {"metadata": {str(number): "x" for number in range(17)}},
            "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object "
            "with 17 properties instead.",
            "metadata",
            "object_above_max_properties",
            id="too much metadata",
        ),
        pytest.param(
            {"metadata": {"a": "x" * 513}},
            "Invalid 'metadata.a': string too long. Expected a string with maximum length 512, but got a string with "
            "length 513 instead.",
            "metadata.a",
            "string_above_max_length",
            id="long metadata",
        ),
        pytest.param(
            {"tools": [{"type": "function", "function": {"name": "f" * 65}}]},
            "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a "
            "string with length 65 instead.",
            "tools[0].function.name",
            "string_above_max_length",
            id="a long name",
        ),
        pytest.param(
            {"response_format": {"type": "json_schema"}},
            "Missing required parameter: 'response_format.json_schema'.",
            "response_format.json_schema",
            "missing_required_parameter",
            id="no schema",
        ),
        pytest.param(
            {"messages": [{"role": "assistant", "content": None}]},
            "Invalid value for 'content': expected a string, got null.",
            "messages.[0].content",
            None,
            id="an answer of nothing",
        ),
        pytest.param(
            {"messages": [{"role": "user", "name": "a b", "content": "x"}]},
            "Invalid 'messages[0].name': string does not match pattern. Expected a string that matches the pattern "
            "'^[^\\s<|\\\\/>]+$'.",
            "messages[0].name",
            "invalid_value",
            id="a wrong name of a speaker",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "Invalid 'messages[0].content[0].image_url.url'. Expected a valid URL, but got a value with an invalid "
            "format.",
            "messages[0].content[0].image_url.url",
            "invalid_value",
            id="no address of a picture",
        ),
        pytest.param(
            {"service_tier": "best"},
            "Invalid value: 'best'. Supported values are: 'auto', 'default', 'flex', 'scale', 'priority', and 'fast'.",
            "service_tier",
            "invalid_value",
            id="none of the values",
        ),
    ],
)
def test_conflicting_parameters_are_refused(fields: JSON, message: str, param: str | None, code: str | None) -> None:
    refused = refuse(chat(model="gpt-4o", **fields) | fields, TARGET)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_tool_call_without_result_is_refused() -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called: JSON = [{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [call]}]
    refused = refuse({"model": "gpt-4o", "messages": [*called, {"role": "user", "content": "b"}]}, TARGET)
    assert refused.json()["error"]["message"].endswith("did not have response messages: c1")
    answer: JSON = {"role": "tool", "content": "x", "tool_call_id": "c1"}
    assert accept({"model": "gpt-4o", "messages": [*called, answer]}, TARGET)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"role": "developer", "content": "Be brief."}, id="developer"),
        pytest.param({"role": "function", "name": "f", "content": "{}"}, id="function"),
        pytest.param({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, id="a refusal"),
        pytest.param({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, id="a function call"),
        pytest.param({"role": "user", "content": [{"type": "file", "file": {"file_id": "x"}}]}, id="a file"),
    ],
)
def test_openai_only_messages_are_accepted(message: JSON) -> None:
    body: JSON = {"messages": [message, {"role": "user", "content": "Hi"}], "model": "gpt-4o"}
    assert accept(body, TARGET)
    if message["role"] == "function" or isinstance(message.get("content"), list):
        assert refuse(body, "/chat/completions?api-version=2024-04-01").status == 422


def test_allowed_tools_limit_offered_tools() -> None:
    allowed: JSON = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [OTHER]}}
    ask = accept(chat(model="gpt-4o", tools=[TOOL, OTHER], tool_choice=allowed), TARGET).request
    assert isinstance(ask, ChatRequest)
    assert ([tool.name for tool in ask.tools], ask.tool_choice, ask.tool_name) == (["g"], "required", None)
    assert refuse(chat(model="gpt-4o", tools=[TOOL], tool_choice=allowed), TARGET).status == 400


@pytest.mark.covers("azure/Azure OpenAI", "functions")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        pytest.param(None, ("auto", None), id="absent"),
        pytest.param("none", ("none", None), id="none"),
        pytest.param({"name": "f"}, ("required", "f"), id="by name"),
    ],
)
def test_functions_are_parsed_as_tools(choice: JSON, expected: tuple[str, str | None]) -> None:
    ask = accept(chat(model="gpt-4o", functions=[{"name": "f"}], function_call=choice), TARGET).request
    assert isinstance(ask, ChatRequest)
    assert ((ask.tool_choice, ask.tool_name), ask.parallel) == (expected, False)


def test_function_call_response_has_legacy_form() -> None:
    call = accept(chat(model="gpt-4o", functions=[{"name": "f"}]), TARGET)
    choice = parse_json(call.codec.render(CALL, REQUEST).body)["choices"][0]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"arguments": '{"a": 1}', "name": "f"}
    assert "tool_calls" not in choice["message"]
    chunks = [
        parse_json(data[6:]) for _, data, _, _ in call.codec.stream(CALL, REQUEST).events if b"[DONE]" not in data
    ]
    calls = [delta["function_call"] for c in chunks for o in c["choices"] if "function_call" in (delta := o["delta"])]
    assert calls[0] == {"name": "f", "arguments": ""}
    assert "".join(part["arguments"] for part in calls) == '{"a": 1}'
    assert chunks[-1]["choices"][0]["finish_reason"] == "function_call"
