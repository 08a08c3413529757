"""Sessions: isolated state on a shared server, within a bound of memory."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from emulator.core.errors import ProblemError
from emulator.core.json import JSON
from emulator.scenario.parsed import ParsedScenario

IDLE = 3600.0  # real seconds after which an unused session is forgotten
MOST = 10_000  # sessions that share the server's scenario and ports; the least recently used is forgotten
MOST_OWN = 2_000  # sessions with a scenario, clock or port of their own
MOST_WEIGHT = 256 * 1024**2  # bytes of their scenarios, as read and as compiled

log = logging.getLogger("emulator")
W = TypeVar("W")


@dataclass(slots=True, eq=False)
class Session(Generic[W]):
    """One session.

    Fields:
        used: when it was last used, seconds by :func:`time.monotonic`.
        active: its own scenario at work; ``None``: the server's.
        weight: bytes of that scenario, roughly.
    """

    name: str
    used: float
    calls: int = 0
    active: W | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many sessions there may be; the names of :data:`MOST` and the others say what of."""

    most: int = MOST
    own: int = MOST_OWN
    weight: int = MOST_WEIGHT


class Sessions(Generic[W]):
    """Those that exist, the least recently used first; ``forget`` is told of each that is forgotten.

    Whoever calls a vendor makes a session by its name alone: beyond a bound the least recently used of these go. Those
    that were set up by a control request never make room for others; :meth:`explain_full` says whether more fit in.
    Each goes ``idle`` real seconds after it was last used.

    Fields:
        forgotten: how many went for the sake of others.
    """

    def __init__(
        self,
        forget: Callable[[Session[W]], None],
        now: Callable[[], float] = time.monotonic,
        room: SessionLimits = SessionLimits(),  # it is frozen
        idle: float = IDLE,
    ) -> None:
        self._forget = forget
        self._now = now
        self.limits = room
        self._idle = idle
        self._plain: OrderedDict[str, Session[W]] = OrderedDict()
        self._own: OrderedDict[str, Session[W]] = OrderedDict()
        self.forgotten = 0

    def use(self, name: str) -> Session[W]:
        """A session by its name; it exists from its first use."""
        now = self._now()
        group = self._own if name in self._own else self._plain
        session = group.get(name)
        if session is None:
            session = group[name] = Session(name, now)
            self._make_room()
            self._forget_old(now)
        else:
            session.used = now
            group.move_to_end(name)
        return session

    def keep(self, name: str, weight: int | None = None) -> Session[W]:
        """Return a session that has something of its own from now on; ``weight``: of its scenario, if that is new."""
        session = self.use(name)
        if self._plain.pop(name, None) is not None:
            self._own[name] = session
        if weight is not None:
            session.weight = weight
        return session

    def explain_full(self, name: str, weight: int = 0) -> str | None:
        """Return why a session cannot have something of its own, such as a scenario of so many bytes, if it cannot."""
        others = [session.weight for session in self._own.values() if session.name != name]
        if len(others) >= self.limits.own:
            return f"{self.limits.own:,} sessions have a scenario, clock or port of their own"
        if weight and sum(others) + weight > self.limits.weight:
            limit, own = self.limits.weight // 1024**2, weight // 1024
            return f"scenarios of sessions take {limit} MiB with this one of {own:,} KiB"
        return None

    @property
    def own(self) -> int:
        """How many have something of their own."""
        return len(self._own)

    def find(self, name: str) -> Session[W] | None:
        """A session that exists; looking is no use of it."""
        return self._own.get(name) or self._plain.get(name)

    def end(self, name: str) -> bool:
        """Forget a session; false if there is none of the name."""
        session = self._own.pop(name, None) or self._plain.pop(name, None)
        if session is None:
            return False
        self._forget(session)
        return True

    def __iter__(self) -> Iterator[Session[W]]:
        return iter([*self._own.values(), *self._plain.values()])

    def forget_idle(self) -> None:
        """Forget those that nobody has used for long."""
        self._forget_old(self._now())

    def _make_room(self) -> None:
        while len(self._plain) > self.limits.most:
            if not self.forgotten:
                log.warning(
                    "more than %s sessions: the least recently used are forgotten from now on, "
                    "but for those with a scenario, clock or port of their own",
                    f"{self.limits.most:,}",
                )
            self.forgotten += 1
            self.end(next(iter(self._plain)))

    def _forget_old(self, now: float) -> None:
        for group in (self._plain, self._own):
            while group and now - next(iter(group.values())).used > self._idle:
                self.end(next(iter(group)))


_LEAST = 50 * 1024  # bytes of a world whose scenario says nothing
_VALUE = 1536  # bytes of one value of a file once it is a rule and compiled; measured: 600 to 1,900
_LETTER = 2  # bytes of one of a text, as read and as joined


def estimate_size(loaded: ParsedScenario) -> int:
    """Return the bytes of a scenario at work, roughly."""
    values, letters = _count(loaded.data)
    return _LEAST + _VALUE * values + _LETTER * (letters + sum(map(len, loaded.answers.texts.values())))


def _count(data: JSON) -> tuple[int, int]:
    """Return how many values there are, and the length of all texts."""
    values = letters = 0
    todo: list[JSON] = [data]
    while todo:
        value = todo.pop()
        values += 1
        if isinstance(value, str):
            letters += len(value)
        elif isinstance(value, dict):
            todo += value.values()
            letters += sum(map(len, value))
        elif isinstance(value, list):
            todo += value
    return values, letters


def require_capacity(sessions: Sessions[W], session: str, weight: int = 0) -> None:
    """Refuse something of its own to a session where there is no room; ``weight``: of its scenario.

    Raises:
        ProblemError: 429, with the reason.
    """
    reason = sessions.explain_full(session, weight) if session else None
    if reason is not None:
        raise ProblemError(
            429, "No room for a session", f"{reason}; end some that are done, or start another emulator."
        )
