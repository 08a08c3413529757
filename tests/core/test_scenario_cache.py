"""What is remembered as long as a scenario is at work."""

import gc
import weakref

from emulator.core.cache import clear_scenario_caches, scenario_lru
from tests.conftest import Start
from tests.handler.toy import TOY


class _World:
    """Something of a scenario at work."""


def test_what_was_found_out_of_a_world_goes_with_it() -> None:
    asked: list[_World] = []

    @scenario_lru
    def find(world: _World) -> int:
        asked.append(world)
        return len(asked)

    world = _World()
    assert [find(world), find(world)] == [1, 1]
    asked.clear()
    gone = weakref.ref(world)
    del world
    gc.collect()
    assert gone() is not None
    clear_scenario_caches()
    gc.collect()
    assert gone() is None


async def test_a_scenario_that_begins_or_ends_makes_it_forget(start: Start) -> None:
    running = await start(vendors=[TOY])
    asked: list[str] = []

    @scenario_lru
    def find(name: str) -> int:
        asked.append(name)
        return len(asked)

    counts = [find("a")]
    for method, path in (
        ("PUT", "scenario"),
        ("POST", "reset"),
        ("PUT", "scenario?session=s"),
        ("DELETE", "sessions/s"),
    ):
        await running.ask("front", f"/_emulator/{path}", b"version: 1\n" if method == "PUT" else None, method=method)
        counts.append(find("a"))
    assert counts == [1, 2, 3, 4, 5]
