"""Requests and responses of ``/v1/completions``."""

import json

import pytest

from emulator.core.http import Mark
from emulator.generation.segments import FixedReply
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import HELLO, REPLY, refuse, stream


async def test_completions(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("tgi", "/v1/completions", {"prompt": ["a b", "c"], "max_tokens": 2})).json()
    assert list(answer) == ["object", "id", "created", "model", "system_fingerprint", "choices", "usage"]
    assert [(c["index"], c["text"], c["finish_reason"]) for c in answer["choices"]] == [
        (0, "one two", "length"),
        (1, "one two", "length"),
    ]
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}


async def test_completions_stream(start: Start) -> None:
    running = await start(REPLY)
    rows = (await running.ask("tgi", "/v1/completions", {"prompt": "a", "max_tokens": 2, "stream": True})).events()
    assert [row["choices"][0]["text"] for row in rows[:-1]] == ["one", " two"]
    assert [row["choices"][0]["finish_reason"] for row in rows[:-1]] == ["", "length"]
    assert list(rows[0]) == ["object", "id", "created", "choices", "model", "system_fingerprint"]
    assert list(rows[1])[-1] == "usage"
    assert rows[-1] == "[DONE]"


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        pytest.param({"prompt": "x", "suffix": "y"}, "suffix not supported", id="a suffix"),
        pytest.param({"prompt": list("abcde")}, "batch size exceeded", id="five prompts"),
    ],
)
def test_invalid_completion_is_rejected(body: JSON, error_type: str) -> None:
    answer = refuse("/v1/completions", body)
    assert (answer.status, json.loads(answer.body)["error_type"]) == (422, error_type)


def test_events_carry_token_counts_and_marks() -> None:
    body = {"prompt": ["a", "b"], "max_tokens": 2, "stream": True}
    events = stream("/v1/completions", body, FixedReply(pieces=("a", "b", "c")))
    last = Mark.FINISH | Mark.USAGE
    assert [event[2:] for event in events] == [(1, 0), (2, 0), (3, last), (4, last), (0, Mark.DONE)]


async def test_several_prompts_stream_interleaved(start: Start) -> None:
    running = await start("latency: {ttft: 0s}\n" + REPLY)
    body = {"prompt": ["a", "b"], "max_tokens": 2, "stream": True}
    rows = (await running.ask("tgi", "/v1/completions", body)).events()
    assert [(row["choices"][0]["index"], row["choices"][0]["text"]) for row in rows[:-1]] == [
        (0, "one"),
        (1, "one"),
        (0, " two"),
        (1, " two"),
    ]


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        (["a", "", "b"], "0e2"),
        (["", "a"], "e1"),
        (["a", ""], "0e"),
        (["", "a", "", "", "b"], "e1ee4"),
        (["", ""], "ee"),
        ([""], "e"),
    ],
)
async def test_refused_prompts_of_stream(start: Start, prompts: list[str], expected: str) -> None:
    """``router/src/server.rs``, completions: each prompt has a stream of its own, and they are read in turn."""
    running = await start("vendors: {tgi: {max_client_batch_size: 5}}\n" + REPLY)
    *events, done = (await running.ask("tgi", "/v1/completions", {"prompt": prompts, "stream": True})).events()
    assert done == "[DONE]"
    order = ["e" if "error" in event else str(event["choices"][0]["index"]) for event in events]
    assert "".join(order[: len(prompts)]) == expected
    refused = {"error": {"message": "Input validation error: `inputs` cannot be empty", "http_status_code": 422}}
    assert [event for event in events if "error" in event] == [refused] * expected.count("e")


async def test_last_chunk_has_text_of_end(start: Start) -> None:
    running = await start(REPLY)
    for limit, last in ((None, "</s>"), (2, " two")):
        body = {"prompt": "x", "stream": True, "max_tokens": limit}
        *_, chunk, done = (await running.ask("tgi", "/v1/completions", body)).events()
        assert (chunk["choices"][0]["text"], done) == (last, "[DONE]")
        whole = (await running.ask("tgi", "/v1/completions", {**body, "stream": False})).json()
        assert "</s>" not in whole["choices"][0]["text"]


@pytest.mark.parametrize(
    "body",
    [{"messages": HELLO, "top_p": 1.5}, {"prompt": "x", "top_p": 1.5}, {"inputs": "x", "parameters": {"top_p": 1.5}}],
)
async def test_refused_streams_of_invocations(start: Start, body: JSON) -> None:
    """``router/src/sagemaker.rs:57-90``: the answer has the form of the request."""
    text = "Input validation error: `top_p` must be > 0.0 and < 1.0"
    events = (await (await start()).ask("tgi", "/invocations", {**body, "stream": True})).events()
    if "inputs" in body:
        assert events == [{"error": text, "error_type": "validation"}]
    else:
        assert events == [{"error": {"message": text, "http_status_code": 422}}, "[DONE]"]
