"""Tools, tool choice, response format and template options, release by release."""

import pytest

from emulator.core.requests import ChatRequest
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, LATEST, Refusal, Server, failure, make_server

OK = None
_TWO_WORDS = "tool_choice should be either 'none' or 'auto'"
_CHOICE = f"{_TWO_WORDS} or 'required'"
_NO_FUNCTION = "tool_choice.function is not a valid JSON object"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
FORECAST = {"type": "function", "function": {"name": "forecast", "parameters": PARAMETERS}}
NEWS = {"type": "function", "function": {"name": "news"}}
FLAT = {"type": "function", "name": "flat", "parameters": PARAMETERS}
_TYPE = "Tool type is missing or invalid"
_FUNCTION = "Function is not a valid JSON object"
_NAME = "Function object does not contain a valid name field"


def ask_of(server: Server, **fields: JSON) -> ChatRequest:
    ask = server.call({**BASE, **fields}).request
    assert isinstance(ask, ChatRequest)
    return ask


def check(server: Server, fields: JSON, reason: str | None) -> None:
    expected = None if reason is None else Refusal(400, failure(reason))
    assert server.refusal({**BASE, **fields}) == expected


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        pytest.param([FORECAST, NEWS], OK, id="two tools"),
        pytest.param([], OK, id="no tools"),
        pytest.param([FLAT], OK, id="a flat tool"),
        pytest.param(None, OK, id="null"),
        pytest.param("x", "Tools are not an array", id="a string"),
        pytest.param(["x"], "Tool is not a JSON object", id="a string inside"),
        pytest.param([{"function": {"name": "f"}}], OK, id="a nested tool without type"),
        pytest.param([{"type": "x", "function": {"name": "f"}}], OK, id="a nested tool of another type"),
        pytest.param([{"name": "f"}], _TYPE, id="a flat tool without type"),
        pytest.param([{"type": 1, "name": "f"}], _TYPE, id="a flat tool with a number as type"),
        pytest.param([{"type": "x", "name": "f"}], "Only function tools are supported", id="a flat tool of other type"),
        pytest.param([{"type": "function", "function": 1}], _FUNCTION, id="a number as function"),
        pytest.param([{"type": "function", "function": {}}], _NAME, id="no name"),
        pytest.param([{"type": "function", "name": 1}], _NAME, id="a number as flat name"),
        pytest.param(
            [{"type": "function", "function": {"name": "f", "parameters": 1}}],
            "Function parameters are not a valid JSON object",
            id="a number as parameters",
        ),
    ],
)
def test_tools(tools: JSON, reason: str | None) -> None:
    check(LATEST, {"tools": tools}, reason)


_NAMED = {"type": "function", "function": {"name": "forecast"}}
_ARRAY = "Tools are not an array"
_OBJECT = "Tool is not a JSON object"
_NUMBER = {"type": "function", "function": {"name": "forecast", "parameters": 1}}
_OTHER = {"type": "function", "function": {"name": "other", "parameters": 1}}
_PARAMETERS = "Function parameters are not a valid JSON object"


