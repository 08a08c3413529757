"""Quotas: what each strategy gives, when it comes back, and what settling changes."""

from collections.abc import Sequence
from math import inf

import pytest

from emulator.core.quota import Balance, Charge, Quota, Strategy, Unit
from emulator.core.storage import State

MINUTE: dict[Strategy, Quota] = {
    strategy: Quota(name=strategy, unit="tokens", amount=60, window=60.0, strategy=strategy)
    for strategy in ("bucket", "fixed", "sliding")
}
PLACES = Quota(name="places", unit="concurrency", amount=2)


class Till:
    """One session's buyer: numbers its tickets."""

    def __init__(self, state: State, session: str = "") -> None:
        self._state = state
        self._session = session
        self._number = 0

    async def buy(self, cost: int, now: float, *quotas: Quota, scope: str = "") -> tuple[bytes, Sequence[Balance]]:
        self._number += 1
        ticket = b"%d" % self._number
        charges = [Charge(quota, scope, cost) for quota in quotas]
        return ticket, await self._state.spend(self._session, ticket, charges, now)

    async def wait(self, cost: int, now: float, *quotas: Quota, scope: str = "") -> list[float | None]:
        return [balance.wait for balance in (await self.buy(cost, now, *quotas, scope=scope))[1]]

    async def left(self, quota: Quota, now: float, scope: str = "") -> int:
        return (await self.buy(0, now, quota, scope=scope))[1][0].left


@pytest.fixture
def till(state: State) -> Till:
    return Till(state)


@pytest.mark.covers("language/strategies", "bucket", "fixed", "sliding")
@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
async def test_quota_of_60_per_minute_admits_exactly_60(till: Till, strategy: Strategy) -> None:
    waits = [await till.wait(1, 0.0, MINUTE[strategy]) for _ in range(61)]
    assert waits[:60] == [[None]] * 60
    assert waits[60][0] is not None


@pytest.mark.parametrize(
    ("strategy", "spent", "cost", "now", "wait"),
    [
        pytest.param("bucket", [(60, 0.0)], 1, 0.0, 1.0, id="a bucket gives one back each second"),
        pytest.param("bucket", [(60, 0.0)], 10, 4.0, 6.0, id="what has run in since counts"),
        pytest.param("bucket", [(60, 0.0)], 60, 0.0, 60.0, id="a whole bucket takes a whole window"),
        pytest.param("bucket", [(30, 0.0), (60, 40.0)], 1, 40.0, 1.0, id="a full bucket does not run over"),
        pytest.param("bucket", [], 61, 5.0, 60.0, id="more than a bucket holds is never there"),
        pytest.param("fixed", [(60, 10.0)], 1, 15.0, 45.0, id="a fixed window ends as configured"),
        pytest.param("fixed", [(60, 61.0)], 60, 119.0, 1.0, id="the next window is whole again"),
        pytest.param("fixed", [], 61, 5.0, 60.0, id="more than a window holds is never there"),
        pytest.param("sliding", [(60, 10.0)], 1, 15.0, 55.0, id="a charge comes back after a window"),
        pytest.param("sliding", [(20, 0.0), (20, 10.0), (20, 20.0)], 30, 30.0, 40.0, id="as many charges as it takes"),
        pytest.param("sliding", [(20, 0.0), (40, 10.0)], 20, 30.0, 30.0, id="and no more of them"),
        pytest.param("sliding", [], 61, 5.0, 60.0, id="more than slides through is never there"),
    ],
)
async def test_wait_is_exact_time_until_charge_fits(
    till: Till, strategy: Strategy, spent: list[tuple[int, float]], cost: int, now: float, wait: float
) -> None:
    quota = MINUTE[strategy]
    for amount, time in spent:
        assert await till.wait(amount, time, quota) == [None]
    assert await till.wait(cost, now, quota) == [pytest.approx(wait)]
    if cost <= quota.amount:
        assert await till.wait(cost, now + wait - 0.001, quota) == [pytest.approx(0.001)]
        assert await till.wait(cost, now + wait, quota) == [None]


async def test_charges_are_all_or_nothing(till: Till) -> None:
    roomy = Quota(name="roomy", unit="tokens", amount=1000, window=60.0)
    assert await till.wait(61, 0.0, roomy, MINUTE["bucket"]) == [None, 60.0]
    assert await till.left(roomy, 0.0) == 1000
    assert await till.wait(60, 0.0, roomy, MINUTE["bucket"]) == [None, None]
    assert (await till.left(roomy, 0.0), await till.left(MINUTE["bucket"], 0.0)) == (940, 0)


