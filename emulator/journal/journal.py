"""Bounded in-memory journal of every request and its response, by session: add, find, evict.

``entry.py`` has its entries; tests and the console read them over ``/_emulator/requests``.
"""

from __future__ import annotations

from asyncio import Lock
from bisect import bisect_right
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from operator import attrgetter
from typing import Protocol

from emulator.journal.entry import Attempts, JournalEntry, JournalItem

MAX_SESSION_ENTRIES = 10_000  # entries of a session
_MAX_ENTRIES = 100_000  # of all sessions
_MAX_FINGERPRINTS = 20_000  # different requests of a session of which attempts are counted
_MAX_EPOCHS = 20_000  # cleared sessions that may still have requests in flight
_MAX_STALE = 1000  # evicted entries left in a deque before it is rebuilt
_MAX_PAYLOAD_BYTES = 32 * 1024**2  # of all payloads together
_MAX_PENDING = 50  # records in a batch: more would delay responses
SCENARIO_BYTES = 32 * 1024  # bytes charged for a scenario while an entry with a payload refers to it; its least size
Listener = Callable[[JournalItem], None]
_read_seq = attrgetter("seq")


class PendingItem(JournalItem, Protocol):
    """Record that can wait in a batch before it enters the journal."""

    @property
    def fingerprint(self) -> bytes:
        """Hash that is equal for equal requests."""

    def join(self, attempts: Attempts, before: str | None) -> None:
        """Attach the counter of equal requests; ``before`` is the id of the previous one."""


