"""A call that is charged in the memory of its process pays what the same charges cost in the accounts alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.errors import EmulatedError
from emulator.core.quota import Quota, Strategy, Unit
from emulator.core.storage import Account
from emulator.ratelimit import AdmissionController, Ticket
from emulator.ratelimit.strategies import open_account
from emulator.storage.documents import StorageLimits
from emulator.storage.memory import MemoryState
from tests.ratelimit.test_admission import chat, make_call, sent_by

_UNITS: tuple[Unit, ...] = ("requests", "input_tokens", "output_tokens", "tokens", "concurrency")
_AMOUNTS = {"requests": 5, "input_tokens": 40, "output_tokens": 60, "tokens": 100, "concurrency": 2}

quotas = st.lists(
    st.tuples(st.sampled_from(_UNITS), st.sampled_from(["bucket", "fixed", "sliding"]), st.integers(1, 40)),
    min_size=1,
    max_size=4,
)
calls = st.tuples(st.just("call"), st.integers(0, 30), st.integers(1, 70), st.sampled_from(["a", "b"]))
ends = st.tuples(st.just("end"), st.integers(0, 9), st.none() | st.integers(0, 70), st.just(""))
pauses = st.tuples(st.just("pause"), st.integers(1, 60), st.just(0), st.just(""))
steps = st.lists(st.one_of(calls, calls, ends, pauses), min_size=5, max_size=40)
Step = tuple[str, int, int | None, str]


@dataclass(slots=True, eq=False)
class Accounts:
    """Accounts of each caller, charged one by one."""

    quotas: Sequence[Quota]
    opened: dict[tuple[str, str], Account] = field(default_factory=dict)
    taken: dict[int, tuple[float, list[tuple[Account, int]]]] = field(default_factory=dict)

    def charge(self, ticket: int, principal: str, costs: dict[str, int], now: float) -> list[int] | None:
        found = []
        for quota in self.quotas:
            key = quota.name, principal if quota.per else ""
            found.append((self.opened.setdefault(key, open_account(quota)), costs[quota.unit]))
        if any(cost and account.wait(cost, now) is not None for account, cost in found):
            return None
        self.taken[ticket] = now, found
        return [account.take(ticket, cost, now) for account, cost in found]

    def settle(self, ticket: int, costs: dict[str, int], now: float) -> None:
        at, found = self.taken.pop(ticket)
        for account, taken in found:
            if taken != costs[account.quota.unit]:
                account.settle(ticket, taken, costs[account.quota.unit], at, now)


def _sum(prompt: int, output: int, place: int) -> dict[str, int]:
    counts = (1, prompt, output, prompt + output, place)
    return dict(zip(_UNITS, counts, strict=True))


@dataclass(slots=True, eq=False)
class Race:
    """Admission and accounts, step by step."""

    gate: AdmissionController
    alone: Accounts
    now: float = 0.0
    running: list[tuple[int, Ticket]] = field(default_factory=list)

    async def call(self, number: int, prompt: int, output: int, principal: str) -> None:
        call, request = make_call(chat(output), prompt_tokens=(prompt,)), sent_by(principal)
        left = self.alone.charge(number, principal, _sum(prompt, output, 1), self.now)
        ticket = self.gate.reserve_now(call, request, self.now)
        if ticket is not None:
            assert [units for _, units in ticket.left] == left
            self.running.append((number, ticket))
        else:
            assert left is None
            with pytest.raises(EmulatedError, match="rate_limited"):
                await self.gate.reserve(call, request, self.now)

    async def end(self, which: int, sent: int | None) -> None:
        if not self.running:
            return
        number, ticket = self.running.pop(which % len(self.running))
        costs = _sum(0, 0, 0) | {"requests": 0} if sent is None else _sum(ticket.costs[1], sent, 0)
        self.alone.settle(number, costs, self.now)
        if sent is None or sent != ticket.exact:
            await self.gate.release(ticket, sent, self.now)
            await self.gate.release(ticket, sent, self.now)  # a second time it changes nothing

    async def run(self, steps: list[Step]) -> None:
        for number, (kind, first, second, principal) in enumerate(steps):
            if kind == "pause":
                self.now += first / 8
            elif kind == "call":
                await self.call(number, first, second or 0, principal)
            else:
                await self.end(first, second)


@settings(max_examples=60, deadline=None)
@given(drawn=quotas, steps=steps)
def test_local_charges_equal_those_of_the_accounts_alone(
    drawn: list[tuple[Unit, Strategy, int]], steps: list[Step]
) -> None:
    found = tuple(
        Quota(
            name=f"q{number}",
            unit=unit,
            amount=_AMOUNTS[unit],
            window=0.0 if unit == "concurrency" else window / 8,
            strategy=strategy,
            per="principal" if number % 2 else None,
        )
        for number, (unit, strategy, window) in enumerate(drawn)
    )
    gate = AdmissionController(lambda *_: found, MemoryState())
    asyncio.run(Race(gate, Accounts(found)).run(steps))


QUOTA = Quota(name="q", unit="requests", amount=3, window=60.0, strategy="sliding")


async def test_two_equal_quotas_are_one() -> None:
    gate = AdmissionController(lambda *_: (QUOTA, QUOTA), MemoryState())
    for left in (2, 1, 0):
        ticket = gate.reserve_now(make_call(chat(1), prompt_tokens=(1,)), sent_by("a"), 0.0)
        assert ticket is not None
        assert ticket.left == [(QUOTA, left)]
    again = gate.reserve_now(make_call(chat(1), prompt_tokens=(1,)), sent_by("a"), 61.0)
    assert again is not None
    assert again.left == [(QUOTA, 2)]


async def test_account_that_another_one_evicts_is_not_charged_again() -> None:
    """Three accounts have room: the third caller's own evicts the oldest, which all share."""
    shared, own = replace(QUOTA, name="shared", amount=100), replace(QUOTA, name="own", amount=100, per="principal")
    gate = AdmissionController(lambda *_: (shared, own), MemoryState(StorageLimits(accounts=3)))
    left = []
    for principal in "abcccc":
        ticket = gate.reserve_now(make_call(chat(1), prompt_tokens=(1,)), sent_by(principal), 0.0)
        assert ticket is not None
        left.append(ticket.left[0][1])
    assert left == [99, 98, 97, 99, 98, 97]
