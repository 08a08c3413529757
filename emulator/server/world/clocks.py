"""The clock that a scenario asks for."""

from emulator.core.clock import EPOCH, Clock, FrozenClock, InstantClock, RealClock
from emulator.scenario import schema


def make_clock(wanted: schema.Clock, now: float | None = None) -> Clock:
    """The clock a scenario asks for; ``now``: what it says at first, in place of its own beginning."""
    if isinstance(wanted, schema.Scale):
        return RealClock(wanted.scale, now)
    if wanted == "real":
        return RealClock(now=now)
    begin = EPOCH if now is None else now
    return InstantClock(begin) if wanted == "instant" else FrozenClock(begin)
