"""Responses requests: every field of the reference, and what it asks for."""

import json

import pytest

from emulator.core.requests import Deployment
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import AGENT, LLAMA, OSS, respond, send

SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: JSON = {"name": "get_weather", "description": "Weather", "parameters": SCHEMA}
NESTED: JSON = {"type": "function", "function": FUNCTION}
FLAT: JSON = {"type": "function", **FUNCTION}
FORMAT: JSON = {"name": "city", "schema": SCHEMA}


@pytest.mark.covers("databricks/Responses", "null is absent", case="store left open")
@pytest.mark.covers("databricks/validation", "what Responses refuse", case="background")
@pytest.mark.covers("databricks/validation", "16 pairs of metadata", case="17 pairs")
@pytest.mark.covers("databricks/validation", "stream_options of Responses", case="stream options as a number")
@pytest.mark.covers("databricks/limits", "metadata pairs", case="17 pairs")
@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        pytest.param("model", None, "Missing required parameter: 'model'", id="no model"),
        pytest.param("model", 5, "field 'model' expects input with json type 'string'", id="a number for a model"),
        pytest.param("input", None, "Missing required parameter: 'input'.", id="no input"),
        pytest.param("input", [], "Missing required parameter: 'input'.", id="no items"),
        pytest.param("input", 5, "field 'input' expects", id="a number for an input"),
        pytest.param("instructions", "Be brief", None, id="instructions"),
        pytest.param("instructions", 5, "field 'instructions' expects", id="a number for instructions"),
        pytest.param("max_output_tokens", 16, None, id="a bound"),
        pytest.param("max_output_tokens", None, None, id="no bound"),
        pytest.param("max_output_tokens", 0, "max_output_tokens must be greater than 0", id="no token"),
        pytest.param("max_output_tokens", 128001, "max_output_tokens is too large: 128001", id="too many tokens"),
        pytest.param("temperature", 2, None, id="hot"),
        pytest.param("temperature", 2.1, "temperature must be in [0, 2]", id="too hot"),
        pytest.param("top_p", 0, "top_p must be in (0, 1]", id="an empty nucleus"),
        pytest.param("top_p", 0.5, None, id="half a nucleus"),
        pytest.param("stream", "no", "field 'stream' expects", id="stream as text"),
        pytest.param("stream_options", {"include_usage": True}, "only allowed when stream is true", id="no stream"),
        pytest.param("stream_options", 5, "field 'stream_options' expects", id="stream options as a number"),
        pytest.param("text", {"format": {"type": "text"}}, None, id="plain text"),
        pytest.param("text", {"format": {"type": "json_object"}}, None, id="a JSON object"),
        pytest.param("text", {"format": {"type": "json_schema", "json_schema": FORMAT}}, None, id="a nested schema"),
        pytest.param("text", {"format": {"type": "json_schema", **FORMAT}}, None, id="a flat schema"),
        pytest.param("text", {"format": {"type": "xml"}}, "text.format.type must be", id="an odd format"),
        pytest.param(
            "text", {"format": {"type": "json_schema"}}, "Missing required parameter: 'text.format.n", id="none"
        ),
        pytest.param("text", 5, "field 'text' expects", id="a number for a format"),
        pytest.param("reasoning", {"effort": "low"}, None, id="low effort"),
        pytest.param("reasoning", {"effort": "high", "encrypted_content": "x"}, None, id="encrypted reasoning"),
        pytest.param("reasoning", {"effort": "utmost"}, "reasoning.effort must be one of", id="an odd effort"),
        pytest.param("reasoning", {"encrypted_content": 5}, "field 'reasoning.encrypted_content'", id="a number"),
        pytest.param("max_output_tokensx", 5, "Unknown parameter: 'max_output_tokensx'.", id="an unknown member"),
        pytest.param("response_format", {}, "Unknown parameter: 'response_format'.", id="a member of chats"),
        pytest.param("text", {"fromat": {}}, "Unknown parameter: 'text.fromat'.", id="a format misspelt"),
        pytest.param(
            "reasoning", {"max_tokens": 5}, "Unknown parameter: 'reasoning.max_tokens'.", id="tokens of thought"
        ),
        pytest.param("stream_options", {"usage": True}, "Unknown parameter: 'stream_options.usage'.", id="odd options"),
        pytest.param("prompt_cache_options", {}, None, id="a member that OpenAI has"),
        pytest.param("usage_context", {"team": "x"}, None, id="a member of every Databricks request"),
        pytest.param("tool_choice", "auto", None, id="auto without tools"),
        pytest.param("tool_choice", "required", "only allowed when tools", id="required without tools"),
        pytest.param("tool_choice", "any", "must be", id="an odd choice"),
        pytest.param("tools", [NESTED], None, id="a nested tool"),
        pytest.param("tools", [FLAT], None, id="a flat tool"),
        pytest.param("tools", [FLAT, NESTED], "tool names must be unique", id="a name twice"),
        pytest.param("tools", [{"type": "function"}], '"name" is a required property', id="a tool without a name"),
        pytest.param("tools", [{"type": "code_interpreter"}], "is not supported", id="code interpreter"),
        pytest.param("tools", [{"type": "web_search"}], None, id="web search, left aside"),
        pytest.param("tools", [{"type": "mcp", "server_label": "x"}], None, id="a built-in tool, left aside"),
        pytest.param("tools", [{"type": "telepathy"}], "is not supported", id="an odd tool"),
        pytest.param("tools", [{}], "is not supported", id="a tool without a type"),
        pytest.param("tools", [{**FLAT, "parameters": 5}], "field 'tools.function.parameters'", id="odd parameters"),
        pytest.param("parallel_tool_calls", False, None, id="no parallel calls"),
        pytest.param("parallel_tool_calls", "no", "field 'parallel_tool_calls'", id="parallel calls as text"),
        pytest.param("max_tool_calls", 1, None, id="one built-in call"),
        pytest.param("max_tool_calls", 0, "max_tool_calls must be greater than 0", id="no built-in call"),
        pytest.param("metadata", {"a": "b"}, None, id="metadata"),
        pytest.param("metadata", {str(i): "x" for i in range(16)}, None, id="16 pairs"),
        pytest.param("metadata", {str(i): "x" for i in range(17)}, "at most 16 key-value pairs", id="17 pairs"),
        pytest.param("metadata", [], "field 'metadata' expects", id="metadata as a list"),
        pytest.param("prompt_cache_key", "k", None, id="a cache key"),
        pytest.param("prompt_cache_key", 5, "field 'prompt_cache_key'", id="a number for a cache key"),
        pytest.param("prompt_cache_retention", "24h", None, id="a day of cache"),
        pytest.param("prompt_cache_retention", 24, "field 'prompt_cache_retention'", id="a number for a retention"),
        pytest.param("safety_identifier", "s", None, id="a safety identifier"),
        pytest.param("safety_identifier", {}, "field 'safety_identifier'", id="an object for an identifier"),
        pytest.param("user", "u", None, id="who asks"),
        pytest.param("user", 5, "field 'user'", id="a number for a user"),
        pytest.param("truncation", "auto", None, id="truncation"),
        pytest.param("truncation", "most", 'truncation must be "auto" or "disabled"', id="odd truncation"),
        pytest.param("top_logprobs", 20, None, id="20 alternatives"),
        pytest.param("top_logprobs", 21, "between 0 and 20", id="21 alternatives"),
        pytest.param("include", ["reasoning.encrypted_content"], None, id="something more"),
        pytest.param("include", "x", "field 'include' expects", id="a text for a list"),
        pytest.param("prompt", {"id": "p"}, None, id="a prompt template"),
        pytest.param("prompt", "p", "field 'prompt' expects", id="a text for a template"),
        pytest.param("background", True, "Unsupported parameter: 'background'", id="background"),
        pytest.param("store", False, "Unsupported parameter: 'store'", id="store"),
        pytest.param("store", None, None, id="store left open"),
        pytest.param("conversation", "c", "Unsupported parameter: 'conversation'", id="conversation"),
        pytest.param("service_tier", "auto", "Unsupported parameter: 'service_tier'", id="service tier"),
        pytest.param("previous_response_id", "r", "Unsupported parameter: 'previous_response_id'", id="previous"),
        pytest.param("messages", [], "'messages' field is not supported. Please use 'input'", id="messages"),
    ],
)
def test_field(field: str, value: JSON, text: str | None) -> None:
    answer = respond(**{field: value})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.parametrize("tool", [NESTED, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("choice", ["required", NESTED, {"type": "function", "name": "get_weather"}])
def test_forced_call(tool: JSON, choice: JSON) -> None:
    body = respond(tools=[tool], tool_choice=choice).body
    call = body["output"][-1]
    assert (call["type"], call["name"], call["status"]) == ("function_call", "get_weather", "completed")
    assert (call["id"][:3], call["call_id"][:5]) == ("fc_", "call_")
    assert isinstance(json.loads(call["arguments"])["city"], str)
    assert body["tools"] == [tool]


def test_structured_text() -> None:
    body = respond(text={"format": {"type": "json_schema", **FORMAT}}).body
    assert isinstance(json.loads(body["output"][-1]["content"][0]["text"])["city"], str)


@pytest.mark.parametrize(("effort", "most"), [("none", 0), ("low", 24), ("medium", 64), ("high", 160)])
def test_effort_sets_reasoning_tokens(effort: str, most: int) -> None:
    usage = respond(reasoning={"effort": effort}).body["usage"]
    assert usage["output_tokens_details"]["reasoning_tokens"] == most


def test_long_input_is_truncated_only_on_request() -> None:
    small = Deployment(vendor="databricks", name="gpt-small", context=50)
    long: JSON = {"model": "gpt-small", "input": "word " * 100}
    refused = send("/serving-endpoints/responses", long, deployments=(small,))
    cut = send("/serving-endpoints/responses", {**long, "truncation": "auto"}, deployments=(small,))
    assert (refused.status, cut.status) == (400, 200)
    assert cut.body["usage"]["total_tokens"] <= 50


@pytest.mark.covers("databricks/Responses", "another model")
@pytest.mark.parametrize("name", [LLAMA, OSS, "databricks-claude-sonnet-4-5"])
def test_other_models_do_not_support_responses(name: str) -> None:
    assert respond(model=name).message == f"Responses API passthrough is not supported for model {name}"


@pytest.mark.covers("databricks/tasks", "agent, input")
def test_agents_accept_only_responses() -> None:
    answer = respond(path="/serving-endpoints/agent/invocations", stream=True)
    assert answer.events[-2]["type"] == "response.completed"
    refused = send("/serving-endpoints/agent/invocations", {"messages": []}, deployments=(AGENT,))
    assert refused.message == "Invalid request: 'messages' field is not supported. Please use 'input' field instead."
