"""``POST /chat/completions``: what is accepted, what it becomes, what is refused."""

import pytest

from emulator.core.call import ChatAsk, Message, Sampling, Tool, ToolCall
from emulator.core.json import JSON
from tests.vendors.azure.service import CHAT, HELLO, accept, chat, refuse

TOOL: JSON = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"a": 1}}}
CALLED: JSON = {"name": "get_weather", "arguments": "{}"}
NAMED: JSON = {"type": "function", "function": {"name": "get_weather"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}}
SCHEMA: JSON = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}


def ask_of(body: JSON, scenario: str = "") -> ChatAsk:
    ask = accept(body, scenario=scenario).ask
    assert isinstance(ask, ChatAsk)
    return ask


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, Sampling(max_tokens=4096), id="nothing given: as much as the model writes"),
        pytest.param({"max_tokens": 7}, Sampling(max_tokens=7), id="max_tokens limits the answer"),
        pytest.param({"max_tokens": 0}, Sampling(max_tokens=0), id="max_tokens may be zero"),
        pytest.param({"max_tokens": None}, Sampling(max_tokens=4096), id="max_tokens null is no limit"),
        pytest.param({"max_tokens": 8.0}, Sampling(max_tokens=8), id="a number without fraction is an integer"),
        pytest.param({"max_tokens": 10**9}, Sampling(max_tokens=4096), id="max_tokens ends where the model does"),
        pytest.param({"temperature": 0}, Sampling(max_tokens=4096, greedy=True), id="temperature 0 is greedy"),
        pytest.param({"temperature": 1}, Sampling(max_tokens=4096), id="temperature 1 is the default"),
        pytest.param(
            {"temperature": 2}, Sampling(max_tokens=4096, knobs=(("temperature", 2.0),)), id="temperature up to 2"
        ),
        pytest.param({"top_p": 1}, Sampling(max_tokens=4096), id="top_p 1 is the default"),
        pytest.param({"top_p": 0.1}, Sampling(max_tokens=4096, knobs=(("top_p", 0.1),)), id="top_p"),
        pytest.param(
            {"frequency_penalty": -2},
            Sampling(max_tokens=4096, knobs=(("frequency_penalty", -2.0),)),
            id="frequency_penalty down to -2",
        ),
        pytest.param({"frequency_penalty": 0}, Sampling(max_tokens=4096), id="frequency_penalty 0 is the default"),
        pytest.param(
            {"presence_penalty": 2},
            Sampling(max_tokens=4096, knobs=(("presence_penalty", 2.0),)),
            id="presence_penalty up to 2",
        ),
        pytest.param({"presence_penalty": 0}, Sampling(max_tokens=4096), id="presence_penalty 0 is the default"),
        pytest.param({"seed": 42}, Sampling(max_tokens=4096, seed=42), id="seed"),
        pytest.param({"seed": -(2**63)}, Sampling(max_tokens=4096, seed=-(2**63)), id="seed of 64 bits"),
        pytest.param({"stop": "END"}, Sampling(max_tokens=4096, stop=("END",)), id="stop as a string"),
        pytest.param({"stop": ["a", "b"]}, Sampling(max_tokens=4096, stop=("a", "b")), id="stop as a list"),
        pytest.param({"stop": None}, Sampling(max_tokens=4096), id="stop null"),
    ],
)
def test_sampling(fields: JSON, expected: Sampling) -> None:
    assert ask_of(chat(**fields)).sampling == expected


@pytest.mark.parametrize(
    ("given", "stream"),
    [
        pytest.param({}, False, id="absent"),
        pytest.param({"stream": None}, False, id="null"),
        pytest.param({"stream": False}, False, id="false"),
        pytest.param({"stream": True}, True, id="true"),
    ],
)
def test_stream(given: JSON, stream: bool) -> None:
    assert accept(chat(**given)).stream is stream


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"role": "user", "content": "Hi"}, Message(role="user", text="Hi"), id="user"),
        pytest.param({"role": "system", "content": "Hi"}, Message(role="system", text="Hi"), id="system"),
        pytest.param({"role": "developer", "content": "Hi"}, Message(role="developer", text="Hi"), id="developer"),
        pytest.param({"role": "assistant", "content": "Hi"}, Message(role="assistant", text="Hi"), id="assistant"),
        pytest.param({"role": "assistant"}, Message(role="assistant"), id="assistant without content"),
        pytest.param({"role": "tool", "content": "Hi"}, Message(role="tool", text="Hi"), id="tool without an id"),
        pytest.param(
            {"role": "tool", "content": "Hi", "tool_call_id": "c", "name": None},
            Message(role="tool", text="Hi", tool_call_id="c"),
            id="tool with an id",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "content": "Hi"}, {"type": "text", "text": "you"}]},
            Message(role="user", text="Hi\nyou"),
            id="text parts, payload under content or text",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "image_url", "content": "https://e.org/a.png", "detail": "high"}]},
            Message(role="user", media=1),
            id="a picture by URL under content",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "image", "content": "aGk=", "detail": "auto"}]},
            Message(role="user", media=1),
            id="a picture as base64 under content",
        ),
        pytest.param(
            {"role": "user", "content": [PICTURE, {"type": "image", "image": {"data": "aGk="}}]},
            Message(role="user", media=2),
            id="pictures under their types",
        ),
        pytest.param(
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": NAMED["function"] | {"arguments": "{}"}}],
            },
            Message(role="assistant", tool_calls=(ToolCall("c", "get_weather", "{}"),)),
            id="tool calls",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"ID": "c", "function": {"name": "f", "arguments": ""}}],
            },
            Message(role="assistant", tool_calls=(ToolCall("c", "f", ""),)),
            id="a tool call's id spelled ID",
        ),
        pytest.param(
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            Message(role="assistant", tool_calls=(ToolCall("call_f_0", "f", "{}"),)),
            id="a tool call without an id",
        ),
    ],
)
def test_message(message: JSON, expected: Message) -> None:
    assert ask_of({"messages": [message]}).messages == (expected,)


