"""Properties of all routes: repeatable parsing, and marks of events."""

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Mark
from emulator.generation.segments import FixedReply
from emulator.vendors.mindie.routes import VENDOR
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import CHAT, HELLO, MODEL, PROMPT, send, stream

DETAILS = {"details": True}
ENDED = Mark.FINISH | Mark.USAGE


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/", {"inputs": PROMPT, "parameters": DETAILS}, id="root"),
        pytest.param("/generate", {"prompt": PROMPT}, id="in vLLM's form"),
        pytest.param("/infer", {"inputs": PROMPT}, id="the server's own form"),
        pytest.param(CHAT, {"model": MODEL, "messages": HELLO}, id="chat"),
        pytest.param("/v1/completions", {"model": MODEL, "prompt": PROMPT}, id="completions"),
        pytest.param(f"/v2/models/{MODEL}/generate", {"text_input": PROMPT}, id="Triton"),
    ],
)
def test_equal_requests_parse_to_equal_calls(path: str, body: JSON) -> None:
    one, other = (send(path, body, headers={"X-Request-Id": request_id}) for request_id in ("1", "2"))
    assert isinstance(one, InferenceCall)
    assert isinstance(other, InferenceCall)
    assert one.repeatable
    assert (one.request, one.stream, one.prompt_tokens) == (other.request, other.stream, other.prompt_tokens)
    assert one.codec == other.codec


def test_relevant_headers() -> None:
    assert set(VENDOR.relevant_headers) == {"req-type", "req-id", "d-target"}


SAMPLED = {"n": 2, "temperature": 1, "max_tokens": 2}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        pytest.param(CHAT, {"model": MODEL, "messages": HELLO}, [(0, 0), (1, 0), (2, 0), (3, ENDED), (0, Mark.DONE)]),
        pytest.param(
            CHAT,
            {"model": MODEL, "messages": HELLO, **SAMPLED},
            [(0, 0), (0, 0), (1, 0), (2, 0), (3, ENDED), (4, ENDED), (0, Mark.DONE)],
            id="two choices",
        ),
        pytest.param(CHAT, {"model": MODEL, "messages": HELLO, "stop": " two"}, [(0, 0), (1, 0), (2, ENDED), (0, 4)]),
        pytest.param("/v1/completions", {"model": MODEL, "prompt": PROMPT}, [(1, 0), (2, 0), (3, ENDED), (0, 4)]),
        pytest.param("/", {"inputs": PROMPT}, [(1, 0), (2, 0), (3, Mark.FINISH)]),
        pytest.param("/", {"inputs": PROMPT, "parameters": DETAILS}, [(1, 0), (2, 0), (3, ENDED)]),
        pytest.param("/infer", {"inputs": PROMPT}, [(1, 0), (2, 0), (3, Mark.FINISH)]),
        pytest.param("/infer", {"inputs": PROMPT, "parameters": DETAILS}, [(1, 0), (2, 0), (3, ENDED)]),
        pytest.param("/generate", {"prompt": PROMPT}, [(1, 0), (2, 0), (3, 0)]),
        pytest.param("/generate", {"prompt": PROMPT, **SAMPLED}, [(2, 0), (4, 0)], id="two in each round"),
        pytest.param(f"/v2/models/{MODEL}/generate_stream", {"text_input": PROMPT}, [(1, 0), (2, 0), (3, 0)]),
        pytest.param(
            f"/v2/models/{MODEL}/generate_stream",
            {"text_input": PROMPT, "parameters": DETAILS},
            [(1, 0), (2, 0), (3, ENDED)],
        ),
    ],
)
def test_events_carry_token_counts_and_marks(path: str, body: JSON, expected: list[tuple[int, Mark]]) -> None:
    found = stream(path, {**body, "stream": True}, FixedReply(text=" one two"))
    assert [(tokens, mark) for _, _, tokens, mark in found] == expected
