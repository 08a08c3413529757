"""Sessions: isolated state on a shared server by name, evicted when idle or beyond limits of number and memory.

``runtime.py`` looks up the session of each request.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import ProblemError
from emulator.core.json import JSON
from emulator.scenario.parsed import ParsedScenario

IDLE_TIMEOUT = 3600.0  # wall-clock seconds after which an unused session is evicted
MAX_SESSIONS = 10_000  # with the server's scenario and ports; the least recently used is evicted
MAX_OWN = 2_000  # sessions with a scenario, clock or port of their own
MAX_WEIGHT = 128 * 1024**2  # bytes of their scenarios; a garbage collection over 256 MiB of them takes 0.25 s

log = logging.getLogger("emulator")
W = TypeVar("W")


@fast_dataclass(slots=True, eq=False)
class Session(Generic[W]):
    """Session: isolated state by name.

    Fields:
        used: time of the last use, seconds by :func:`time.monotonic`.
        active: active scenario of the session; ``None``: the server's.
        weight: estimated bytes of that scenario.
    """

    name: str
    used: float
    calls: int = 0
    active: W | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Limits of the sessions; see :data:`MAX_SESSIONS`, :data:`MAX_OWN` and :data:`MAX_WEIGHT`."""

    max_sessions: int = MAX_SESSIONS
    max_own: int = MAX_OWN
    max_weight: int = MAX_WEIGHT


class Sessions(Generic[W]):
    """LRU collection of sessions; ``forget`` is called for each evicted or ended session.

    A vendor request creates its session by name; beyond the maximum the least recently used of these is evicted.
    Sessions set up by a control request are never evicted for others; :meth:`explain_full` reports their capacity.
    Every session is evicted ``idle`` wall-clock seconds after its last use.

    Fields:
        evicted: number of sessions evicted for others.
    """

    def __init__(
        self,
        forget: Callable[[Session[W]], None],
        now: Callable[[], float] = time.monotonic,
        limits: SessionLimits = SessionLimits(),  # frozen
        idle: float = IDLE_TIMEOUT,
    ) -> None:
        self._forget = forget
        self._now = now
        self.limits = limits
        self._idle = idle
        self._shared: OrderedDict[str, Session[W]] = OrderedDict()
        self._own: OrderedDict[str, Session[W]] = OrderedDict()
        self.evicted = 0

    def use(self, name: str) -> Session[W]:
        """Return a session and mark it as used; create it on first use."""
        now = self._now()
        group = self._own if name in self._own else self._shared
        session = group.get(name)
        if session is None:
            session = group[name] = Session(name, now)
            self._evict_shared()
            self._evict_idle(now)
        else:
            session.used = now
            group.move_to_end(name)
        return session

    def keep(self, name: str, weight: int | None = None) -> Session[W]:
        """Mark a session as having state of its own and return it; ``weight``: bytes of its new scenario."""
        session = self.use(name)
        if self._shared.pop(name, None) is not None:
            self._own[name] = session
        if weight is not None:
            session.weight = weight
        return session

    def explain_full(self, name: str, weight: int = 0) -> str | None:
        """Return why a session cannot have a clock, port or scenario of its own; ``None`` if it can.

        ``weight``: bytes of the scenario.
        """
        others = [session.weight for session in self._own.values() if session.name != name]
        if len(others) >= self.limits.max_own:
            return f"{self.limits.max_own:,} sessions have a scenario, clock or port of their own"
        if weight and sum(others) + weight > self.limits.max_weight:
            limit, own = self.limits.max_weight // 1024**2, weight // 1024
            return f"scenarios of sessions take {limit} MiB with this one of {own:,} KiB"
        return None

    @property
    def own(self) -> int:
        """Return the number of sessions with state of their own."""
        return len(self._own)

    def find(self, name: str) -> Session[W] | None:
        """Return an existing session without marking it as used."""
        return self._own.get(name) or self._shared.get(name)

    def end(self, name: str) -> bool:
        """End a session; return false if there is none of the name."""
        session = self._own.pop(name, None) or self._shared.pop(name, None)
        if session is None:
            return False
        self._forget(session)
        return True

    def __iter__(self) -> Iterator[Session[W]]:
        return iter([*self._own.values(), *self._shared.values()])

    def evict_idle(self) -> None:
        """Evict the sessions that were unused for ``idle`` seconds."""
        self._evict_idle(self._now())

    def _evict_shared(self) -> None:
        while len(self._shared) > self.limits.max_sessions:
            if not self.evicted:
                log.warning(
                    "more than %s sessions: the least recently used are dropped from now on, "
                    "except those with a scenario, clock or port of their own",
                    f"{self.limits.max_sessions:,}",
                )
            self.evicted += 1
            self.end(next(iter(self._shared)))

    def _evict_idle(self, now: float) -> None:
        for group in (self._shared, self._own):
            while group and now - next(iter(group.values())).used > self._idle:
                self.end(next(iter(group)))


_MIN_SIZE = 50 * 1024  # bytes of an active scenario without content
_VALUE = 1536  # bytes of one value of a file after compilation; measured: 600 to 1,900
_CHARACTER = 2  # bytes of one character, as read and as joined


def estimate_size(loaded: ParsedScenario) -> int:
    """Estimate the bytes of an active scenario."""
    values, characters = _count(loaded.data)
    return _MIN_SIZE + _VALUE * values + _CHARACTER * (characters + sum(map(len, loaded.answers.texts.values())))


def _count(data: JSON) -> tuple[int, int]:
    """Return the number of values and the total length of all texts."""
    values = characters = 0
    todo: list[JSON] = [data]
    while todo:
        value = todo.pop()
        values += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, dict):
            todo += value.values()
            characters += sum(map(len, value))
        elif isinstance(value, list):
            todo += value
    return values, characters


def require_capacity(sessions: Sessions[W], session: str, weight: int = 0) -> None:
    """Validate that a session may have state of its own; ``weight``: bytes of its scenario.

    Raises:
        ProblemError: 429, with the reason.
    """
    reason = sessions.explain_full(session, weight) if session else None
    if reason is not None:
        raise ProblemError(
            429, "Too many sessions", f"{reason}; end sessions that are done, or start another emulator."
        )
