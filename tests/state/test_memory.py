"""What only the store of one process does."""

from emulator.core.quota import Charge, Quota
from emulator.state.memory import MemoryState


async def test_old_counters_are_forgotten_past_the_bound() -> None:
    state = MemoryState(most=10)
    for number in range(11):
        await state.count("", "attempt", bytes([number]))
    assert await state.count("", "attempt", bytes([0])) == 0
    assert await state.count("", "attempt", bytes([10])) == 1


async def test_a_session_with_more_than_its_share_forgets_its_own() -> None:
    state = MemoryState(most=10)
    await state.count("quiet", "rule", b"")
    for number in range(100):
        await state.count("loud", "attempt", bytes([number]))
    assert await state.count("quiet", "rule", b"") == 1
    assert await state.count("loud", "attempt", bytes([99])) == 1
    assert await state.count("loud", "attempt", bytes([0])) == 0


async def test_many_sessions_have_no_more_counters_than_one() -> None:
    state = MemoryState(most=10)
    for number in range(100):
        await state.count(str(number), "attempt", b"")
    assert sum(map(len, state._sessions.values())) == 10
    await state.reset("99")
    await state.reset()
    for number in range(11):
        await state.count("", "attempt", bytes([number]))
    assert sum(map(len, state._sessions.values())) == 10


async def test_accounts_of_whoever_may_ask_are_bounded() -> None:
    state = MemoryState()
    quota = Quota(name="q", unit="requests", amount=1, window=3600.0, strategy="fixed", per="principal")
    for number in range(20_001):
        ticket = number.to_bytes(8, "big")
        await state.spend("", ticket, [Charge(quota, str(number), 1)], 0.0)
        await state.settle("", ticket, [1], 0.0)
    assert len(state._quotas[""].accounts) == 20_000
    (latest,) = await state.spend("", b"again", [Charge(quota, "20000", 1)], 0.0)
    assert latest.wait is not None


async def test_a_counter_that_is_used_stays() -> None:
    state = MemoryState(most=10)
    for number in range(30):
        assert await state.count("", "rule", b"nth") == number
        await state.count("", "attempt", bytes([number]))
