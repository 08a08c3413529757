"""Counters of calls."""

import pytest

from emulator.core.quota import Charge, Quota
from emulator.core.storage import DocumentsError, State


async def test_count_returns_previous_value(state: State) -> None:
    assert [await state.count("", "rule", b"a") for _ in range(3)] == [0, 1, 2]


async def test_counters_are_separate_by_session_scope_and_key(state: State) -> None:
    await state.count("", "rule", b"a")
    assert await state.count("other", "rule", b"a") == 0
    assert await state.count("", "attempt", b"a") == 0
    assert await state.count("", "rule", b"b") == 0


@pytest.mark.parametrize("admits", [False, True], ids=["a count", "an admission"])
async def test_count_raises_on_unexpected_documents(state: State, admits: bool) -> None:
    quota = Quota(name="q", unit="requests", amount=9, window=60.0)

    async def ask(ticket: bytes) -> int:
        if not admits:
            return await state.count("", "attempt", b"a", "shelf")
        before, [balance] = await state.admit("", "attempt", b"a", ticket, [Charge(quota, "", 1)], 0.0, "shelf")
        assert balance.left == 8 - before
        return before

    await state.store("", "other", "a", 1, None)
    await state.store("another", "shelf", "a", 1, None)
    assert await ask(b"1") == 0
    await state.store("", "shelf", "a", 1, None)
    with pytest.raises(DocumentsError):
        await ask(b"2")
    await state.store("", "shelf", "a", None, 1)
    assert await ask(b"3") == 1


async def test_reset_clears_one_session(state: State) -> None:
    for session in ("one", "two"):
        await state.count(session, "rule", b"a")
    await state.reset("one")
    assert [await state.count(s, "rule", b"a") for s in ("one", "two")] == [0, 1]


async def test_reset_without_session_clears_all(state: State) -> None:
    await state.count("one", "rule", b"a")
    await state.reset()
    assert await state.count("one", "rule", b"a") == 0


async def test_oldest_counters_are_evicted_past_bound(small: State) -> None:
    for number in range(30):
        assert await small.count("", "attempt", bytes([number])) == 0
    assert await small.count("", "attempt", bytes([29])) == 1
    assert await small.count("", "attempt", bytes([0])) == 0


async def test_used_counter_is_not_evicted(small: State) -> None:
    for number in range(30):
        assert await small.count("", "rule", b"nth") == number
        await small.count("", "attempt", bytes([number]))


async def test_session_over_share_evicts_only_its_counters(small: State) -> None:
    await small.count("quiet", "rule", b"")
    for number in range(100):
        await small.count("loud", "attempt", bytes([number]))
    assert await small.count("quiet", "rule", b"") == 1
    assert await small.count("loud", "attempt", bytes([99])) == 1
    assert await small.count("loud", "attempt", bytes([0])) == 0
