"""Random schedules: the store behaves like a slow, exact reference."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.core.quota import Charge, Quota
from emulator.core.storage import State
from tests.storage.conftest import NewState
from tests.storage.reference import Ledger, Reference

pytestmark = pytest.mark.slow

EIGHTH = Fraction(1, 8)  # seconds; exact in floating point too
MARGIN = Fraction(1, 1000)

quotas = st.lists(
    st.one_of(
        st.builds(
            Quota,
            name=st.just(""),
            unit=st.just("tokens"),
            amount=st.integers(8, 40),
            window=st.integers(1, 80).map(lambda eighths: eighths / 8),
            strategy=st.sampled_from(["bucket", "fixed", "sliding"]),
        ),
        st.builds(Quota, name=st.just(""), unit=st.just("concurrency"), amount=st.integers(1, 3)),
    ),
    min_size=1,
    max_size=4,
)


@dataclass(frozen=True, slots=True)
class Spend:
    """A call; it takes costs of as many quotas as there are."""

    costs: tuple[int, ...]
    scope: str
    session: str
    length: int | None  # eighths of a second


@dataclass(frozen=True, slots=True)
class Settle:
    """One of the running calls ends."""

    which: int
    costs: tuple[int, ...]


four = st.tuples(*[st.integers(0, 14)] * 4)
spends = st.builds(
    Spend, four, st.sampled_from(["", "", "", "b"]), st.sampled_from(["", "", "", "s"]), st.none() | st.integers(1, 200)
)
settles = st.builds(Settle, st.integers(0, 9), four)
advances = st.integers(1, 30)
schedules = st.lists(st.one_of(spends, spends, settles, advances), min_size=30, max_size=60)


def _bill(quotas: Sequence[Quota], costs: Sequence[int], scope: str) -> list[Charge]:
    return [
        Charge(quota, scope, 1 if quota.unit == "concurrency" else cost)
        for quota, cost in zip(quotas, costs, strict=False)
    ]


class Race:
    """Store and reference, step by step."""

    def __init__(self, state: State, quotas: Sequence[Quota]) -> None:
        self.state = state
        self.reference = Reference()
        self.quotas = quotas
        self.now = Fraction(0)
        self.running: list[tuple[str, bytes, Sequence[Charge]]] = []
        self.number = 0

    async def spend(self, step: Spend) -> None:
        self.number += 1
        ticket = b"%d" % self.number
        charges = _bill(self.quotas, step.costs, step.scope)
        expected = self.reference.spend(step.session, ticket, charges, self.now)
        balances = await self.state.spend(step.session, ticket, charges, float(self.now))
        assert all(balance.wait is None for balance in balances) == expected
        ledgers = list(self.reference.find(step.session, charges))
        assert [balance.left for balance in balances] == [ledger.left(self.now) for ledger in ledgers]
        for ledger, charge, balance in zip(ledgers, charges, balances, strict=True):
            if balance.wait is not None:
                self.check_wait(ledger, charge.cost, balance.wait)
        if expected:
            self.running.append((step.session, ticket, charges))
            if step.length is not None:
                await self.state.set_expected_end(step.session, ticket, float(self.now + step.length * EIGHTH))
                self.reference.expect(ticket, self.now + step.length * EIGHTH)

    def check_wait(self, ledger: Ledger, cost: int, wait: float) -> None:
        """Enough after the wait, and not a moment before."""
        if cost > ledger.quota.amount:
            assert wait == ledger.quota.window
        elif wait == inf:
            assert not ledger.fits(cost, Fraction(10**9))
        else:
            end = self.now + Fraction(wait)
            assert ledger.fits(cost, end + MARGIN)
            assert wait < MARGIN or not ledger.fits(cost, end - MARGIN)

    async def settle(self, step: Settle) -> None:
        if self.running:
            session, ticket, charges = self.running.pop(step.which % len(self.running))
            costs = [
                0 if charge.quota.unit == "concurrency" else cost
                for charge, cost in zip(charges, step.costs, strict=False)
            ]
            await self.state.settle(session, ticket, costs, float(self.now))
            self.reference.settle(ticket, costs, self.now)

    async def run(self, schedule: Sequence[Spend | Settle | int]) -> None:
        for step in schedule:
            if isinstance(step, Spend):
                await self.spend(step)
            elif isinstance(step, Settle):
                await self.settle(step)
            else:
                self.now += step * EIGHTH


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(quotas=quotas, schedule=schedules)
def test_store_agrees_with_reference(
    new_state: NewState, quotas: list[Quota], schedule: list[Spend | Settle | int]
) -> None:
    named = [
        Quota(name=str(i), unit=q.unit, amount=q.amount, window=q.window, strategy=q.strategy)
        for i, q in enumerate(quotas)
    ]
    asyncio.run(_race(new_state, named, schedule))


async def _race(new_state: NewState, quotas: Sequence[Quota], schedule: Sequence[Spend | Settle | int]) -> None:
    async with new_state() as state:
        await Race(state, quotas).run(schedule)


@settings(max_examples=20, deadline=None)
@given(
    strategy=st.sampled_from(["fixed", "sliding", "bucket"]),
    arrivals=st.lists(st.tuples(st.integers(0, 24), st.integers(1, 20), st.integers(0, 20)), min_size=1, max_size=60),
)
def test_no_window_exceeds_its_limit(new_state: NewState, strategy: str, arrivals: list[tuple[int, int, int]]) -> None:
    quota = Quota(name="q", unit="tokens", amount=20, window=4.0, strategy=strategy)  # type: ignore[arg-type]
    given_out = asyncio.run(_give_out(new_state, quota, arrivals))
    most = 40 if strategy == "bucket" else 20
    starts = {at // 32 * 32 if strategy == "fixed" else at for at, _ in given_out}
    assert all(sum(cost for at, cost in given_out if start <= at < start + 32) <= most for start in starts)


async def _give_out(
    new_state: NewState, quota: Quota, arrivals: Sequence[tuple[int, int, int]]
) -> list[tuple[int, int]]:
    """When (eighths of a second) how much was really sent, each call settled at once."""
    given_out = []
    now = 0
    async with new_state() as state:
        for number, (pause, reserved, sent) in enumerate(arrivals):
            now += pause
            ticket = b"%d" % number
            (balance,) = await state.spend("", ticket, [Charge(quota, "", reserved)], now / 8)
            if balance.wait is None:
                cost = min(sent, reserved)
                await state.settle("", ticket, [cost], now / 8)
                given_out.append((now, cost))
    return given_out
