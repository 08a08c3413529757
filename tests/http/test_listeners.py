"""Opening and closing ports."""

import asyncio

import pytest

from emulator.http.listeners import number_ports
from tests.conftest import running
from tests.handler.toy import TOY


@pytest.mark.parametrize(
    ("front", "ports"),
    [
        pytest.param(4010, {"front": 4010, "a": 4011, "b": 4012}, id="one after another"),
        pytest.param(0, {"front": 0, "a": 0, "b": 0}, id="free ports"),
    ],
)
def test_vendor_ports_follow_front_port(front: int, ports: dict[str, int]) -> None:
    assert number_ports(["a", "b"], front) == ports


async def test_shutdown_completes_responses_waiting_on_frozen_clock() -> None:
    async with running("latency: {ttft: 10s}\n", vendors=[TOY]) as toy:
        body = {"prompt": "Hi", "max": 3, "stream": True}
        slow = asyncio.create_task(toy.ask("toy", "/chat", body, headers={"x-key": "k"}))
        while not toy.built.runtime.metrics["toy"].in_flight():
            await asyncio.sleep(0)
    assert len((await slow).chunks) == 3
