"""A timer that rings in time, whichever the system has."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator

import pytest

from emulator.core.timerfd import Alarm, LoopAlarm, Ring, SystemAlarm, has_timers, monotonic
from emulator.serve import server

KINDS = [LoopAlarm, pytest.param(SystemAlarm, marks=pytest.mark.skipif(not has_timers(), reason="no such timers"))]
LOOPS = [False, pytest.param(True, marks=pytest.mark.skipif(not server.has_uvloop(), reason="no uvloop"))]


async def ring_at(make: Callable[[Ring], Alarm], *afters: float) -> tuple[float, float]:
    """When an alarm rings that was set to several times after now, and the last of these."""
    rung: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    alarm = make(lambda: rung.set_result(time.monotonic()))
    now = time.monotonic()
    for after in afters:
        alarm.set(now + after)
    at = await rung
    await asyncio.sleep(0.005)  # that it rings once
    alarm.stop()
    alarm.stop()
    return at, now + afters[-1]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("uvloop", LOOPS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(
    "afters",
    [
        pytest.param([0.0021], id="once"),
        pytest.param([5.0, 0.0012], id="set again, sooner"),
        pytest.param([0.0001, 0.003], id="set again, later"),
        pytest.param([-1.0], id="in the past"),
    ],
)
def test_alarm_fires_once_and_never_early(make: Callable[[Ring], Alarm], uvloop: bool, afters: list[float]) -> None:
    at, due = server.run(ring_at(make, *afters), uvloop=uvloop)
    assert at >= due


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("before", [0.0, 0.5, 1e9])
async def test_time_before_the_machine_started_rings_at_once(make: Callable[[Ring], Alarm], before: float) -> None:
    async with asyncio.timeout(20):
        await ring_at(make, 3600.0, -monotonic() - before)


@pytest.fixture
def open_files() -> Iterator[int]:
    before = len(os.listdir("/proc/self/fd"))
    yield before
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not has_timers(), reason="no such timers")
@pytest.mark.parametrize("stops", [True, False], ids=["stopped", "left to its loop"])
def test_alarm_leaves_no_open_file(open_files: int, stops: bool) -> None:
    async def use() -> None:
        alarm = SystemAlarm(lambda: None)
        alarm.set(time.monotonic() + 60.0)
        if stops:
            alarm.stop()

    asyncio.run(use())


class CoarseLoop(asyncio.SelectorEventLoop):
    """Loop with the clock of Windows before Python 3.13."""

    def __init__(self) -> None:
        super().__init__()
        self._clock_resolution = 0.0156

    def time(self) -> float:
        return monotonic() // self._clock_resolution * self._clock_resolution


def test_loop_alarm_never_rings_early_by_coarse_clock() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(0)  # each iteration of the loop runs what is due within its clock's resolution

    async def main() -> list[float]:
        early = []
        busy = asyncio.create_task(work())
        for step in range(6):
            due = monotonic() + 0.004 * step
            rung: asyncio.Future[float] = asyncio.get_running_loop().create_future()
            LoopAlarm(lambda rung=rung: rung.set_result(monotonic())).set(due)  # type: ignore[misc]
            early.append(due - await rung)
        busy.cancel()
        return early

    with asyncio.Runner(loop_factory=CoarseLoop) as runner:
        assert max(runner.run(main())) <= 0
