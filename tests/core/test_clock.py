"""Time that passes, and time that stands still."""

import asyncio
import time

import pytest

from emulator.core.clock import EPOCH, Clock, FrozenClock, RealClock


async def start(clock: Clock, *dues: float) -> list[asyncio.Task[None]]:
    """Sleepers that have all begun to wait."""
    tasks = [asyncio.create_task(clock.sleep_until(due)) for due in dues]
    await asyncio.sleep(0)
    return tasks


def test_frozen_clock_stands_still_at_the_epoch() -> None:
    clock = FrozenClock()
    assert clock.now() == clock.now() == EPOCH
    assert FrozenClock(5.0).now() == 5.0


@pytest.mark.parametrize(
    ("advance", "woken"),
    [
        pytest.param(0.5, [False, False, False], id="before the first"),
        pytest.param(1.0, [True, False, False], id="the very moment of the first"),
        pytest.param(2.5, [True, True, False], id="past two"),
        pytest.param(9.0, [True, True, True], id="past all"),
    ],
)
async def test_advancing_wakes_whoever_is_due(advance: float, woken: list[bool]) -> None:
    clock = FrozenClock(100.0)
    tasks = await start(clock, 101.0, 102.0, 103.0)
    clock.advance(advance)
    await asyncio.sleep(0)
    assert [task.done() for task in tasks] == woken
    clock.advance(10.0)
    await asyncio.gather(*tasks)
    assert clock.now() == 100.0 + advance + 10.0


async def test_steps_add_up() -> None:
    clock = FrozenClock(0.0)
    (task,) = await start(clock, 1.0)
    for _ in range(4):
        assert not task.done()
        clock.advance(0.25)
        await asyncio.sleep(0)
    assert task.done()


@pytest.mark.parametrize("due", [99.0, 100.0], ids=["in the past", "now"])
async def test_frozen_clock_does_not_hold_whoever_is_due_already(due: float) -> None:
    (task,) = await start(FrozenClock(100.0), due)
    assert task.done()


async def test_a_sleeper_that_left_does_not_stop_the_others() -> None:
    clock = FrozenClock(0.0)
    gone, stayed = await start(clock, 1.0, 1.0)
    gone.cancel()
    await asyncio.sleep(0)
    clock.advance(1.0)
    await stayed
    assert gone.cancelled()


def test_real_clock_follows_the_wall_and_never_steps_back() -> None:
    clock = RealClock()
    assert clock.now() == pytest.approx(time.time(), abs=0.5)
    readings = [clock.now() for _ in range(1000)]
    assert readings == sorted(readings)


async def test_real_clock_wakes_no_sleeper_early() -> None:
    clock = RealClock()
    start_time = clock.now()

    async def lateness(due: float) -> float:
        await clock.sleep_until(due)
        return clock.now() - due

    late = await asyncio.gather(*(lateness(start_time + step * 1e-4) for step in range(1, 40)))
    assert min(late) >= -1e-6  # Unix seconds in a double are no finer


async def test_real_clock_does_not_hold_whoever_is_due_already() -> None:
    clock = RealClock()
    (task,) = await start(clock, clock.now() - 1.0)
    assert task.done()


async def test_sleepers_of_one_millisecond_wake_together() -> None:
    clock = RealClock()
    due = clock.now() + 0.002
    gone, *stayed = await start(clock, due, due, due)
    gone.cancel()
    async with asyncio.timeout(1.0):
        await stayed[0]
    await asyncio.sleep(0)
    assert all(task.done() for task in stayed)
