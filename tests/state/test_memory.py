"""Counters of one process."""

from emulator.state.memory import MemoryState


async def test_a_counter_gives_what_it_was_before() -> None:
    state = MemoryState()
    assert [await state.count("", "rule", b"a") for _ in range(3)] == [0, 1, 2]


async def test_counters_are_apart_by_session_scope_and_key() -> None:
    state = MemoryState()
    await state.count("", "rule", b"a")
    assert await state.count("other", "rule", b"a") == 0
    assert await state.count("", "attempt", b"a") == 0
    assert await state.count("", "rule", b"b") == 0


async def test_a_reset_forgets_one_session() -> None:
    state = MemoryState()
    for session in ("one", "two"):
        await state.count(session, "rule", b"a")
    await state.reset("one")
    assert [await state.count(s, "rule", b"a") for s in ("one", "two")] == [0, 1]


async def test_a_reset_without_a_session_forgets_all() -> None:
    state = MemoryState()
    await state.count("one", "rule", b"a")
    await state.reset()
    assert await state.count("one", "rule", b"a") == 0


async def test_old_counters_are_forgotten_past_the_bound() -> None:
    state = MemoryState(most=10)
    for number in range(11):
        await state.count("", "attempt", bytes([number]))
    assert await state.count("", "attempt", bytes([0])) == 0
    assert await state.count("", "attempt", bytes([10])) == 1
