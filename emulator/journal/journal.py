"""What was asked and what became of it."""

from __future__ import annotations

from asyncio import Lock
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from operator import attrgetter
from typing import Protocol

from emulator.journal.record import Attempts, JournalEntry, JournalItem

LATEST = 10_000  # entries kept of a session
_MOST_ENTRIES = 100_000  # of all sessions
_MOST_FOLLOWED = 20_000  # different requests of a session of which attempts are counted
_MOST_ERAS = 20_000  # sessions that were cleared, of which calls may still be under way
_SPARE = 1000  # entries of calls that are gone and not yet looked for
_AT_ONCE = 100  # calls that are looked at before others have their turn
_MOST_KEPT = 32 * 1024**2  # bytes of requests and answers kept in all
_FRESH = 200  # calls that wait to be entered
WORLD = 32 * 1024  # bytes that a scenario counts as long as a call is kept that it explains; what one takes at least
Listener = Callable[[JournalItem], None]
_read_number = attrgetter("seq")


class Attempt(JournalItem, Protocol):
    """A call that may be entered by and by."""

    @property
    def fingerprint(self) -> bytes:
        """What makes its request the same as another."""

    def join(self, attempts: Attempts, before: str | None) -> None:
        """It is one more of these attempts, after the one with that id."""


class Journal:
    """The latest calls of each session, oldest first; the entry of one is made when somebody reads it.

    ``listeners`` are told of each call once, such as the access log; ``watchers`` also of one that changes afterwards.
    Whoever reads each call as it comes makes it dear: :meth:`JournalItem.glance` is cheap.
    Calls that need not be told of at once are entered some hundred at a time, or when somebody asks for anything.
    Whoever reads many calls holds ``reading`` for some at a time: hundreds who read at once take turns.
    One that is emptied of what was sent and said no longer holds on to the scenario that it met, either.
    """

    def __init__(self, most_kept: int = _MOST_KEPT) -> None:
        self._sessions: dict[str, deque[JournalItem]] = {}
        self._order: deque[JournalItem] = deque()  # some may be gone already; so in the next
        self._kept: deque[JournalItem] = deque()
        self._most_kept = self._room = most_kept
        self._fresh: list[Attempt] = []  # still to be entered, all of one session
        self._most_of_fresh = LATEST
        self._count = 0
        self._forgotten = 0
        self._emptied = 0
        self._arrivals: Iterator[int] = count(1)
        self._latest = 0
        self._era = 0
        self._eras: OrderedDict[str, int] = OrderedDict()
        self._clears = count(1)
        self._attempts: dict[str, OrderedDict[bytes, Attempts]] = {}
        self.reading = Lock()
        self.listeners: list[Listener] = []
        self.watchers: list[Listener] = []

    @property
    def size(self) -> int:
        """Of requests and answers that are kept."""
        self._catch_up()
        return self._most_kept - self._room

    @property
    def latest(self) -> int:
        """The number of the latest entry."""
        self._catch_up()
        return self._latest

    @property
    def forgotten(self) -> int:
        """Entries that had to go for want of room."""
        self._catch_up()
        return self._forgotten

    @property
    def emptied(self) -> int:
        """Entries that lost what was sent and said for want of room."""
        self._catch_up()
        return self._emptied

    def next_seq(self) -> int:
        """A number for a call that begins."""
        return next(self._arrivals)

    def epoch(self, session: str) -> tuple[int, int]:
        """Changes when a session is cleared: a call that began before is entered nowhere."""
        return self._era, self._eras.get(session, 0)

    def follow(self, session: str, identity: bytes, name: str) -> tuple[Attempts, str | None]:
        """Count one more attempt of equal requests; the attempts, and the id of the one before.

        What was asked longest ago is forgotten once there are too many.
        """
        self._catch_up()
        return self._follow(session, identity, name)

    def _follow(self, session: str, identity: bytes, name: str) -> tuple[Attempts, str | None]:
        known = self._attempts.get(session)
        if known is None:
            known = self._attempts[session] = OrderedDict()
        attempts = known.get(identity)
        if attempts is None:
            known[identity] = attempts = Attempts(1, name)
            if len(known) > _MOST_FOLLOWED:
                known.popitem(last=False)
            return attempts, None
        known.move_to_end(identity)
        before, attempts.latest = attempts.latest, name
        attempts.count += 1
        return attempts, before

    def add(self, call: JournalItem, most: int = LATEST) -> None:
        """Enter a call; a session keeps its latest ``most``."""
        self.enter(call, most)
        for listen in self.listeners:
            listen(call)
        for watch in self.watchers:
            watch(call)

    def add_attempt(self, call: Attempt, most: int = LATEST) -> None:
        """As :meth:`follow` and :meth:`add`, and at a third of their cost while nobody listens."""
        fresh = self._fresh
        if self.listeners or self.watchers:
            call.join(*self.follow(call.session, call.fingerprint, call.id))
            self.add(call, most)
            return
        if fresh and (len(fresh) >= _FRESH or fresh[0].session != call.session or self._most_of_fresh != most):
            self._catch_up()
            fresh = self._fresh
        self._most_of_fresh = most
        fresh.append(call)

    def _catch_up(self) -> None:
        """Enter those that wait."""
        fresh = self._fresh
        if fresh:
            self._fresh = []
            session = fresh[0].session
            for call in fresh:
                call.join(*self._follow(session, call.fingerprint, call.id))
            self._enter(session, fresh, self._most_of_fresh)

    def enter(self, call: JournalItem, most: int) -> None:
        """Enter a call of which nobody is told."""
        self._catch_up()
        self._enter(call.session, (call,), most)

    def _enter(self, session: str, fresh: Sequence[JournalItem], most: int) -> None:
        """Enter calls of one session."""
        for number, call in enumerate(fresh, self._latest + 1):
            call.seq = number
        self._latest += len(fresh)
        calls = self._sessions.get(session)
        if calls is None:
            calls = self._sessions[session] = deque()
        calls.extend(fresh)
        self._order.extend(fresh)
        self._count += len(fresh)
        self._keep([call for call in fresh if call.size])
        if len(calls) > most or self._count > _MOST_ENTRIES:
            self._make_room(calls, most)
        if self._room < 0:
            self._empty()

    def amend(self, call: JournalItem) -> None:
        """Tell whoever watches that more is known of a call."""
        for watch in self.watchers:
            watch(call)

    def _keep(self, calls: Sequence[JournalItem]) -> None:
        """Count what is kept of calls against the room that there is."""
        self._kept.extend(calls)
        for call in calls:
            self._room -= call.size
            explainer = call.explainer
            if explainer is not None:
                if not explainer.held:
                    self._room -= WORLD
                explainer.held += 1

    def _empty(self) -> None:
        """Let the oldest bodies go that no longer fit."""
        while self._room < 0 and len(self._kept) > 1:
            oldest = self._kept.popleft()
            if oldest.size:
                self._emptied += 1
                self._forget(oldest)

    def _forget(self, call: JournalItem) -> None:
        """Keep no more than the figures of a call."""
        if call.size:
            self._room += call.size
            explainer = call.explainer
            if explainer is not None:
                explainer.held -= 1
                if not explainer.held:
                    self._room += WORLD
        call.drop_payload()

    def _make_room(self, calls: deque[JournalItem], most: int) -> None:
        """Let the oldest calls go, a session's and those of all."""
        order, kept = self._order, self._kept
        while len(calls) > most and order[0] is calls[0]:  # nearly always
            oldest = calls.popleft()
            order.popleft()
            if kept and kept[0] is oldest:
                kept.popleft()
            self._drop(oldest)
        if len(calls) <= most and self._count <= _MOST_ENTRIES:
            return
        while len(calls) > most:
            self._drop(calls.popleft())
        while order and (self._count > _MOST_ENTRIES or not self._has(order[0])):
            oldest = order.popleft()
            if self._has(oldest):
                self._drop(self._sessions[oldest.session].popleft())
        while kept and not kept[0].size:
            kept.popleft()
        self._tidy()

    def _has(self, call: JournalItem) -> bool:
        """Whether a call is still there; of a session the oldest go first."""
        calls = self._sessions.get(call.session)
        return calls is not None and len(calls) > 0 and calls[0].seq <= call.seq

    def _drop(self, call: JournalItem) -> None:
        """Keep nothing of a call."""
        self._count -= 1
        self._forgotten += 1
        self._forget(call)

    def find(self, name: str, session: str | None = None) -> JournalEntry | None:
        """The latest entry with this id."""
        call = next((call for call in reversed(self.list_calls(session)) if call.id == name), None)
        return None if call is None else call.load()

    def since(self, seq: int, most: int | None = None) -> list[JournalItem]:
        """Calls that came after one, oldest first, so many at most."""
        self._catch_up()
        order = self._order
        start = bisect_right(order, seq, key=_read_number)
        count = len(order) - start
        if most is None or count <= most:
            return self._leave_out_gone([*islice(reversed(order), count)][::-1])
        return [*islice(filter(self._has, islice(order, start, None)), most)]

    def list_calls(self, session: str | None = None) -> list[JournalItem]:
        """One session's calls as they were entered, or all, oldest first."""
        self._catch_up()
        return [*self._sessions.get(session, ())] if session is not None else self._leave_out_gone([*self._order])

    def _leave_out_gone(self, calls: list[JournalItem]) -> list[JournalItem]:
        """To look at each of 50,000 takes 10 ms, and most journals hold none that is gone."""
        return calls if len(self._order) == self._count else [*filter(self._has, calls)]

    def __iter__(self) -> Iterator[JournalEntry]:
        return (call.load() for call in self.list_calls())

    def __len__(self) -> int:
        self._catch_up()
        return self._count

    def clear(self, session: str | None = None) -> None:
        """Forget one session's calls, or all."""
        self._catch_up()
        if session is None:
            self._era += 1
            self._eras.clear()
        else:
            self._eras.pop(session, None)
            self._eras[session] = next(self._clears)
            if len(self._eras) > _MOST_ERAS:
                self._eras.popitem(last=False)
        for name in [*self._sessions] if session is None else [session]:
            calls = self._sessions.pop(name, ())
            self._count -= len(calls)
            for call in calls:
                self._forget(call)
            self._attempts.pop(name, None)
        self._tidy()

    def _tidy(self) -> None:
        """Look for calls that are gone once there may be many: to look each time would cost as much as there are."""
        if len(self._order) > 2 * self._count + _SPARE or not self._count:
            self._order = deque(filter(self._has, self._order))
            self._kept = deque(call for call in self._kept if call.size)
