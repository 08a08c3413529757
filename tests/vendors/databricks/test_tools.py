"""Tools, the choice among them, and structured outputs."""

import json

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import CLAUDE, GPT, LLAMA, OSS, chat

SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: JSON = {"name": "get_weather", "description": "Weather of a city", "parameters": SCHEMA}
TOOL: JSON = {"type": "function", "function": FUNCTION}
OTHER: JSON = {"type": "function", "function": {"name": "get_time", "description": "Time"}}


def named(name: str) -> JSON:
    return {"type": "function", "function": {"name": name}}


def wide(keys: int) -> JSON:
    schema = {"type": "object", "properties": {f"k{i}": {"type": "string"} for i in range(keys)}}
    return [{"type": "function", "function": {**FUNCTION, "parameters": schema}}]


def with_function(**fields: JSON) -> JSON:
    return [{"type": "function", "function": {**FUNCTION, **fields}}]


def many(count: int) -> JSON:
    return [{"type": "function", "function": {**FUNCTION, "name": f"f{i}"}} for i in range(count)]


@pytest.mark.covers("databricks/validation", "32 tools", case="one too many")
@pytest.mark.covers("databricks/validation", "type of a tool", case="type")
@pytest.mark.covers("databricks/validation", "names are unique", case="a name twice")
@pytest.mark.covers("databricks/validation", "15 properties", case="a property too many")
@pytest.mark.covers("databricks/validation", "name of a function", case="no name")
@pytest.mark.covers("databricks/limits", "tools", case="one too many")
@pytest.mark.parametrize(
    ("tools", "text"),
    [
        pytest.param([TOOL], None, id="one function"),
        pytest.param([OTHER], None, id="a function without parameters"),
        pytest.param(many(32), None, id="as many as are supported"),
        pytest.param(many(33), "at most 32 tools", id="one too many"),
        pytest.param(wide(15), None, id="as many properties as are supported"),
        pytest.param(wide(16), "has 16 properties, but at most 15", id="a property too many"),
        pytest.param([TOOL, TOOL], "tool names must be unique", id="a name twice"),
        pytest.param(
            [{"type": "retrieval", "function": FUNCTION}], 'only supported tool type is "function"', id="type"
        ),
        pytest.param([{"function": FUNCTION}], 'tool type is "function"', id="no type"),
        pytest.param([{"type": "function"}], '"function" is a required property', id="no function"),
        pytest.param(with_function(name=""), '"name" is a required property for "function" object', id="no name"),
        pytest.param(with_function(name=5), "field 'tools.function.name' expects", id="a number for a name"),
        pytest.param(with_function(description=None), None, id="no description"),
        pytest.param(
            with_function(description={}), "field 'tools.function.description'", id="a description of an object"
        ),
        pytest.param(
            with_function(parameters=[]), "field 'tools.function.parameters' expects", id="parameters as a list"
        ),
        pytest.param(with_function(parameters={"properties": []}), "not a JSON schema", id="properties as a list"),
        pytest.param(with_function(parameters={}), None, id="an empty schema"),
        pytest.param(with_function(strict=True), None, id="strict"),
        pytest.param(with_function(strict="yes"), "field 'tools.function.strict'", id="strict as text"),
        pytest.param([{**TOOL, "name": "x"}], 'unknown field "name"\n', id="a name on the envelope"),
        pytest.param([{**TOOL, "cache_control": {}}], 'unknown field "cache_control"\n', id="cache control"),
        pytest.param([None], 'tool type is "function"', id="null for a tool"),
        pytest.param({}, "field 'tools' expects input with json type 'array'", id="tools as an object"),
    ],
)
def test_tools(tools: JSON, text: str | None) -> None:
    answer = chat(tools=tools)
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/validation", "tool_choice of nothing", case="a function that is not")
@pytest.mark.parametrize(
    ("choice", "text"),
    [
        pytest.param("auto", None, id="auto"),
        pytest.param("none", None, id="none"),
        pytest.param("required", None, id="required"),
        pytest.param(named("get_weather"), None, id="a function on offer"),
        pytest.param(named("nope"), "which is not in tools", id="a function that is not"),
        pytest.param("any", "must be", id="an unknown word"),
        pytest.param({"type": "retrieval"}, "tool_choice type", id="an unknown type"),
        pytest.param({"type": "function", "function": {}}, 'needs the "name"', id="no name"),
        pytest.param(5, "field 'tool_choice' expects", id="a number"),
    ],
)
def test_tool_choice(choice: JSON, text: str | None) -> None:
    answer = chat(tools=[TOOL, OTHER], tool_choice=choice)
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/validation", "tool_choice without tools")
@pytest.mark.parametrize("choice", ["auto", "required", named("get_weather")], ids=["auto", "required", "named"])
def test_choice_without_tools_is_rejected(choice: JSON) -> None:
    assert "only allowed when tools are specified" in chat(tool_choice=choice).message


