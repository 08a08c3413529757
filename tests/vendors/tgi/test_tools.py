"""Validation of tools."""

import json

import pytest

from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, HELLO, WEATHER, refuse


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            {"tools": [WEATHER], "tool_choice": "other"},
            "Tool error: Tool with name other not found",
            id="no such tool",
        ),
        pytest.param(
            {"tools": [], "tool_choice": {"type": "function", "function": {"name": "f"}}},
            "Tool error: Tool with name f not found",
            id="no tools at all",
        ),
        pytest.param(
            {"tools": [WEATHER], "response_format": {"type": "json", "value": {"properties": {}}}},
            "Tool error: Grammar and tools are mutually exclusive",
            id="tools and a format",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tool_errors_precede_stream(body: JSON, text: str, stream: bool) -> None:
    answer = refuse(CHAT, {"messages": HELLO, "stream": stream, **body})
    assert answer.status == 422
    assert json.loads(answer.body) == {"error": text, "error_type": "tool_error"}


@pytest.mark.parametrize(
    "choice",
    [{"function": {"name": "f"}}, {"type": "tool", "function": {"name": "f"}}, {"type": "function"}, 5, []],
    ids=repr,
)
def test_choice_needs_its_type(choice: JSON) -> None:
    """``router/src/lib.rs`` (TypedChoice): ``type`` is the tag."""
    answer = refuse(CHAT, {"messages": HELLO, "tools": [WEATHER], "tool_choice": choice})
    assert answer.status == 422
    assert b"data did not match any variant of untagged enum ToolTypeDeserializer" in answer.body
