"""Sessions: worlds of their own on a shared server, as long as somebody uses them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

IDLE = 3600.0  # real seconds after which an unused session is forgotten
MOST = 10_000  # sessions; the least recently used is forgotten

W = TypeVar("W")


@dataclass(slots=True, eq=False)
class Session(Generic[W]):
    """One session.

    Fields:
        used: when it was last used, seconds by :func:`time.monotonic`.
        world: its own scenario at work; ``None``: the server's.
    """

    name: str
    used: float
    calls: int = 0
    world: W | None = None


class Sessions(Generic[W]):
    """Those that exist, the least recently used first; ``forget`` is told of each that is forgotten.

    ``most`` of them are kept, each for ``idle`` real seconds after it was last used.
    """

    def __init__(
        self,
        forget: Callable[[Session[W]], None],
        now: Callable[[], float] = time.monotonic,
        most: int = MOST,
        idle: float = IDLE,
    ) -> None:
        self._forget = forget
        self._now = now
        self._most = most
        self._idle = idle
        self._sessions: OrderedDict[str, Session[W]] = OrderedDict()

    def use(self, name: str) -> Session[W]:
        """A session by its name; it exists from its first use."""
        now = self._now()
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = Session(name, now)
            self._forget_old(now)
        else:
            session.used = now
            self._sessions.move_to_end(name)
        return session

    def find(self, name: str) -> Session[W] | None:
        """A session that exists; looking is no use of it."""
        return self._sessions.get(name)

    def end(self, name: str) -> bool:
        """Forget a session; false if there is none of the name."""
        session = self._sessions.pop(name, None)
        if session is None:
            return False
        self._forget(session)
        return True

    def __iter__(self) -> Iterator[Session[W]]:
        return iter([*self._sessions.values()])

    def forget_idle(self) -> None:
        """Forget those that nobody has used for long."""
        self._forget_old(self._now())

    def _forget_old(self, now: float) -> None:
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if len(self._sessions) <= self._most and now - oldest.used <= self._idle:
                return
            self.end(oldest.name)
