"""What totals hold on to: figures, and nothing of calls, worlds and evidence."""

import gc
import weakref

from emulator.server.trace import Trace
from tests.conftest import Start
from tests.server.toy import TOY
from tests.wire import Running


async def fill(running: Running) -> None:
    for number in range(3):
        await running.ask("toy", "/chat", {"prompt": f"Hi {number}", "max": 3}, headers={"x-key": "k"})


def count_traces() -> int:
    """Those that are alive."""
    gc.collect()
    return sum(isinstance(each, Trace) and each.vendor == "toy" for each in gc.get_objects())


async def test_a_reset_leaves_no_call_behind(start: Start) -> None:
    running = await start(vendors=[TOY])
    before = count_traces()
    await fill(running)
    assert count_traces() >= before + 3
    await running.ask("front", "/_emulator/reset", method="POST")
    assert count_traces() == before
    metrics = running.built.runtime.metrics["toy"]
    assert (metrics.total("requests"), len(metrics.samples("duration"))) == (3, 3)


async def test_a_world_that_was_replaced_is_gone(start: Start) -> None:
    running = await start(vendors=[TOY])
    await fill(running)
    world = weakref.ref(running.built.runtime.active.emulator)
    await running.ask("front", "/_emulator/scenario", b"version: 1\n", method="PUT")
    await running.ask("front", "/_emulator/reset", method="POST")
    gc.collect()
    assert world() is None
