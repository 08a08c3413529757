"""Chat request and sampling of the Messages API."""

import pytest

from emulator.core.requests import Message, Sampling
from emulator.protocols.anthropic.request import parse_chat_request, parse_sampling
from tests.untyped_json import JSON

SCHEMA: JSON = {"type": "object"}


def test_parse_chat_request_keeps_tools_and_schema() -> None:
    tools = [{"name": "find", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}]
    body: JSON = {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": tools,
        "tool_choice": {"type": "tool", "name": "find"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    }
    found = parse_chat_request(body, parallel=False)
    assert found.messages == (Message("user", "Hi"),)
    assert [tool.name for tool in found.tools] == ["find"]
    assert (found.tool_choice, found.tool_name, found.parallel) == ("required", "find", False)
    assert (found.format, found.schema) == ("json_schema", SCHEMA)


@pytest.mark.parametrize(
    ("body", "sampling"),
    [
        pytest.param({}, Sampling(max_tokens=5), id="defaults"),
        pytest.param({"top_p": None, "stop_sequences": ["", "a"]}, Sampling(max_tokens=5, stop=("a",)), id="stops"),
        pytest.param(
            {"temperature": 0, "top_k": 3},
            Sampling(max_tokens=5, greedy=True, parameters=(("temperature", 0), ("top_k", 3))),
            id="temperature 0",
        ),
        pytest.param({"top_k": 1}, Sampling(max_tokens=5, greedy=True, parameters=(("top_k", 1),)), id="top_k 1"),
    ],
)
def test_parse_sampling(body: JSON, sampling: Sampling) -> None:
    assert parse_sampling(body, 5) == sampling