@pytest.mark.covers("databricks/validation", "required calls")
@pytest.mark.covers("databricks/traps", "20 arguments are texts")
@pytest.mark.parametrize("name", [LLAMA, CLAUDE, GPT, OSS])
@pytest.mark.parametrize("choice", ["required", named("get_weather")], ids=["required", "named"])
def test_forced_call_has_valid_arguments(name: str, choice: JSON) -> None:
    choices = chat(name, tools=[TOOL], tool_choice=choice).body["choices"][0]
    assert choices["finish_reason"] == "tool_calls"
    (call,) = choices["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "get_weather")
    assert call["id"].startswith("call_")
    assert isinstance(json.loads(call["function"]["arguments"])["city"], str)


@pytest.mark.covers("databricks/validation", "none calls nothing")
def test_tool_choice_none_makes_no_call() -> None:
    answer = chat(tools=[TOOL], tool_choice="none").body["choices"][0]
    assert answer["finish_reason"] == "stop"
    assert "tool_calls" not in answer["message"]


@pytest.mark.covers("databricks/chat stream", "a tool call")
@pytest.mark.covers("databricks/traps", "21 the first delta")
def test_tool_call_streams_name_then_argument_fragments() -> None:
    answer = chat(CLAUDE, tools=[TOOL], tool_choice="required", stream=True)
    deltas = [c["choices"][0]["delta"] for c in answer.events[:-1]]
    opening = deltas[0]["tool_calls"][0]
    assert deltas[0]["role"] == "assistant"
    assert (opening["index"], opening["type"], opening["function"]["arguments"]) == (0, "function", "")
    text = "".join(d["tool_calls"][0]["function"]["arguments"] for d in deltas[1:-1])
    assert set(json.loads(text)) == {"city"}
    assert deltas[-1] == {}
    assert answer.events[-2]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.covers("databricks/validation", "one call per answer")
def test_parallel_calls_are_off_unless_enabled() -> None:
    tools = [TOOL, OTHER]
    body: JSON = {
        "messages": [{"role": "user", "content": "get_weather and get_time in Paris and in Rome"}],
        "tools": tools,
    }
    call = chat(GPT, **body).call
    assert call is not None
    assert call.request.task == "chat"
    assert not call.request.parallel
    several = chat(GPT, {"parallel_tool_calls": True}, **body).call
    assert several is not None
    assert several.request.task == "chat"
    assert several.request.parallel
    single = chat(GPT, {"parallel_tool_calls": True}, **body, parallel_tool_calls=False).call
    assert single is not None
    assert single.request.task == "chat"
    assert not single.request.parallel


FORMAT: JSON = {"name": "city", "schema": SCHEMA}


def wanted(**fields: JSON) -> JSON:
    return {"type": "json_schema", "json_schema": {**FORMAT, **fields}}


@pytest.mark.covers("databricks/validation", "response_format")
@pytest.mark.covers("databricks/validation", "64 keys", case="65 keys")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"type": "text"}, None, id="text"),
        pytest.param({"type": "json_object"}, None, id="a JSON object"),
        pytest.param(wanted(), None, id="a schema"),
        pytest.param(wanted(description="A city", strict=True), None, id="a described and strict schema"),
        pytest.param({}, "response_format.type must be", id="no type"),
        pytest.param({"type": "xml"}, "response_format.type must be", id="an unknown type"),
        pytest.param(
            {"type": "json_schema"}, "Missing required parameter: 'response_format.json_schema'.", id="no schema"
        ),
        pytest.param(
            {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
            "Missing required parameter: 'response_format.json_schema.name'.",
            id="a schema without a name",
        ),
        pytest.param(
            {"type": "json_schema", "json_schema": {"name": "x"}},
            "Missing required parameter: 'response_format.json_schema.schema'.",
            id="a name without a schema",
        ),
        pytest.param(wanted(schema=[]), "field 'response_format.json_schema.schema'", id="a schema as a list"),
        pytest.param(wanted(strict=1), "field 'response_format.json_schema.strict'", id="strict as a number"),
        pytest.param(wanted(bogus=1), 'unknown field "bogus"\n', id="an unknown field"),
        pytest.param(wanted(schema=wide(64)[0]["function"]["parameters"]), None, id="64 keys"),
        pytest.param(wanted(schema=wide(65)[0]["function"]["parameters"]), "65 keys, but at most 64", id="65 keys"),
    ],
)
def test_response_format(value: JSON, text: str | None) -> None:
    answer = chat(response_format=value)
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/validation", "keywords of a schema")
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        pytest.param({"type": "number", "minimum": 1}, "number types do not support minimum\n", id="a least number"),
        pytest.param({"type": "integer", "multipleOf": 2}, "integer types do not support multipleOf\n", id="multiples"),
        pytest.param({"type": "array", "minItems": 1}, "array types do not support minItems\n", id="a least length"),
        pytest.param({"type": "string", "pattern": "a"}, 'the "pattern" keyword is not supported\n', id="a pattern"),
        pytest.param({"anyOf": []}, 'the "anyOf" keyword is not supported\n', id="alternatives"),
        pytest.param({"$ref": "#"}, 'the "$ref" keyword is not supported\n', id="a reference"),
        pytest.param({"type": ["string", "number"]}, "type lists other than", id="a list of types"),
        pytest.param({"type": ["string", "null"]}, None, id="a type or null"),
        pytest.param({"type": "string", "maxLength": 5}, None, id="a length, which is not enforced"),
        pytest.param(
            {"type": "object", "additionalProperties": True},
            'Invalid JSON schema - the "additionalProperties" keyword must be False or not specified\n',
            id="additional properties",
        ),
        pytest.param({"type": "object", "additionalProperties": False}, None, id="no additional properties"),
    ],
)
def test_strict_schema_keywords_are_limited(schema: JSON, text: str | None) -> None:
    outer = {"type": "object", "properties": {"x": schema}}
    answer = chat(response_format=wanted(schema=outer, strict=True))
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message
    assert chat(tools=with_function(parameters=outer, strict=True)).status == answer.status