class Journal:
    """The latest records of each session, oldest first.

    ``listeners`` are called once for each record, such as the access log; ``watchers`` again when a record changes.
    They use :meth:`JournalItem.without_payload`, since :meth:`JournalItem.load` builds the whole entry.
    Without listeners and watchers, records enter in batches of up to 50, or at the next read of the journal.
    A reader of many records holds ``reading`` for 100 at a time, so that concurrent readers take turns.
    A record without its payload no longer refers to its scenario, either.
    """

    def __init__(self, most_kept: int = _MAX_PAYLOAD_BYTES) -> None:
        self._sessions: dict[str, deque[JournalItem]] = {}
        self._order: deque[JournalItem] = deque()  # may hold evicted records, as may the next
        self._payloads: deque[JournalItem] = deque()
        self._payload_limit = self._free = most_kept  # bytes
        self._pending: list[PendingItem] = []  # a batch of one session
        self._pending_session = ""
        self._pending_most = MAX_SESSION_ENTRIES
        self._count = 0
        self._forgotten = 0
        self._emptied = 0
        self._start_seqs: Iterator[int] = count(1)
        self._latest = 0
        self._epoch = 0  # since all sessions were cleared
        self._epochs: OrderedDict[str, int] = OrderedDict()
        self._clears = count(1)
        self._attempts: dict[str, OrderedDict[bytes, Attempts]] = {}
        self.reading = Lock()
        self.listeners: list[Listener] = []
        self.watchers: list[Listener] = []

    @property
    def size(self) -> int:
        """Bytes of all payloads."""
        self.flush()
        return self._payload_limit - self._free

    @property
    def latest(self) -> int:
        """``seq`` of the latest entry; 0 without entries."""
        self.flush()
        return self._latest

    @property
    def evicted_entries(self) -> int:
        """Number of entries evicted by a limit of entries."""
        self.flush()
        return self._forgotten

    @property
    def evicted_payloads(self) -> int:
        """Number of payloads evicted by the limit of bytes."""
        self.flush()
        return self._emptied

    def next_seq(self) -> int:
        """Return the ``start_seq`` of a request that begins."""
        return next(self._start_seqs)

    def epoch(self, session: str) -> int:
        """Return a number that changes when the session is cleared; records of an older epoch are discarded."""
        return self._epochs.get(session, self._epoch)

    def follow(self, session: str, fingerprint: bytes, name: str) -> tuple[Attempts, str | None]:
        """Count one more of the equal requests; return their counter and the id of the previous one.

        Beyond 20,000 different requests of a session, the least recently sent one is evicted.
        """
        self.flush()
        return self._follow(session, fingerprint, name)

    def _follow(self, session: str, fingerprint: bytes, name: str) -> tuple[Attempts, str | None]:
        known = self._attempts.get(session)
        if known is None:
            known = self._attempts[session] = OrderedDict()
        attempts = known.get(fingerprint)
        if attempts is None:
            known[fingerprint] = attempts = Attempts(1, name)
            if len(known) > _MAX_FINGERPRINTS:
                known.popitem(last=False)
            return attempts, None
        known.move_to_end(fingerprint)
        before, attempts.latest = attempts.latest, name
        attempts.count += 1
        return attempts, before

    def find_attempts(self, session: str, fingerprint: bytes) -> Attempts | None:
        """Return the counter of equal requests; ``None`` if none of them has ended."""
        self.flush()
        known = self._attempts.get(session)
        return None if known is None else known.get(fingerprint)

    def add(self, call: JournalItem, most: int = MAX_SESSION_ENTRIES) -> None:
        """Append a record and notify listeners and watchers; a session keeps its latest ``most``."""
        self.enter(call, most)
        for listen in self.listeners:
            listen(call)
        for watch in self.watchers:
            watch(call)

    def add_attempt(self, call: PendingItem, most: int = MAX_SESSION_ENTRIES) -> None:
        """Do :meth:`follow` and :meth:`add`, in batches while there are no listeners and watchers.

        A batch costs a third of the single calls.
        """
        session = call.session
        if self.listeners or self.watchers:
            call.join(*self.follow(session, call.fingerprint, call.id))
            self.add(call, most)
            return
        if session != self._pending_session or most != self._pending_most or len(self._pending) >= _MAX_PENDING:
            self.flush()
            self._pending_session, self._pending_most = session, most
        self._pending.append(call)

    def flush(self) -> None:
        """Append the records of the batch."""
        pending = self._pending
        if pending:
            self._pending, session = [], self._pending_session
            for call in pending:
                call.join(*self._follow(session, call.fingerprint, call.id))
            self._insert(session, pending, self._pending_most)

    def enter(self, call: JournalItem, most: int) -> None:
        """Append a record without notifying listeners and watchers."""
        self.flush()
        self._insert(call.session, (call,), most)

    def _insert(self, session: str, pending: Sequence[JournalItem], most: int) -> None:
        """Append records of one session."""
        for number, call in enumerate(pending, self._latest + 1):
            call.seq = number
        self._latest += len(pending)
        calls = self._sessions.get(session)
        if calls is None:
            calls = self._sessions[session] = deque()
        calls.extend(pending)
        self._order.extend(pending)
        self._count += len(pending)
        self._charge([call for call in pending if call.size])
        if len(calls) > most or self._count > _MAX_ENTRIES:
            self._evict_records(calls, most)
        if self._free < 0:
            self._evict_payloads()

    def amend(self, call: JournalItem) -> None:
        """Notify watchers that a record has changed."""
        for watch in self.watchers:
            watch(call)

    def _charge(self, calls: Sequence[JournalItem]) -> None:
        """Charge the payloads of records, and their scenarios, against the limit of bytes."""
        self._payloads.extend(calls)
        self._free -= sum([call.size for call in calls])
        for explainer, held in Counter([call.explainer for call in calls]).items():
            if explainer is not None:
                if not explainer.held:
                    self._free -= SCENARIO_BYTES
                explainer.held += held

    def _evict_payloads(self) -> None:
        """Evict the oldest payloads until the rest fits."""
        while self._free < 0 and len(self._payloads) > 1:
            oldest = self._payloads.popleft()
            if oldest.size:
                self._emptied += 1
                self._drop_payload(oldest)

    def _drop_payload(self, call: JournalItem) -> None:
        """Drop the payload of a record and release its bytes."""
        self._release(call)
        call.drop_payload()

    def _release(self, call: JournalItem) -> None:
        """Release the bytes that the payload of a record is charged with."""
        if call.size:
            self._free += call.size
            explainer = call.explainer
            if explainer is not None:
                explainer.held -= 1
                if not explainer.held:
                    self._free += SCENARIO_BYTES

    def _evict_records(self, calls: deque[JournalItem], most: int) -> None:
        """Evict the oldest records beyond the limit of the session and of all sessions."""
        order, payloads = self._order, self._payloads
        while len(calls) > most and order[0] is calls[0]:  # the usual case: one session
            oldest = calls.popleft()
            order.popleft()
            if payloads and payloads[0] is oldest:  # nothing here refers to it any more
                payloads.popleft()
                self._forget(oldest)
                oldest.discard()
            else:
                self._evict(oldest)
        if len(calls) <= most and self._count <= _MAX_ENTRIES:
            return
        while len(calls) > most:
            self._evict(calls.popleft())
        while order and (self._count > _MAX_ENTRIES or not self._is_stored(order[0])):
            oldest = order.popleft()
            if self._is_stored(oldest):
                self._evict(self._sessions[oldest.session].popleft())
        while payloads and not payloads[0].size:
            payloads.popleft()
        self._compact()

    def _is_stored(self, call: JournalItem) -> bool:
        """Return whether a record was not evicted; of a session the oldest is evicted first."""
        calls = self._sessions.get(call.session)
        return calls is not None and len(calls) > 0 and calls[0].seq <= call.seq

    def _evict(self, call: JournalItem) -> None:
        """Count a record as evicted and drop its payload."""
        self._forget(call)
        call.drop_payload()

    def _forget(self, call: JournalItem) -> None:
        self._count -= 1
        self._forgotten += 1
        self._release(call)

    def find(self, name: str, session: str | None = None) -> JournalEntry | None:
        """Return the latest entry with this id."""
        call = next((call for call in reversed(self.list_calls(session)) if call.id == name), None)
        return None if call is None else call.load()

    def since(self, seq: int, most: int | None = None) -> list[JournalItem]:
        """Return up to ``most`` records after ``seq``, oldest first."""
        self.flush()
        order = self._order
        start = bisect_right(order, seq, key=_read_seq)
        count = len(order) - start
        if most is None or count <= most:
            return self._filter_evicted([*islice(reversed(order), count)][::-1])
        return [*islice(filter(self._is_stored, islice(order, start, None)), most)]

    def list_calls(self, session: str | None = None) -> list[JournalItem]:
        """Return the records of one session, or all, oldest first."""
        self.flush()
        return [*self._sessions.get(session, ())] if session is not None else self._filter_evicted([*self._order])

    def _filter_evicted(self, calls: list[JournalItem]) -> list[JournalItem]:
        if len(self._order) == self._count:  # none was evicted: the filter takes 10 ms for 50,000 records
            return calls
        return [*filter(self._is_stored, calls)]

    def __iter__(self) -> Iterator[JournalEntry]:
        return (call.load() for call in self.list_calls())

    def __len__(self) -> int:
        self.flush()
        return self._count

    def clear(self, session: str | None = None) -> None:
        """Delete the records of one session, or all, and begin a new epoch."""
        self.flush()
        if session is None:
            self._epoch = next(self._clears)
            self._epochs.clear()
        else:
            self._epochs.pop(session, None)
            self._epochs[session] = next(self._clears)
            if len(self._epochs) > _MAX_EPOCHS:
                self._epochs.popitem(last=False)
        for name in [*self._sessions] if session is None else [session]:
            calls = self._sessions.pop(name, ())
            self._count -= len(calls)
            for call in calls:
                self._drop_payload(call)
            self._attempts.pop(name, None)
        self._compact()

    def _compact(self) -> None:
        """Remove evicted records from the deques once there may be many: a pass costs as much as there are records."""
        if len(self._order) > 2 * self._count + _MAX_STALE or not self._count:
            self._order = deque(filter(self._is_stored, self._order))
            self._payloads = deque(call for call in self._payloads if call.size)
