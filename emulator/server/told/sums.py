"""What one vendor's calls add up to, in all and by session."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from emulator.control.totals import OTHER, Counted, Totals

_MOST_SESSIONS = 1000  # that have sums of their own; those used longest ago go first
_MOST_OF_SESSION = 200  # different labels
_MOST_KNOWN = 10_000  # deployments with a name of their own


class Ended(Counted, Protocol):
    """What an exchange leaves behind; ``over``: nothing of it changes any more, as long as it is still being sent."""

    @property
    def over(self) -> bool: ...

    @property
    def path(self) -> str: ...

    @property
    def session(self) -> str: ...


class Sums:
    """Counts calls once they are over; ``provider``: by a path, as OpenTelemetry names it."""

    def __init__(self, provider: Callable[[str], str]) -> None:
        self._provider = provider
        self._known: dict[str | None, str] = {None: ""}
        self._all = Totals()
        self._sessions: OrderedDict[str, Totals] = OrderedDict()
        self._open: list[Sequence[Ended]] = []

    def know(self, names: Iterable[str]) -> None:
        """These deployments are counted by their names from now on."""
        for name in names:
            if len(self._known) < _MOST_KNOWN:
                self._known[name] = name

    def add(self, kinds: Iterable[Sequence[Ended]]) -> None:
        """Count some, each sequence of one kind; those that are not over wait."""
        some, self._open = [*self._open, *kinds], []
        for alike in some:
            if alike[0].over:
                self._count(alike)
            else:
                self._open.append(alike)

    def _count(self, calls: Sequence[Ended]) -> None:
        """Count some of one kind."""
        call = calls[0]
        model = self._known.get(call.deployment, OTHER)
        labels = call.operation, self._provider(call.path), model, call.status, call.failure
        self._all.add(calls, labels)
        if call.session:
            self._take(call.session).add(calls, labels)

    def _take(self, session: str) -> Totals:
        totals = self._sessions.get(session)
        if totals is None:
            totals = self._sessions[session] = Totals(_MOST_OF_SESSION)
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(session)
        return totals

    def of(self, session: str | None) -> Totals:
        """Of all calls, or of a session's."""
        self.add(())
        return self._all if session is None else self._sessions.get(session) or Totals()

    def forget(self, session: str) -> None:
        """A session is over."""
        self.add(())
        self._sessions.pop(session, None)
