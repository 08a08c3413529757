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
