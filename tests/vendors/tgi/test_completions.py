"""Requests and responses of ``/v1/completions``."""

import json

import pytest

from emulator.core.http import Mark
from emulator.generation.segments import FixedReply
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import REPLY, refuse, stream


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
