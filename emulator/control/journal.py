"""What was asked and what became of it."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import count

from emulator.control.entry import Attempts, Entry, Kept

LATEST = 10_000  # entries kept of a session
_MOST_ENTRIES = 100_000  # of all sessions
_MOST_FOLLOWED = 20_000  # different requests of a session of which attempts are counted
_MOST_KEPT = 32 * 1024**2  # bytes of requests and answers kept in all
Listener = Callable[[Entry], None]


class Journal:
    """The latest calls of each session, oldest first.

    ``listeners`` are told of each call once, such as the access log; ``watchers`` also of one that changes afterwards.
    For want of room some entries are ``forgotten`` and some ``emptied`` of what was sent and said.
    """

    def __init__(self, most_kept: int = _MOST_KEPT) -> None:
        self._sessions: dict[str, deque[Entry]] = {}
        self._order: deque[Entry] = deque()
        self._kept: deque[Entry] = deque()
        self._most_kept = self._room = most_kept
        self.forgotten = 0
        self.emptied = 0
        self._arrivals = count(1)
        self.latest = 0
        self._era = 0
        self._eras: dict[str, int] = {}
        self._attempts: dict[str, OrderedDict[bytes, Attempts]] = {}
        self.listeners: list[Listener] = []
        self.watchers: list[Listener] = []

    @property
    def size(self) -> int:
        """Of requests and answers that are kept."""
        return self._most_kept - self._room

    def arrive(self) -> int:
        """A number for a call that begins."""
        return next(self._arrivals)

    def era(self, session: str) -> tuple[int, int]:
        """Changes when a session is cleared: a call that began before is entered nowhere."""
        return self._era, self._eras.get(session, 0)

    def follow(self, session: str, identity: bytes, name: str) -> tuple[Attempts, str | None]:
        """Count one more attempt of equal requests; the attempts, and the id of the one before.

        What was asked longest ago is forgotten once there are too many.
        """
        known = self._attempts.setdefault(session, OrderedDict())
        attempts = known.get(identity)
        if attempts is None:
            attempts = known[identity] = Attempts()
            if len(known) > _MOST_FOLLOWED:
                known.popitem(last=False)
        else:
            known.move_to_end(identity)
        before, attempts.latest = attempts.latest, name
        attempts.count += 1
        return attempts, before

    def add(self, entry: Entry, most: int = LATEST) -> None:
        """Enter a call; a session keeps its latest ``most``."""
        self.latest += 1
        entry.seq = self.latest
        entries = self._sessions.get(entry.session)
        if entries is None:
            entries = self._sessions[entry.session] = deque()
        entries.append(entry)
        while len(entries) > most:
            self._drop(entries.popleft())
            self.forgotten += 1
        self._order.append(entry)
        if len(self._order) > _MOST_ENTRIES:
            self._forget_oldest()
        if entry.kept is not None:
            self._keep(entry, entry.kept)
        for listen in self.listeners:
            listen(entry)
        self.amend(entry)

    def amend(self, entry: Entry) -> None:
        """Tell whoever watches that more is known of a call."""
        for watch in self.watchers:
            watch(entry)

    def _keep(self, entry: Entry, kept: Kept) -> None:
        """Let the oldest bodies go that no longer fit."""
        self._kept.append(entry)
        self._room -= kept.size
        while self._room < 0 and len(self._kept) > 1:
            self._drop(self._kept.popleft())
            self.emptied += 1

    def _drop(self, entry: Entry) -> None:
        """Keep no more than the figures of a call."""
        if entry.kept is not None:
            self._room += entry.kept.size
            entry.kept = None
        entry.evidence = None

    def _forget_oldest(self) -> None:
        oldest = self._order.popleft()
        entries = self._sessions.get(oldest.session)
        if entries and entries[0] is oldest:
            self._drop(entries.popleft())
            self.forgotten += 1

    def find(self, name: str, session: str | None = None) -> Entry | None:
        """The latest entry with this id."""
        return next((entry for entry in reversed(list(self.of(session))) if entry.id == name), None)

    def since(self, seq: int) -> list[Entry]:
        """Calls that came after one, oldest first."""
        found = []
        for entry in reversed(self._order):
            if entry.seq <= seq:
                break
            found.append(entry)
        return found[::-1]

    def of(self, session: str | None = None) -> Iterable[Entry]:
        """One session's calls, or all, oldest first."""
        if session is not None:
            return self._sessions.get(session, ())
        return merge(*self._sessions.values(), key=lambda entry: entry.seq)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.of())

    def __len__(self) -> int:
        return sum(map(len, self._sessions.values()))

    def clear(self, session: str | None = None) -> None:
        """Forget one session's calls, or all."""
        if session is None:
            self._era += 1
        else:
            self._eras[session] = self._eras.get(session, 0) + 1
        for name in [*self._sessions] if session is None else [session]:
            for entry in self._sessions.pop(name, ()):
                self._drop(entry)
            self._attempts.pop(name, None)
        self._order = deque(entry for entry in self._order if entry.session in self._sessions)
        self._kept = deque(entry for entry in self._kept if entry.kept is not None)