def test_tools() -> None:
    ask = ask_of(chat(tools=[TOOL, {"type": "function", "function": {"name": "f"}}]))
    assert ask.tools == (Tool(name="get_weather", description="d", parameters={"a": 1}), Tool(name="f"))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, ("none", None), id="no tools: none"),
        pytest.param({"tools": [TOOL]}, ("auto", None), id="tools: auto"),
        pytest.param({"tools": [TOOL], "tool_choice": "none"}, ("none", None), id="none"),
        pytest.param({"tools": [TOOL], "tool_choice": "auto"}, ("auto", None), id="auto"),
        pytest.param({"tools": [TOOL], "tool_choice": "required"}, ("required", None), id="required"),
        pytest.param({"tools": [TOOL], "tool_choice": NAMED}, ("required", "get_weather"), id="one by name"),
    ],
)
def test_tool_choice(fields: JSON, expected: object) -> None:
    ask = ask_of(chat(**fields))
    assert (ask.tool_choice, ask.tool_name) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, ("text", None), id="null"),
        pytest.param({"type": "text"}, ("text", None), id="text"),
        pytest.param({"type": "json_object"}, ("json_object", None), id="any object"),
        pytest.param(SCHEMA, ("json_schema", {"type": "object"}), id="a schema"),
    ],
)
def test_response_format(value: JSON, expected: object) -> None:
    ask = ask_of(chat(response_format=value))
    assert (ask.format, ask.schema) == expected


def messages(*content: JSON) -> JSON:
    return {"messages": [{"role": "user", "content": list(content)}]}


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


@pytest.mark.parametrize(("body", "loc", "message"), INVALID)
def test_a_broken_schema_is_unprocessable(body: JSON, loc: list[str], message: str) -> None:
    refused = refuse(body)
    error = refused.json()
    assert (refused.status, error["status"], error["code"]) == (422, 422, "parameter_not_supported")
    assert (error["detail"]["loc"], error["message"].partition(": ")[2]) == (["body", *loc], message)


@pytest.mark.parametrize(("body", "loc", "message"), INVALID)
def test_serverless_endpoints_list_the_violations(body: JSON, loc: list[str], message: str) -> None:
    refused = refuse(body, scenario="profile=maas, strict_types=true")
    error = refused.json()["error"]
    assert (refused.status, error["code"], error["status"]) == (422, "Invalid input", 422)
    first = error["details"][0]
    assert [str(part) for part in first["loc"]][: len(loc) + 1] == ["body", *loc]
    assert first["msg"] == message


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
def test_what_is_neither_of_two_types_breaks_both(body: JSON, loc: JSON, branches: JSON, types: JSON) -> None:
    details = refuse(body, scenario="profile=maas").json()["error"]["details"]
    assert [detail["loc"] for detail in details] == [["body", *loc, branch] for branch in branches]
    assert [detail["type"] for detail in details] == types


def test_stop_texts_of_nothing_stop_nothing() -> None:
    assert ask_of(chat(stop=["", "x"])).sampling.stop == ("x",)


