"""Bodies that break the schema of ``POST /chat/completions``."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.azure.service import chat, messages, refuse

TOOL: JSON = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"a": 1}}}
CALLED: JSON = {"name": "get_weather", "arguments": "{}"}
NAMED: JSON = {"type": "function", "function": {"name": "get_weather"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}}
SCHEMA: JSON = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}


INVALID = [
    pytest.param({}, ["messages"], "Field required", id="messages absent"),
    pytest.param({"messages": None}, ["messages"], "Input should be a valid list", id="messages null"),
    pytest.param({"messages": "Hi"}, ["messages"], "Input should be a valid list", id="messages a string"),
    pytest.param({"messages": []}, ["messages"], "Value error, messages can not be an empty list", id="no message"),
    pytest.param(
        {"messages": ["Hi"]},
        ["messages", "0"],
        "Input should be a valid dictionary or object to extract fields from",
        id="a message that is no object",
    ),
    pytest.param({"messages": [{"content": "Hi"}]}, ["messages", "0", "role"], "Field required", id="no role"),
    pytest.param(
        {"messages": [{"role": "wizard", "content": "Hi"}]},
        ["messages", "0", "role"],
        "Input should be 'system', 'user', 'assistant' or 'tool'",
        id="a role nobody has",
    ),
    pytest.param({"messages": [{"role": "user"}]}, ["messages", "0", "content"], "Field required", id="no content"),
    pytest.param(
        {"messages": [{"role": "user", "content": 5}]},
        ["messages", "0", "content"],
        "Input should be a valid string",
        id="content a number",
    ),
    pytest.param(
        chat(tools=[]), ["tools"], "List should have at least 1 item after validation, not 0", id="no tool in tools"
    ),
    pytest.param(chat(stop=[]), ["stop"], "Input should be a valid string", id="no text in stop"),
    pytest.param(
        messages({"type": "text"}),
        ["messages", "0", "content", "0"],
        "Value error, Content part type is text but text is not provided.",
        id="a part without its payload",
    ),
    pytest.param(
        messages({"type": "image_url", "text": "x"}),
        ["messages", "0", "content", "0"],
        "Value error, Content part type is image_url but image_url is not provided.",
        id="a picture without a URL",
    ),
    pytest.param(
        messages({"type": "film", "content": "x"}),
        ["messages", "0", "content", "0", "type"],
        "Input should be 'text', 'image', 'image_url', 'input_audio' or 'audio_url'",
        id="a part of an unknown type",
    ),
    pytest.param(messages({"content": "x"}), ["messages", "0", "content", "0", "type"], "Field required", id="no type"),
    pytest.param(
        messages({"type": "image", "content": "x", "detail": "huge"}),
        ["messages", "0", "content", "0", "detail"],
        "Input should be 'auto', 'low' or 'high'",
        id="detail of no level",
    ),
    pytest.param(
        messages({"type": "image_url", "image_url": {"url": "u", "detail": "huge"}}),
        ["messages", "0", "content", "0", "image_url", "detail"],
        "Input should be 'auto', 'low' or 'high'",
        id="detail of no level, nested",
    ),
    pytest.param(
        {"messages": [{"role": "assistant", "tool_calls": [{"id": 1, "function": {"name": "f", "arguments": ""}}]}]},
        ["messages", "0", "tool_calls", "0", "id"],
        "Input should be a valid string",
        id="a tool call's id a number",
    ),
    pytest.param(
        {"messages": [{"role": "assistant", "tool_calls": [{"type": "x", "function": CALLED}]}]},
        ["messages", "0", "tool_calls", "0", "type"],
        "Input should be 'function'",
        id="a tool call of another type",
    ),
    pytest.param(
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]},
        ["messages", "0", "tool_calls", "0", "function", "arguments"],
        "Input should be a valid string",
        id="arguments an object",
    ),
    pytest.param(
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": ""}}]}]},
        ["messages", "0", "tool_calls", "0", "function", "name"],
        "Field required",
        id="a call of no name",
    ),
    pytest.param(
        chat(frequency_penalty=2.1),
        ["frequency_penalty"],
        "Input should be less than or equal to 2",
        id="frequency_penalty above 2",
    ),
    pytest.param(
        chat(frequency_penalty="high"),
        ["frequency_penalty"],
        "Input should be a valid number",
        id="frequency_penalty text",
    ),
    pytest.param(
        chat(presence_penalty=-2.1),
        ["presence_penalty"],
        "Input should be greater than or equal to -2",
        id="presence_penalty below -2",
    ),
    pytest.param(
        chat(presence_penalty=[]), ["presence_penalty"], "Input should be a valid number", id="presence_penalty a list"
    ),
    pytest.param(
        chat(max_tokens=-1), ["max_tokens"], "Input should be greater than or equal to 0", id="max_tokens below 0"
    ),
    pytest.param(chat(max_tokens=1.5), ["max_tokens"], "Input should be a valid integer", id="max_tokens a fraction"),
    pytest.param(chat(max_tokens="9"), ["max_tokens"], "Input should be a valid integer", id="max_tokens text"),
    pytest.param(chat(max_tokens=True), ["max_tokens"], "Input should be a valid integer", id="max_tokens true"),
    pytest.param(chat(seed="x"), ["seed"], "Input should be a valid integer", id="seed text"),
    pytest.param(
        chat(seed=2**63), ["seed"], "Input should be less than or equal to 9223372036854775807", id="seed of 65 bits"
    ),
    pytest.param(chat(stop=5), ["stop"], "Input should be a valid string", id="stop a number"),
    pytest.param(chat(stop=["a", 5]), ["stop"], "Input should be a valid string", id="stop with a number"),
    pytest.param(chat(stream="yes"), ["stream"], "Input should be a valid boolean", id="stream text"),
    pytest.param(chat(stream=1), ["stream"], "Input should be a valid boolean", id="stream a number"),
    pytest.param(
        chat(temperature=-0.1), ["temperature"], "Input should be greater than or equal to 0", id="temperature below 0"
    ),
    pytest.param(
        chat(temperature=2.1), ["temperature"], "Input should be less than or equal to 2", id="temperature above 2"
    ),
    pytest.param(chat(temperature="hot"), ["temperature"], "Input should be a valid number", id="temperature text"),
    pytest.param(chat(temperature=True), ["temperature"], "Input should be a valid number", id="temperature true"),
    pytest.param(chat(top_p=1.1), ["top_p"], "Input should be less than or equal to 1", id="top_p above 1"),
    pytest.param(chat(top_p=-0.1), ["top_p"], "Input should be greater than or equal to 0", id="top_p below 0"),
    pytest.param(
        chat(response_format="json_object"),
        ["response_format"],
        "Input should be a valid dictionary or object to extract fields from",
        id="response_format a string",
    ),
    pytest.param(chat(response_format={}), ["response_format", "type"], "Field required", id="response_format empty"),
    pytest.param(
        chat(response_format={"type": "xml"}),
        ["response_format", "type"],
        "Value error, Response format was xml but must be either 'text' or 'json_object'.",
        id="response_format of an unknown type",
    ),
    pytest.param(
        chat(response_format={"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}),
        ["response_format", "json_schema", "name"],
        "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        id="a schema of a wrong name",
    ),
    pytest.param(
        chat(response_format={"type": "json_schema"}),
        ["response_format"],
        "Value error, Response format is json_schema but json_schema is not provided.",
        id="a schema that is not there",
    ),
    pytest.param(chat(tools={}), ["tools"], "Input should be a valid list", id="tools an object"),
    pytest.param(
        chat(tools=[{"type": "search", "function": {"name": "f"}}]),
        ["tools", "0", "type"],
        "Input should be 'function'",
        id="a tool that is no function",
    ),
    pytest.param(chat(tools=[{"type": "function"}]), ["tools", "0", "function"], "Field required", id="no function"),
    pytest.param(
        chat(tools=[{"type": "function", "function": {}}]),
        ["tools", "0", "function", "name"],
        "Field required",
        id="a function without a name",
    ),
    pytest.param(
        chat(tools=[{"type": "function", "function": {"name": "f" * 65}}]),
        ["tools", "0", "function", "name"],
        f"Value error, Function name was {'f' * 65} but must be a-z, A-Z, 0-9, or contain underscores and dashes, "
        "with a maximum length of 64.",
        id="a function's name of 65 characters",
    ),
    pytest.param(
        chat(tools=[{"type": "function", "function": {"name": "f", "description": 1}}]),
        ["tools", "0", "function", "description"],
        "Input should be a valid string",
        id="a description that is a number",
    ),
    pytest.param(
        chat(tools=[{"type": "function", "function": {"name": "f", "parameters": []}}]),
        ["tools", "0", "function", "parameters"],
        "Input should be a valid dictionary",
        id="parameters a list",
    ),
    pytest.param(
        chat(tool_choice="maybe"),
        ["tool_choice"],
        "Input should be 'none', 'auto' or 'required'",
        id="tool_choice of no kind",
    ),
    pytest.param(
        chat(tools=[TOOL], tool_choice={"type": "function"}),
        ["tool_choice", "function"],
        "Field required",
        id="tool_choice of a function without a name",
    ),
    pytest.param(chat(model=5), ["model"], "Input should be a valid string", id="model a number"),
    pytest.param(chat(modalities=["smell"]), ["modalities", "0"], "Input should be 'text' or 'audio'", id="modalities"),
    pytest.param(
        [1], [], "Input should be a valid dictionary or object to extract fields from", id="a body that is a list"
    ),
    pytest.param(
        b"null", [], "Input should be a valid dictionary or object to extract fields from", id="a body that is null"
    ),
]


@pytest.mark.covers("azure/fields of a chat", "messages, none", case="no message")
@pytest.mark.covers("azure/fields of a chat", "a fraction for an integer", case="max_tokens a fraction")
@pytest.mark.covers("azure/messages and parts", "name of a function", case="a function's name of 65 characters")
@pytest.mark.covers("azure/messages and parts", "an unknown type", case="a part of an unknown type")
@pytest.mark.covers("azure/messages and parts", "detail", case="detail of no level, nested")
@pytest.mark.covers("azure/tools and formats", "name of a schema", case="a schema of a wrong name")
@pytest.mark.covers("azure/tools and formats", "an unknown type of format", case="response_format of an unknown type")
@pytest.mark.covers("azure/tools and formats", "a bare string", case="response_format a string")
@pytest.mark.parametrize(("body", "loc", "message"), INVALID)
def test_invalid_body_is_unprocessable(body: JSON, loc: list[str], message: str) -> None:
    refused = refuse(body)
    error = refused.json()
    assert (refused.status, error["status"], error["code"]) == (422, 422, "parameter_not_supported")
    assert (error["detail"]["loc"], error["message"].partition(": ")[2]) == (["body", *loc], message)


@pytest.mark.covers("azure/400 or 422", "1 broken schema")
@pytest.mark.covers("azure/messages and parts", "empty list", case="no message")
@pytest.mark.covers("azure/messages and parts", "a part without payload", case="a part without its payload")
@pytest.mark.covers("azure/errors", "422 B")
@pytest.mark.covers("azure/violations", "missing", case="messages absent")
@pytest.mark.covers("azure/violations", "value_error", case="no message")
@pytest.mark.covers("azure/violations", "model_attributes_type", case="a body that is a list")
@pytest.mark.covers("azure/violations", "float_type, float_parsing", case="frequency_penalty text")
@pytest.mark.covers("azure/violations", "int_type, int_parsing", case="max_tokens text")
@pytest.mark.covers("azure/violations", "int_from_float", case="max_tokens a fraction")
@pytest.mark.covers("azure/violations", "bool_type, bool_parsing", case="stream text")
@pytest.mark.covers("azure/violations", "greater_than_equal", case="presence_penalty below -2")
@pytest.mark.covers("azure/violations", "less_than_equal", case="top_p above 1")
@pytest.mark.covers("azure/violations", "list_type", case="messages a string")
@pytest.mark.covers("azure/violations", "string_type", case="content a number")
@pytest.mark.covers("azure/violations", "enum", case="a role nobody has")
@pytest.mark.covers("azure/violations", "a message that is no object", case="a message that is no object")
@pytest.mark.parametrize(("body", "loc", "message"), INVALID)
def test_serverless_endpoints_list_violations(body: JSON, loc: list[str], message: str) -> None:
    refused = refuse(body, scenario="profile=maas, strict_types=true")
    error = refused.json()["error"]
    assert (refused.status, error["code"], error["status"]) == (422, "Invalid input", 422)
    first = error["details"][0]
    assert [str(part) for part in first["loc"]][: len(loc) + 1] == ["body", *loc]
    assert first["msg"] == message


@pytest.mark.covers("azure/violations", "neither of two types")
@pytest.mark.parametrize(
    ("body", "loc", "branches", "types"),
    [
        pytest.param(
            {"messages": [{"role": "user", "content": 5}]},
            ["messages", 0, "content"],
            ["str", "list[ContentPart]"],
            ["string_type", "list_type"],
            id="content",
        ),
        pytest.param(chat(stop=5), ["stop"], ["str", "list[str]"], ["string_type", "list_type"], id="stop"),
        pytest.param(chat(stop=[]), ["stop"], ["str", "list[str]"], ["string_type", "too_short"], id="empty stop"),
    ],
)
def test_union_mismatch_lists_both_branches(body: JSON, loc: JSON, branches: JSON, types: JSON) -> None:
    details = refuse(body, scenario="profile=maas").json()["error"]["details"]
    assert [detail["loc"] for detail in details] == [["body", *loc, branch] for branch in branches]
    assert [detail["type"] for detail in details] == types
