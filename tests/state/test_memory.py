"""What only the store of one process does."""

from emulator.state.memory import MemoryState


async def test_old_counters_are_forgotten_past_the_bound() -> None:
    state = MemoryState(most=10)
    for number in range(11):
        await state.count("", "attempt", bytes([number]))
    assert await state.count("", "attempt", bytes([0])) == 0
    assert await state.count("", "attempt", bytes([10])) == 1
