"""What only the store of one process does."""

from emulator.storage.documents import StorageLimits
from emulator.storage.memory import MemoryState


async def test_counters_are_bounded_across_sessions() -> None:
    state = MemoryState(StorageLimits(counters=10))
    for number in range(100):
        await state.count(str(number), "attempt", b"")
    assert sum(map(len, state._sessions.values())) == 10
    await state.reset("99")
    await state.reset()
    for number in range(11):
        await state.count("", "attempt", bytes([number]))
    assert sum(map(len, state._sessions.values())) == 10