async def test_every_refusing_quota_reports_wait(till: Till) -> None:
    quotas = list(MINUTE.values())
    await till.buy(60, 30.0, *quotas)
    assert await till.wait(1, 40.0, *quotas) == [None, 20.0, 50.0]
    assert await till.wait(20, 40.0, *quotas) == [pytest.approx(10.0), 20.0, 50.0]


async def test_scopes_and_sessions_have_separate_balances(state: State) -> None:
    one, two = Till(state, "one"), Till(state, "two")
    await one.buy(60, 0.0, MINUTE["fixed"], scope="search")
    assert await one.left(MINUTE["fixed"], 0.0, scope="search") == 0
    assert await one.left(MINUTE["fixed"], 0.0, scope="batch") == 60
    assert await two.left(MINUTE["fixed"], 0.0, scope="search") == 60


@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
@pytest.mark.parametrize(
    ("cost", "left"),
    [
        pytest.param(10, 50, id="what was not needed comes back"),
        pytest.param(40, 20, id="what was needed stays"),
        pytest.param(0, 60, id="a call that was refused costs nothing"),
        pytest.param(70, 0, id="more than was reserved is owed"),
    ],
)
async def test_settle_replaces_reservation_with_actual_cost(
    state: State, till: Till, strategy: Strategy, cost: int, left: int
) -> None:
    ticket, _ = await till.buy(40, 5.0, MINUTE[strategy])
    await state.settle("", ticket, [cost], 5.0)
    assert await till.left(MINUTE[strategy], 5.0) == left


@pytest.mark.parametrize(
    ("strategy", "left"),
    [
        pytest.param("bucket", 60, id="a bucket does not get fuller than full"),
        pytest.param("fixed", 60, id="another fixed window is not credited"),
        pytest.param("sliding", 60, id="a charge that came back does not come back twice"),
    ],
)
async def test_late_settle_refunds_nothing_twice(state: State, till: Till, strategy: Strategy, left: int) -> None:
    ticket, _ = await till.buy(40, 0.0, MINUTE[strategy])
    await state.settle("", ticket, [1], 61.0)
    assert await till.left(MINUTE[strategy], 61.0) == left


async def test_debt_is_included_in_wait(state: State, till: Till) -> None:
    ticket, _ = await till.buy(40, 0.0, MINUTE["bucket"])
    await state.settle("", ticket, [90], 0.0)
    assert await till.wait(0, 0.0, MINUTE["bucket"]) == [None]
    assert await till.wait(10, 0.0, MINUTE["bucket"]) == [pytest.approx(40.0)]


async def test_concurrency_slot_is_held_until_settled(state: State, till: Till) -> None:
    first, _ = await till.buy(1, 0.0, PLACES)
    await till.buy(1, 0.0, PLACES)
    assert await till.wait(1, 1e6, PLACES) == [inf]
    await state.settle("", first, [0], 1e6)
    assert await till.wait(1, 1e6, PLACES) == [None]


@pytest.mark.parametrize(
    ("ends", "wait"),
    [
        pytest.param([30.0, 20.0], 15.0, id="the first to end frees a slot"),
        pytest.param([30.0], 25.0, id="a call without an expected end frees none"),
        pytest.param([4.0], 0.0, id="who should have ended may do so at any moment"),
    ],
)
async def test_concurrency_wait_follows_expected_ends(state: State, till: Till, ends: list[float], wait: float) -> None:
    tickets = [(await till.buy(1, 0.0, PLACES))[0] for _ in range(2)]
    for ticket, end in zip(tickets, ends, strict=False):
        await state.set_expected_end("", ticket, end)
    assert await till.wait(1, 5.0, PLACES) == [wait]


@pytest.mark.parametrize("unit", ["tokens", "concurrency"])
@pytest.mark.parametrize("session", [pytest.param("", id="its own session"), pytest.param(None, id="all")])
async def test_reset_forgets_charges_and_reservations(
    state: State, till: Till, unit: Unit, session: str | None
) -> None:
    quota = Quota(name="q", unit=unit, amount=3, window=0.0 if unit == "concurrency" else 60.0)
    before, _ = await till.buy(1, 0.0, quota)
    await state.reset(session)
    assert await till.left(quota, 0.0) == 3
    after, _ = await till.buy(1, 0.0, quota)
    await state.settle("", before, [0], 0.0)
    await state.set_expected_end("", before, 9.0)
    assert await till.left(quota, 0.0) == 2
    await state.settle("", after, [0], 0.0)
    assert await till.left(quota, 0.0) == 3


