"""Tools on offer, and which is called."""

import pytest

from emulator.core.requests import Tool
from tests.untyped_json import JSON
from tests.vendors.azure.service import ask_of, chat, refuse

TOOL: JSON = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"a": 1}}}
NAMED: JSON = {"type": "function", "function": {"name": "get_weather"}}


@pytest.mark.covers("azure/fields of a chat", "tools")
def test_tools() -> None:
    ask = ask_of(chat(tools=[TOOL, {"type": "function", "function": {"name": "f"}}]))
    assert ask.tools == (Tool(name="get_weather", description="d", parameters={"a": 1}), Tool(name="f"))


@pytest.mark.covers("azure/fields of a chat", "tool_choice")
@pytest.mark.covers("azure/tools and formats", "none", case="none")
@pytest.mark.covers("azure/tools and formats", "auto", case="auto")
@pytest.mark.covers("azure/tools and formats", "required", case="required")
@pytest.mark.covers("azure/tools and formats", "named", case="one by name")
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


@pytest.mark.covers("azure/tools and formats", "named, absent")
def test_named_tool_must_be_offered() -> None:
    other = {"type": "function", "function": {"name": "other"}}
    assert refuse(chat(tools=[TOOL], tool_choice=other)).json()["detail"]["loc"] == ["body", "tool_choice"]
