"""Unsatisfiable requests are refused with the name of the field at fault."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

NEVER: JSON = {
    "type": "object",
    "properties": {"a": {"type": "string", "minLength": 5, "maxLength": 2}},
    "required": ["a"],
}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": NEVER}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param(
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": NEVER}}},
            "response_format",
            id="a schema for the answer",
        ),
        pytest.param({"tools": [TOOL], "tool_choice": "required"}, "tools", id="a schema for a tool"),
    ],
)
async def test_unsatisfiable_schema_returns_client_error(start: Start, fields: JSON, param: str) -> None:
    running = await start()
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    target = "/chat/completions?api-version=2024-05-01-preview"
    answer = await running.ask("azure", target, body, headers={"Authorization": "Bearer k"})
    assert answer.status == 422
    assert answer.json()["detail"]["loc"][:2] == ["body", param]
