"""Slots of a server: who runs, who waits in the queue, and who is refused."""

import asyncio
from dataclasses import dataclass

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.ratelimit.concurrency import Slot, Slots

S = ("", "toy", "toy")
OTHER = ("a", "toy", "toy")


@dataclass(frozen=True, slots=True)
class Size:
    capacity: int
    queue: int | None = None


@pytest.fixture
def slots() -> Slots:
    return Slots()


async def queue_up(slots: Slots, room: Size, now: float) -> asyncio.Task[Slot]:
    """A call in the queue, or running."""
    task = asyncio.create_task(slots.acquire(S, room, now))
    await asyncio.sleep(0)
    return task


async def test_slots_are_limited_to_capacity(slots: Slots) -> None:
    running = [(await slots.acquire(S, Size(3, 0), 5.0)) for _ in range(3)]
    assert [(slot.since, slot.running) for slot in running] == [(5.0, 1), (5.0, 2), (5.0, 3)]
    with pytest.raises(EmulatedError) as refused:
        await slots.acquire(S, Size(3, 0), 5.0)
    assert refused.value.kind is ErrorKind.OVERLOADED
    assert refused.value.details == {"capacity": 3, "queue": 0}


async def test_queue_is_served_in_order_when_slots_free(slots: Slots) -> None:
    first = await slots.acquire(S, Size(1, 2), 0.0)
    second, third = await queue_up(slots, Size(1, 2), 1.0), await queue_up(slots, Size(1, 2), 2.0)
    with pytest.raises(EmulatedError):
        await slots.acquire(S, Size(1, 2), 3.0)
    slots.release(first, 10.0)
    assert (await second).since == 10.0
    assert not third.done()
    slots.release(await second, 15.0)
    assert (await third).since == 15.0


async def test_slot_starts_no_earlier_than_arrival(slots: Slots) -> None:
    first = await slots.acquire(S, Size(1), 0.0)
    second = await queue_up(slots, Size(1), 7.0)
    slots.release(first, 5.0)
    assert (await second).since == 7.0


async def test_queue_without_limit_accepts_every_request(slots: Slots) -> None:
    first = await slots.acquire(S, Size(1), 0.0)
    waiting = [await queue_up(slots, Size(1), 0.0) for _ in range(500)]
    slots.release(first, 1.0)
    for task in waiting:
        slots.release(await task, 1.0)
    assert (await slots.acquire(S, Size(1, 0), 2.0)).running == 1


async def test_servers_have_separate_slots(slots: Slots) -> None:
    await slots.acquire(S, Size(1, 0), 0.0)
    assert (await slots.acquire(OTHER, Size(1, 0), 0.0)).running == 1


@pytest.mark.parametrize(
    "served", [pytest.param(False, id="while in the queue"), pytest.param(True, id="once it was served")]
)
async def test_cancelled_request_passes_slot_to_next(slots: Slots, served: bool) -> None:
    first = await slots.acquire(S, Size(1), 0.0)
    second, third = await queue_up(slots, Size(1), 1.0), await queue_up(slots, Size(1), 1.0)
    if served:
        slots.release(first, 5.0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    if not served:
        slots.release(first, 5.0)
    assert (await third).since == 5.0
    slots.release(await third, 6.0)
    assert (await slots.acquire(S, Size(1, 0), 7.0)).running == 1