@pytest.mark.parametrize(
    ("fields", "loc", "value"),
    [
        pytest.param({"response_format": {"type": "json_object"}}, "response_format", "json_object", id="JSON mode"),
        pytest.param({"response_format": SCHEMA}, "response_format", "json_schema", id="a schema"),
        pytest.param({"tools": [TOOL]}, "tools", [TOOL], id="tools"),
        pytest.param({"tool_choice": "required"}, "tool_choice", "required", id="a required tool where none is"),
        pytest.param({"tool_choice": NAMED}, "tool_choice", NAMED, id="a named tool where none is"),
        pytest.param({"modalities": ["text", "audio"]}, "modalities", ["text", "audio"], id="an answer in sound"),
        pytest.param(messages(PICTURE), "messages", "image_url", id="a picture"),
        pytest.param(
            messages({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}),
            "messages",
            "input_audio",
            id="a sound",
        ),
    ],
)
def test_what_a_model_lacks_is_unprocessable(fields: JSON, loc: str, value: JSON) -> None:
    from emulator.core.json import dump_text

    refused = refuse(chat(model="llama2-70b-chat", **fields) | fields)
    assert refused.status == 422
    assert refused.headers["x-ms-error-code"] == "parameter_not_supported"
    detail = {"loc": ["body", loc], "value": value if isinstance(value, str) else dump_text(value), "input": value}
    assert refused.json() == {
        "status": 422,
        "code": "parameter_not_supported",
        "error": "Unprocessable Entity",
        "message": "One of the parameters contain invalid values.",
        "detail": detail,
    }


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty"])
def test_a_model_without_penalties_refuses_them(name: str) -> None:
    scenario = "deployments:\n  - {vendor: azure, name: plain, traits: {penalties: false}}\n"
    assert refuse(chat(model="plain", **{name: 0.5}), scenario=scenario).json()["detail"]["loc"] == ["body", name]
    assert accept(chat(model="plain", **{name: 0}), scenario=scenario)


def test_a_named_tool_must_be_on_offer() -> None:
    other = {"type": "function", "function": {"name": "other"}}
    assert refuse(chat(tools=[TOOL], tool_choice=other)).json()["detail"]["loc"] == ["body", "tool_choice"]


@pytest.mark.parametrize(
    ("scenario", "body", "loc"),
    [
        pytest.param("strict_range=true", chat(temperature=1.1), "temperature", id="a narrow range"),
        pytest.param(
            "strict_tool_choice=true", chat(tools=[TOOL], tool_choice=NAMED), "tool_choice", id="a string only"
        ),
        pytest.param(
            "require_tool_call_id=true",
            {"messages": [*HELLO["messages"], {"role": "tool", "content": "x"}]},
            "messages",
            id="tool_call_id required",
        ),
    ],
)
def test_strict_switches(scenario: str, body: JSON, loc: str) -> None:
    assert accept(body)
    assert refuse(body, scenario=scenario).json()["detail"]["loc"][1] == loc


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("temperature", "0.5", id="a number in a string"),
        pytest.param("max_tokens", "5", id="an integer in a string"),
        pytest.param("stream", "true", id="a boolean in a string"),
        pytest.param("stream", 1, id="one for true"),
    ],
)
def test_containers_read_numbers_in_strings(field: str, value: JSON) -> None:
    assert accept(chat(**{field: value}), scenario="profile=maas")
    assert refuse(chat(**{field: value})).status == 422


def test_a_reasoning_model_thinks() -> None:
    assert ask_of(chat(model="DeepSeek-R1")).reasoning == "medium"
    assert ask_of(chat()).reasoning is None


def test_the_context_limits_the_answer() -> None:
    scenario = "deployments:\n  - {vendor: azure, name: tiny, context: 50}\n"
    call = accept(chat(model="tiny", max_tokens=100), scenario=scenario)
    assert isinstance(call.ask, ChatAsk)
    assert call.ask.sampling.max_tokens == 50 - call.prompt_tokens[0]


@pytest.mark.parametrize(
    ("scenario", "status", "code"),
    [
        pytest.param("", 400, "context_length_exceeded", id="seed"),
        pytest.param("vendors: {azure: {profile: foundry}}\n", 413, "tokens_limit_reached", id="foundry"),
        pytest.param("vendors: {azure: {profile: aoai}}\n", 400, "context_length_exceeded", id="aoai"),
        pytest.param("vendors: {azure: {profile: maas}}\n", 400, "Bad Request", id="maas"),
    ],
)
def test_a_prompt_beyond_the_context_is_refused(scenario: str, status: int, code: str) -> None:
    scenario += "deployments:\n  - {vendor: azure, name: tiny, context: 50}\n"
    body = {"model": "tiny", "messages": [{"role": "user", "content": "word " * 100}]}
    refused = refuse(body, scenario=scenario)
    error = refused.json()
    assert (refused.status, error.get("code") or error["error"]["code"]) == (status, code)


def test_managed_endpoints_have_a_default_length() -> None:
    call = accept(HELLO, CHAT, "profile=managed")
    assert isinstance(call.ask, ChatAsk)
    assert call.ask.sampling.max_tokens == 256
