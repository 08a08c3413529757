"""Places of a server: who runs, who waits in line, and who is turned away."""

import asyncio
from dataclasses import dataclass

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.limits.places import Place, Places


@dataclass(frozen=True, slots=True)
class Size:
    capacity: int
    queue: int | None = None


@pytest.fixture
def places() -> Places:
    return Places()


async def line_up(places: Places, room: Size, now: float) -> asyncio.Task[Place]:
    """Somebody in line, or in."""
    task = asyncio.create_task(places.enter("s", room, now))
    await asyncio.sleep(0)
    return task


async def test_as_many_run_as_there_are_places(places: Places) -> None:
    running = [(await places.enter("s", Size(3, 0), 5.0)) for _ in range(3)]
    assert [(place.since, place.running) for place in running] == [(5.0, 1), (5.0, 2), (5.0, 3)]
    with pytest.raises(EmulatedError) as refused:
        await places.enter("s", Size(3, 0), 5.0)
    assert refused.value.kind is ErrorKind.OVERLOADED
    assert refused.value.details == {"capacity": 3, "queue": 0}


async def test_the_line_is_served_in_order_from_when_a_place_is_free(places: Places) -> None:
    first = await places.enter("s", Size(1, 2), 0.0)
    second, third = await line_up(places, Size(1, 2), 1.0), await line_up(places, Size(1, 2), 2.0)
    with pytest.raises(EmulatedError):
        await places.enter("s", Size(1, 2), 3.0)
    places.leave(first, 10.0)
    assert (await second).since == 10.0
    assert not third.done()
    places.leave(await second, 15.0)
    assert (await third).since == 15.0


async def test_nobody_runs_before_it_came(places: Places) -> None:
    first = await places.enter("s", Size(1), 0.0)
    second = await line_up(places, Size(1), 7.0)
    places.leave(first, 5.0)
    assert (await second).since == 7.0


async def test_without_a_bound_any_number_waits(places: Places) -> None:
    first = await places.enter("s", Size(1), 0.0)
    waiting = [await line_up(places, Size(1), 0.0) for _ in range(500)]
    places.leave(first, 1.0)
    for task in waiting:
        places.leave(await task, 1.0)
    assert (await places.enter("s", Size(1, 0), 2.0)).running == 1


async def test_servers_are_apart(places: Places) -> None:
    await places.enter("s", Size(1, 0), 0.0)
    assert (await places.enter("other", Size(1, 0), 0.0)).running == 1


@pytest.mark.parametrize(
    "served", [pytest.param(False, id="while in line"), pytest.param(True, id="once it was served")]
)
async def test_who_gives_up_leaves_its_place_to_the_next(places: Places, served: bool) -> None:
    first = await places.enter("s", Size(1), 0.0)
    second, third = await line_up(places, Size(1), 1.0), await line_up(places, Size(1), 1.0)
    if served:
        places.leave(first, 5.0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    if not served:
        places.leave(first, 5.0)
    assert (await third).since == 5.0
    places.leave(await third, 6.0)
    assert (await places.enter("s", Size(1, 0), 7.0)).running == 1