@pytest.mark.covers("openvino/fields of 2026.3", "tools")
@pytest.mark.covers("openvino/releases", "tools")
@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        pytest.param({"tools": "x"}, (OK, OK, _ARRAY, _ARRAY), id="a string"),
        pytest.param({"tools": ["x"]}, (OK, OK, _OBJECT, _OBJECT), id="a string inside"),
        pytest.param({"tools": ["x"], "tool_choice": _NAMED}, (OK, _OBJECT, _OBJECT, _OBJECT), id="with a choice"),
        pytest.param({"tools": [FLAT]}, (OK, OK, _FUNCTION, OK), id="a flat tool"),
        pytest.param({"tools": [{"function": {"name": "f"}}]}, (OK, OK, OK, OK), id="no type"),
        pytest.param({"tools": [_NUMBER]}, (OK, OK, OK, _PARAMETERS), id="a number as parameters"),
        pytest.param({"tools": [_OTHER], "tool_choice": _NAMED}, (OK, OK, OK, OK), id="those of a tool that goes"),
        pytest.param({"tools": [FORECAST], "tool_choice": "required"}, (OK, _TWO_WORDS, OK, OK), id="required"),
        pytest.param({"tool_choice": "x"}, (OK, _TWO_WORDS, _CHOICE, _CHOICE), id="another word"),
        pytest.param(
            {"tools": [FORECAST], "tool_choice": {"type": "function", "name": "forecast"}},
            (OK, _NO_FUNCTION, _NO_FUNCTION, OK),
            id="a flat choice",
        ),
        pytest.param(
            {"tools": [FORECAST], "tool_choice": {"name": "forecast"}},
            (OK, _NO_FUNCTION, _NO_FUNCTION, _NO_FUNCTION),
            id="a flat choice without type",
        ),
    ],
)
def test_tools_by_release(fields: JSON, reasons: tuple[str | None, ...]) -> None:
    """``reasons``: up to 2025.1, of 2025.2, of 2025.3 to 2026.1, and since 2026.2."""
    rows = (("2024.2", "2025.0", "2025.1"), ("2025.2",), ("2025.3", "2025.4", "2026.0", "2026.1"), ("2026.2", "2026.3"))
    for releases, reason in zip(rows, reasons, strict=True):
        for release in releases:
            check(make_server(release), fields, reason)


@pytest.mark.covers("openvino/fields of 2026.3", "tool_choice")
@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        pytest.param("auto", OK, id="auto"),
        pytest.param("required", OK, id="required"),
        pytest.param("none", OK, id="none"),
        pytest.param(None, OK, id="null"),
        pytest.param("forecast", _CHOICE, id="a plain name"),
        pytest.param(1, "tool_choice is not a valid JSON object or string", id="a number"),
        pytest.param({"function": {"name": 1}}, "tool_choice.function.name is not a valid string", id="a number name"),
        pytest.param({"type": "function"}, "tool_choice.name is not a valid string", id="neither function nor name"),
        pytest.param({"type": "x", "name": "f"}, _NO_FUNCTION, id="a flat choice of another type"),
        pytest.param({"type": "function", "name": 1}, "tool_choice.name is not a valid string", id="a flat number"),
    ],
)
def test_tool_choice(choice: JSON, reason: str | None) -> None:
    check(LATEST, {"tools": [FORECAST], "tool_choice": choice}, reason)


@pytest.mark.parametrize(
    ("choice", "tools", "kept", "meaning"),
    [
        pytest.param(None, [FORECAST, NEWS], ("forecast", "news"), ("auto", None), id="absent is auto"),
        pytest.param("auto", [FORECAST], ("forecast",), ("auto", None), id="auto"),
        pytest.param("required", [FORECAST], ("forecast",), ("required", None), id="required"),
        pytest.param("none", [FORECAST], (), ("none", None), id="none drops them"),
        pytest.param("none", "not even an array", (), ("none", None), id="none drops them unread"),
        pytest.param(
            {"type": "function", "function": {"name": "news"}},
            [FORECAST, NEWS],
            ("news",),
            ("required", "news"),
            id="a name keeps one",
        ),
        pytest.param(
            {"type": "function", "name": "news"}, [FORECAST, NEWS], ("news",), ("required", "news"), id="a flat name"
        ),
        pytest.param(
            {"type": "function", "function": {"name": "other"}}, [FORECAST], (), ("none", None), id="no such tool"
        ),
        pytest.param("auto", [], (), ("none", None), id="no tools"),
    ],
)
def test_offered_tools_follow_tool_choice(
    choice: JSON, tools: JSON, kept: tuple[str, ...], meaning: tuple[str, str | None]
) -> None:
    ask = ask_of(LATEST, tools=tools, tool_choice=choice)
    assert tuple(tool.name for tool in ask.tools) == kept
    assert (ask.tool_choice, ask.tool_name) == meaning


