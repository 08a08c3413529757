"""Real, scaled, instant and frozen clocks."""

import asyncio
import time
from collections.abc import Callable

import pytest

from emulator.core.clock import EPOCH, Clock, FrozenClock, InstantClock, RealClock


async def start(clock: Clock, *dues: float) -> list[asyncio.Task[None]]:
    """Sleepers that have all begun to wait."""
    tasks = [asyncio.create_task(clock.sleep_until(due)) for due in dues]
    await asyncio.sleep(0)
    return tasks


def test_frozen_clock_stays_at_epoch() -> None:
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
async def test_advance_wakes_due_sleepers(advance: float, woken: list[bool]) -> None:
    clock = FrozenClock(100.0)
    tasks = await start(clock, 101.0, 102.0, 103.0)
    clock.advance(advance)
    await asyncio.sleep(0)
    assert [task.done() for task in tasks] == woken
    clock.advance(10.0)
    await asyncio.gather(*tasks)
    assert clock.now() == 100.0 + advance + 10.0


async def test_advances_accumulate() -> None:
    clock = FrozenClock(0.0)
    (task,) = await start(clock, 1.0)
    for _ in range(4):
        assert not task.done()
        clock.advance(0.25)
        await asyncio.sleep(0)
    assert task.done()


@pytest.mark.parametrize("due", [99.0, 100.0], ids=["in the past", "now"])
async def test_frozen_clock_returns_at_once_when_due(due: float) -> None:
    (task,) = await start(FrozenClock(100.0), due)
    assert task.done()


async def test_cancelled_sleeper_does_not_block_others() -> None:
    clock = FrozenClock(0.0)
    gone, stayed = await start(clock, 1.0, 1.0)
    gone.cancel()
    await asyncio.sleep(0)
    clock.advance(1.0)
    await stayed
    assert gone.cancelled()


def test_real_clock_follows_wall_clock_and_is_monotonic() -> None:
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


async def test_real_clock_returns_at_once_when_due() -> None:
    clock = RealClock()
    (task,) = await start(clock, clock.now() - 1.0)
    assert task.done()


async def test_sleepers_of_same_millisecond_wake_together() -> None:
    clock = RealClock()
    due = clock.now() + 0.002
    gone, *stayed = await start(clock, due, due, due)
    gone.cancel()
    async with asyncio.timeout(1.0):
        await stayed[0]
    await asyncio.sleep(0)
    assert all(task.done() for task in stayed)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(RealClock, id="real"),
        pytest.param(lambda: RealClock(60), id="scaled"),
        pytest.param(FrozenClock, id="frozen"),
    ],
)
async def test_advance_moves_clock_and_wakes_sleeper(make: Callable[[], Clock]) -> None:
    clock = make()
    before = clock.now()
    (task,) = await start(clock, before + 3600.0)
    clock.advance(3600.0)
    async with asyncio.timeout(1.0):
        await task
    assert clock.now() - before == pytest.approx(3600.0, abs=60.0)


def test_instant_clock_advances() -> None:
    clock = InstantClock(5.0)
    clock.advance(60.0)
    assert clock.now() == 65.0


async def test_advance_wakes_no_sleeper_early() -> None:
    clock = RealClock()
    due = clock.now() + 100.0
    (task,) = await start(clock, due)
    clock.advance(99.0)
    await asyncio.sleep(0.01)
    assert not task.done()
    clock.advance(1.0)
    await task
    assert clock.now() >= due


async def test_scaled_clock_runs_faster() -> None:
    clock = RealClock(scale=1000)
    begun, due = time.monotonic(), clock.now() + 20.0
    await clock.sleep_until(due)
    assert clock.now() >= due
    assert 0.02 <= time.monotonic() - begun < 15.0  # real seconds, for 20 of the clock


async def test_instant_clock_jumps_forward_only() -> None:
    clock = InstantClock()
    await clock.sleep_until(EPOCH + 30.0)
    assert clock.now() == EPOCH + 30.0
    await clock.sleep_until(EPOCH + 10.0)
    assert clock.now() == EPOCH + 30.0


@pytest.mark.parametrize(
    ("clock", "reported", "later"),
    [
        pytest.param(FrozenClock(), 30.0, 0.0, id="frozen: as it is"),
        pytest.param(InstantClock(), 0.0, 30.0, id="instant: nothing, for the wait is over when the client is back"),
    ],
)
def test_client_wait_per_clock(clock: Clock, reported: float, later: float) -> None:
    begun = clock.now()
    assert clock.to_client(30.0) == reported
    assert clock.now() == begun
    for _ in range(2):  # two clients that wait at the same time do not wait twice as long
        clock.on_client_left(begun + 30.0)
    assert clock.now() == begun + later


@pytest.mark.parametrize(("scale", "reported"), [(1, 30.0), (60, 0.5), (0.5, 60.0)])
def test_client_wait_is_scaled_to_client_seconds(scale: float, reported: float) -> None:
    assert RealClock(scale).to_client(30.0) == reported


async def test_retired_clock_wakes_sleepers() -> None:
    clock = FrozenClock(0.0)
    tasks = await start(clock, 5.0, 50.0)
    clock.retire()
    await asyncio.gather(*tasks)
    await clock.sleep_until(500.0)
    assert clock.now() == 500.0


@pytest.mark.parametrize("clock", [RealClock(), InstantClock(), FrozenClock()], ids=["real", "instant", "frozen"])
async def test_callback_runs_when_due(clock: Clock) -> None:
    called: list[float] = []
    due = clock.now() + 0.002
    clock.call_at(due, lambda: called.append(clock.now()))
    assert not called
    clock.advance(0.003)
    await asyncio.sleep(0.005)
    assert called
    assert called[0] >= due - 1e-6


async def test_catch_up_runs_due_callbacks_without_event_loop() -> None:
    clock = RealClock()
    woken: list[str] = []
    now = clock.now()
    clock.call_at(now + 0.001, lambda: woken.append("due"))
    clock.call_at(now + 3600.0, lambda: woken.append("not due"))
    clock.catch_up()
    assert woken == []
    while clock.now() < now + 0.003:  # work that blocks the event loop
        pass
    clock.catch_up()
    assert woken == ["due"]
    await asyncio.sleep(0)
    clock.retire()
