"""Requests by the route they take."""

import pytest

from emulator.core.vendor import Call
from emulator.vendors.tgi.routes import VENDOR
from tests.parsed import JSON
from tests.vendors.tgi.direct import PROMPT, accepted, put, refused


def test_any_of_three_forms() -> None:
    answer = refused("/invocations", {"neither": 1})
    assert "data did not match any variant of untagged enum SagemakerRequest" in answer.body.decode()
    for form in ({"inputs": "x"}, {"messages": [{"role": "user", "content": "x"}]}, {"prompt": "x"}):
        assert isinstance(put("/invocations", form), Call)


MESSAGES = [{"role": "user", "content": PROMPT}]
CALLED = [
    {"role": "user", "content": PROMPT},
    {
        "role": "assistant",
        "tool_calls": [{"id": "call_x", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "1", "tool_call_id": "call_x"},
]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/", {"inputs": PROMPT, "parameters": {"details": True}}, id="root"),
        pytest.param("/v1/chat/completions", {"messages": MESSAGES}, id="chat"),
        pytest.param("/v1/chat/completions", {"messages": CALLED}, id="chat after a foreign call id"),
        pytest.param("/v1/completions", {"prompt": PROMPT}, id="completions"),
    ],
)
def test_equal_requests_are_read_alike(path: str, body: JSON) -> None:
    one, other = accepted(path, body), accepted(path, body)
    assert one.repeatable
    assert (one.ask, one.stream, one.prompt_tokens) == (other.ask, other.stream, other.prompt_tokens)
    assert one.codec == other.codec


def test_headers_that_are_read_are_named() -> None:
    assert VENDOR.reads == ("Content-Type",)