@pytest.mark.parametrize(
    ("release", "stream", "offered"),
    [
        ("2025.1", False, False),
        ("2025.2", False, True),
        ("2025.2", True, False),
        ("2025.3", True, True),
        ("2026.3", True, True),
    ],
)
def test_tools_are_offered_since_release(release: str, stream: bool, offered: bool) -> None:
    assert bool(ask_of(make_server(release), tools=[FORECAST], stream=stream).tools) is offered


@pytest.mark.covers("openvino/fields of 2026.3", "skip_special_tokens")
def test_visible_special_tokens_disable_tools_and_reasoning() -> None:
    body = {"tools": [FORECAST], "skip_special_tokens": False, "model": "thinker"}
    ask = ask_of(LATEST, **body)
    assert (ask.tools, ask.reasoning) == ((), None)


_FORMAT = "response_format"
_SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "integer"}}}


@pytest.mark.covers("openvino/fields of 2026.3", "response_format")
@pytest.mark.parametrize(
    ("value", "only", "kind"),
    [
        pytest.param(_SCHEMA, OK, "json_schema", id="a schema"),
        pytest.param({"type": "json_object"}, f"{_FORMAT}.type can be only json_schema", "json_object", id="object"),
        pytest.param({"type": "text"}, f"{_FORMAT}.type can be only json_schema", "text", id="text"),
        pytest.param({}, f"{_FORMAT}.type is missing", "text", id="no type"),
        pytest.param({"type": 1}, f"{_FORMAT}.type is not a string", "text", id="a number as type"),
        pytest.param({"type": "json_schema"}, f"{_FORMAT}.json_schema is missing", "text", id="no schema"),
        pytest.param(
            {"type": "json_schema", "json_schema": 1}, f"{_FORMAT}.json_schema is not an object", "text", id="a number"
        ),
        pytest.param(
            {"type": "json_schema", "json_schema": {}},
            f"{_FORMAT}.json_schema.schema is missing",
            "json_schema",
            id="an empty schema",
        ),
        pytest.param(
            {"type": "json_schema", "json_schema": {"schema": 1}},
            f"{_FORMAT}.json_schema.schema is not an object",
            "json_schema",
            id="a number as schema",
        ),
        pytest.param(None, OK, "text", id="null"),
    ],
)
def test_response_format(value: JSON, only: str | None, kind: str) -> None:
    check(make_server("2025.3"), {_FORMAT: value}, only)
    for release in ("2025.4", "2026.3"):
        assert ask_of(make_server(release), response_format=value).format == kind
    assert ask_of(make_server("2025.2"), response_format=value).format == "text"


def test_response_format_must_be_object() -> None:
    check(LATEST, {_FORMAT: "json"}, "response_format is not an object")
    assert ask_of(LATEST, response_format=_SCHEMA).schema == {"type": "integer"}


@pytest.mark.parametrize(
    ("release", "options", "thinks"),
    [
        pytest.param("2026.3", None, True, id="a model that thinks"),
        pytest.param("2026.3", {"enable_thinking": False}, False, id="explicitly off"),
        pytest.param("2026.3", {"add_generation_prompt": True}, True, id="another option"),
        pytest.param("2025.0", None, False, id="a release that reads no thoughts"),
    ],
)
def test_reasoning(release: str, options: JSON, thinks: bool) -> None:
    fields = {} if options is None else {"chat_template_kwargs": options}
    assert (ask_of(make_server(release), model="thinker", **fields).reasoning is not None) is thinks
    assert ask_of(make_server(release), **fields).reasoning is None


@pytest.mark.covers("openvino/fields of 2026.3", "chat_template_kwargs")
def test_chat_template_kwargs_must_be_object() -> None:
    check(LATEST, {"chat_template_kwargs": 1}, "chat_template_kwargs must be an object")