# What anybody may look at


@pytest.mark.parametrize(
    ("strategy", "spent", "now", "left", "full_in"),
    [
        pytest.param("bucket", [(30, 0.0)], 0.0, 30, 30.0, id="a bucket fills by what was taken"),
        pytest.param("bucket", [(30, 0.0)], 10.0, 40, 20.0, id="a bucket that is filling"),
        pytest.param("bucket", [(30, 0.0)], 90.0, 60, 0.0, id="a bucket that is full again"),
        pytest.param("fixed", [(1, 10.0)], 15.0, 59, 45.0, id="a window is whole when the next begins"),
        pytest.param("sliding", [(5, 10.0), (5, 20.0)], 30.0, 50, 50.0, id="the last charge to come back"),
    ],
)
async def test_level_reports_remaining_amount_and_refill_time(
    state: State, till: Till, strategy: Strategy, spent: list[tuple[int, float]], now: float, left: int, full_in: float
) -> None:
    for amount, time in spent:
        await till.buy(amount, time, MINUTE[strategy], scope="search")
    [level] = await state.levels("", now)
    assert (level.quota, level.scope, level.left) == (MINUTE[strategy], "search", left)
    assert level.full_in == pytest.approx(full_in)


async def test_concurrency_level_refill_time_follows_expected_end(state: State, till: Till) -> None:
    ticket, _ = await till.buy(1, 0.0, PLACES)
    assert [(level.left, level.full_in) for level in await state.levels("", 1.0)] == [(1, None)]
    await state.set_expected_end("", ticket, 5.0)
    assert [(level.left, level.full_in) for level in await state.levels("", 1.0)] == [(1, 4.0)]


async def test_levels_are_per_session_and_reading_is_free(state: State, till: Till) -> None:
    await Till(state, "a").buy(7, 0.0, MINUTE["fixed"])
    assert await state.levels("", 0.0) == []
    assert await state.levels("a", 0.0) == await state.levels("a", 0.0)


@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
async def test_admit_counts_and_charges_together(state: State, strategy: Strategy) -> None:
    quota = MINUTE[strategy]
    found = [await state.admit("", "attempt", b"a", b"%d" % n, [Charge(quota, "", 25)], 0.0) for n in range(3)]
    assert [(before, balance.left, balance.wait is None) for before, (balance,) in found] == [
        (0, 35, True),
        (1, 10, True),
        (2, 10, False),  # a refused request was counted all the same
    ]
    assert await state.count("", "attempt", b"a") == 3
    await state.settle("", b"0", [5], 0.0)
    assert [level.left for level in await state.levels("", 0.0)] == [30]


async def test_quota_scopes_are_bounded(small: State) -> None:
    quota = Quota(name="q", unit="requests", amount=1, window=3600.0, strategy="fixed", per="principal")
    places = Quota(name="p", unit="concurrency", amount=1, per="principal")
    for number in range(6):
        for each in (quota, places):
            ticket = f"{each.name}{number}".encode()
            await small.spend("", ticket, [Charge(each, str(number), 1)], 0.0)
            await small.settle("", ticket, [1], 0.0)
    assert [(level.quota.name, level.scope) for level in await small.levels("", 0.0)] == [
        ("p", "4"),
        ("q", "5"),
        ("p", "5"),
    ]
    (latest,) = await small.spend("", b"again", [Charge(quota, "5", 1)], 0.0)
    (first,) = await small.spend("", b"first", [Charge(quota, "0", 1)], 0.0)
    assert (latest.wait is None, first.wait is None) == (False, True)


@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
async def test_held_units_must_be_available_and_are_not_charged(state: State, strategy: Strategy) -> None:
    quota, asked = MINUTE[strategy], []
    for number, held in enumerate((50, 51, 50, 60)):
        (balance,) = await state.spend("", b"%d" % number, [Charge(quota, "", 10, 0, held)], 0.0)
        asked.append((balance.left, balance.wait is None))
    assert asked == [(50, True), (50, False), (50, False), (50, False)]