def test_structured_response_matches_schema() -> None:
    content = chat(response_format=wanted()).body["choices"][0]["message"]["content"]
    assert isinstance(json.loads(content)["city"], str)
    anything = chat(response_format={"type": "json_object"}).body["choices"][0]["message"]["content"]
    assert isinstance(json.loads(anything), dict)


@pytest.mark.covers("databricks/validation", "strict on a tool of Claude")
@pytest.mark.parametrize(
    ("name", "fields", "text"),
    [
        pytest.param(
            CLAUDE, {"response_format": {"type": "json_object"}}, 'only response_format of type "json_schema"', id="A"
        ),
        pytest.param(CLAUDE, {"response_format": wanted(), "tools": [TOOL]}, "cannot be used with tools", id="B"),
        pytest.param(CLAUDE, {"response_format": wanted(), "stream": True}, "cannot be used with stream", id="C"),
        pytest.param(CLAUDE, {"response_format": wanted()}, None, id="a schema suits Claude"),
        pytest.param(
            GPT, {"response_format": {"type": "json_object"}}, "must contain the word 'json'", id="GPT's word"
        ),
        pytest.param(
            GPT, {"response_format": wanted(strict=True)}, "Invalid schema for response_format", id="GPT strict"
        ),
        pytest.param(
            GPT,
            {"response_format": wanted(strict=True, schema={**SCHEMA, "additionalProperties": False})},
            None,
            id="closed",
        ),
        pytest.param(CLAUDE, {"tools": with_function(strict=True)}, "tools.0.custom.strict: Extra inputs", id="D"),
        pytest.param(OSS, {"tools": with_function(strict=True)}, None, id="gpt-oss takes strict tools"),
    ],
)
def test_family_specific_rules(name: str, fields: JSON, text: str | None) -> None:
    answer = chat(name, **fields)
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/validation", "GPT strict")
def test_strict_schema_errors_of_gpt_name_schema() -> None:
    open_schema: JSON = {"type": "object", "properties": {"a": {"type": "string"}}}
    reason = "In context=(), 'additionalProperties' is required to be supplied and to be false."
    tool = {"type": "function", "function": {"name": "look", "strict": True, "parameters": open_schema}}
    assert chat(GPT, tools=[tool]).message == f"Invalid schema for function 'look': {reason}"
    closed: JSON = {**open_schema, "additionalProperties": False}
    some = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": closed}}
    missing = "'required' is required to be supplied and to be an array including every key in properties. Missing 'a'."
    said = f"Invalid schema for response_format 'city': In context=(), {missing}"
    assert chat(GPT, response_format=some).message == said
    wanted = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": open_schema}}
    assert chat(GPT, response_format=wanted).message == f"Invalid schema for response_format 'city': {reason}"
