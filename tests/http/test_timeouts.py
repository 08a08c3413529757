"""Client timeouts, with a clock that the test moves."""

import asyncio
from dataclasses import dataclass, field
from math import inf

import pytest

from emulator.http.timeouts import ConnectionPhase, TimeoutMonitor, Timeouts, run_housekeeping

LIMITS = Timeouts(head=30, body=120, idle=600)


@dataclass
class Client:
    """Fake connection that records how it was closed."""

    phase: ConnectionPhase
    moved: bool = True
    ended: list[ConnectionPhase] = field(default_factory=list)
    since: float = 0.0
    peer: str = "127.0.0.1"

    def has_progressed(self) -> bool:
        moved, self.moved = self.moved, False
        return moved

    def end(self, phase: ConnectionPhase) -> None:
        self.ended.append(phase)


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("phase", "limit"),
    [
        (ConnectionPhase.HEAD, 30.0),
        (ConnectionPhase.BODY, 120.0),
        (ConnectionPhase.IDLE, 600.0),
        (ConnectionPhase.UNREAD, 600.0),
    ],
)
def test_client_over_limit_is_closed(phase: ConnectionPhase, limit: float) -> None:
    time, client = Time(), Client(phase)
    patience = TimeoutMonitor(LIMITS, time)
    patience.check([client])
    time.now += limit - 1
    patience.check([client])
    assert not client.ended
    time.now += 1
    patience.check([client])
    assert client.ended == [phase]


def test_progress_restarts_timeout() -> None:
    time, client = Time(), Client(ConnectionPhase.IDLE)
    patience = TimeoutMonitor(LIMITS, time)
    patience.check([client])
    time.now += 599
    client.moved = True
    patience.check([client])
    time.now += 599
    patience.check([client])
    assert not client.ended


@pytest.mark.parametrize("limits", [LIMITS, Timeouts(inf, inf, inf)], ids=["the usual limits", "no limits"])
def test_client_awaiting_response_never_times_out(limits: Timeouts) -> None:
    time, client = Time(), Client(ConnectionPhase.ANSWER)
    patience = TimeoutMonitor(limits, time)
    for _ in range(3):
        patience.check([client])
        time.now += 1e6
    assert not client.ended


async def test_housekeeping_continues_after_task_failure(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.Event()

    def fail() -> None:
        raise RuntimeError("a bug")

    keeping = asyncio.create_task(run_housekeeping(Timeouts(1e-9, inf, inf), [fail, done.set]))
    await done.wait()
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert "a housekeeping task failed" in caplog.text
