"""How long clients may take, by a clock that the test moves."""

import asyncio
from dataclasses import dataclass, field
from math import inf

import pytest

from emulator.server.patience import Patience, Phase, Sight, TimeLimits, keep_house

LIMITS = TimeLimits(head=30, body=120, idle=600)


@dataclass
class Client:
    """Does what it is told to, and keeps how it was ended."""

    sight: Sight
    ended: list[Phase] = field(default_factory=list)
    seen: Sight | None = None
    since: float = 0.0
    peer: str = "127.0.0.1"

    def look(self) -> Sight:
        return self.sight

    def end(self, phase: Phase) -> None:
        self.ended.append(phase)


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("phase", "limit"),
    [(Phase.HEAD, 30.0), (Phase.BODY, 120.0), (Phase.IDLE, 600.0), (Phase.UNREAD, 600.0)],
)
def test_who_takes_too_long_is_ended(phase: Phase, limit: float) -> None:
    time, client = Time(), Client(Sight(phase))
    patience = Patience(LIMITS, time)
    patience.look([client])
    time.now += limit - 1
    patience.look([client])
    assert not client.ended
    time.now += 1
    patience.look([client])
    assert client.ended == [phase]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(Sight(Phase.IDLE, 1), Sight(Phase.IDLE, 2), id="a request came and went"),
        pytest.param(Sight(Phase.UNREAD, 1, 900), Sight(Phase.UNREAD, 1, 899), id="a byte of the answer was read"),
        pytest.param(Sight(Phase.IDLE, 1), Sight(Phase.HEAD, 1), id="a request begins"),
    ],
)
def test_who_does_something_begins_anew(first: Sight, then: Sight) -> None:
    time, client = Time(), Client(first)
    patience = Patience(LIMITS, time)
    patience.look([client])
    time.now += 599
    client.sight = then
    patience.look([client])
    time.now += 29
    patience.look([client])
    assert not client.ended


@pytest.mark.parametrize("limits", [LIMITS, TimeLimits(inf, inf, inf)], ids=["the usual limits", "no limits"])
def test_whoever_waits_for_us_may_wait(limits: TimeLimits) -> None:
    time, client = Time(), Client(Sight(Phase.ANSWER))
    patience = Patience(limits, time)
    for _ in range(3):
        patience.look([client])
        time.now += 1e6
    assert not client.ended


async def test_chores_are_done_until_it_is_cancelled_whatever_one_does(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.Event()

    def fail() -> None:
        raise RuntimeError("a bug")

    keeping = asyncio.create_task(keep_house(TimeLimits(1e-9, inf, inf), [fail, done.set]))
    await done.wait()
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert "a chore was not done" in caplog.text
