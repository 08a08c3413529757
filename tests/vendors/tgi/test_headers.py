"""Response headers of both releases."""

import pytest

from tests.conftest import Start
from tests.vendors.tgi.direct import OLD, PROMPT, REPLY, ask

HEADS = [
    *("content-type", "x-compute-type", "x-compute-time", "x-compute-characters", "x-total-time"),
    *("x-validation-time", "x-queue-time", "x-inference-time", "x-time-per-token"),
]


@pytest.mark.covers("mindie/TGI", "headers of 3")
async def test_headers(start: Start) -> None:
    running = await start("version: 1\nname: slow\nlatency: {ttft: 3ms}\n" + REPLY)
    new = await running.ask("tgi", "/generate", ask({}))
    assert [name for name, _ in new.headers][:11] == [*HEADS, "x-prompt-tokens", "x-generated-tokens"]
    assert (new.header("x-compute-time"), new.header("x-total-time")) == ("0.003", "3")
    assert (new.header("x-compute-characters"), new.header("x-prompt-tokens")) == (str(len(PROMPT)), "6")
    assert new.header("access-control-allow-origin") == "*"
    stream = await running.ask("tgi", "/generate_stream", ask({}))
    assert stream.header("cache-control") == "no-cache"
    assert stream.header("x-accel-buffering") == "no"


@pytest.mark.covers("mindie/TGI", "headers of 0.9.4")
async def test_headers_of_0_9_4(start: Start) -> None:
    answer = await (await start(OLD + REPLY)).ask("tgi", "/generate", ask({}))
    names = [name for name, _ in answer.headers]
    assert names[: len(HEADS)] == HEADS
    assert "x-prompt-tokens" not in names


async def test_headers_of_several_prompts_are_sums(start: Start) -> None:
    """``router/src/server.rs:1024-1121`` (completions)."""
    running = await start("version: 1\nname: slow\nlatency: {ttft: 30ms}\n" + REPLY)
    answer = await running.ask("tgi", "/v1/completions", {"prompt": ["Hello", "Hi"], "max_tokens": 3})
    names = [name for name, _ in answer.headers][:10]
    assert names == [*(name for name in HEADS if name != "x-compute-time"), "x-prompt-tokens", "x-generated-tokens"]
    sums = [answer.header(name) for name in ("x-total-time", "x-inference-time", "x-time-per-token", *names[-2:])]
    assert sums == ["60", "60", "20", "4", "6"]
    assert answer.header("x-compute-characters") == "7"
