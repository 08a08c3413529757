"""The journal of several processes: whichever is asked has the calls of all, in one order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from emulator.control.entry import Attempts, Entry, Explainer, Recorded
from emulator.control.journal import LATEST, Attempt, Journal
from emulator.core.commons import MOST_READ, Commons
from emulator.core.json import Object, as_integer, as_object, as_text, dump_text, parse_json
from emulator.core.state import StoreLostError
from emulator.server.replicas.batch import Batch, Pending, read_amended, write_call
from emulator.server.replicas.pages import Known, read_entry
from emulator.server.world.active import ActiveScenario

log = logging.getLogger("emulator")
_SOON = 0.05  # real seconds until what came is sent: many calls go together
_MOST_OWN = 2000  # calls of this process that wait to be read with those of others
_MOST_WAITING = 10_000  # calls that wait to be asked for, or for a store that is away
_MOST_ERAS = 20_000  # sessions that were cleared, of which calls may still come
_AT_ONCE = 100  # calls that are written before others have their turn


@dataclass(slots=True, eq=False)
class _Told:
    """A call of another replica, read once somebody wants to know."""

    text: str
    id: str
    session: str
    known: Known | None
    size: int
    seq: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    number: int = 1
    retry_of: str | None = None
    entry: Entry | None = None

    def read(self) -> Entry:
        if self.entry is None:
            self.entry = entry = read_entry(self.text, self.known)
            entry.seq, entry.attempts, entry.number, entry.retry_of = (
                self.seq,
                self.attempts,
                self.number,
                self.retry_of,
            )
            self.text = ""
        return self.entry

    @property
    def explainer(self) -> Explainer | None:
        return None if self.known is None else self.known.explainer

    def glance(self) -> Entry:
        return self.read()

    def forget(self) -> None:
        self.read().forget()
        self.size, self.known = 0, None


class SharedJournal(Journal):
    """Calls are entered once they have their place among those of all.

    ``peek`` tells what is at work for a session.
    """

    def __init__(self, commons: Commons, peek: Callable[[str], ActiveScenario]) -> None:
        super().__init__()
        self._arrivals = _tell_time()
        self._commons = commons
        self._peek = peek
        self._waiting: deque[tuple[Recorded, int, int]] = deque()
        self._batches: deque[Batch] = deque()
        self._names = map(str, count())
        self._amended: list[Entry] = []
        self._own: dict[int, Recorded] = {}
        self._read_to = 0
        self._cleared: OrderedDict[str, int] = OrderedDict()
        self._all_cleared = 0
        self._sending = asyncio.Lock()
        self._appending = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._came = asyncio.Event()

    def follow(self, session: str, identity: bytes, name: str) -> tuple[Attempts, str | None]:
        return Pending(identity), None

    def add(self, call: Recorded, most: int = LATEST) -> None:
        for listen in self.listeners:
            listen(call)
        self._waiting.append((call, most, self._era_of(call.session)))
        if self._commons.outlives:
            self._came.set()
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft()
            self._forgotten += 1

    def add_attempt(self, call: Attempt, most: int = LATEST) -> None:
        call.join(*self.follow(call.session, call.identity, call.id))
        self.add(call, most)

    def amend(self, call: Recorded) -> None:
        """Tell the others, too, of a call that they know already."""
        if call.seq:
            self._amended.append(call.read())
        super().amend(call)

    def clear(self, session: str | None = None) -> None:
        super().clear(session)
        self._waiting = deque(row for row in self._waiting if session is not None and row[0].session != session)
        self._batches = deque(each for each in self._batches if session is not None and each.session != session)
        self._own = {seq: call for seq, call in self._own.items() if session is not None and call.session != session}

    async def begin_era(self, session: str, number: int) -> int | None:
        """What was called before a change is no longer wanted; an empty name: of all sessions.

        Nothing of it is on its way from now on. What was entered after the change all the same, since this process
        heard of it late, goes up to the number that is returned.
        """
        async with self._appending:
            late = [seq for seq, call in self._own.items() if seq > number and call.session == session]
            if session:
                self._cleared.pop(session, None)
                self._cleared[session] = number
                if len(self._cleared) > _MOST_ERAS:
                    self._cleared.popitem(last=False)
            else:
                self._all_cleared = number
                self._cleared.clear()
        return max(late, default=None)

    async def run(self) -> None:
        """Send what comes, until cancelled."""
        while True:
            await self._came.wait()
            await asyncio.sleep(_SOON)
            try:
                await self.send()
                if len(self._own) > _MOST_OWN:
                    await self.read_new()
            except StoreLostError:
                continue
            except Exception:  # whatever one call holds, the next are sent
                log.exception("bug in the emulator: calls for the journal of all")

    async def send(self) -> None:
        """Give the calls that came their places.

        Raises:
            StoreLostError: they wait on.
        """
        async with self._sending:
            self._came.clear()
            while self._batches or self._waiting:
                if not self._batches:
                    self._part([self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))])
                await self._send_batch(self._batches[0])
            while self._amended:
                entry = self._amended[0]
                if entry.seq in self._own or self._has(entry):
                    head = self._head(entry.session, era := self._era_of(entry.session))
                    text = dump_text({**head, "amends": entry.seq, "fields": read_amended(entry)})
                    await self._append(Batch(next(self._names), entry.session, era, LATEST, (), [text.encode()], ()))
                del self._amended[0]

    async def _append(self, batch: Batch) -> int | None:
        """The number of the first; ``None``: the journal was cleared since, and is left alone."""
        async with self._appending:
            if batch.era < self._era_of(batch.session):
                return None
            return await self._commons.append(batch.session, batch.texts, batch.most, batch.name)

    def _part(self, rows: Iterable[tuple[Recorded, int, int]]) -> None:
        """Those of a session go together."""
        parts: dict[tuple[str, int, int], list[Recorded]] = {}
        for call, most, era in rows:
            parts.setdefault((call.session, most, era), []).append(call)
        for (session, most, era), calls in parts.items():
            active = self._peek(session)
            head: Object = {**self._head(session, era), "world": active.world, "most": most}
            texts = [write_call(call, head, active.emulator.seed) for call in calls]
            before = [read_amended(call.read()) for call in calls]
            self._batches.append(Batch(next(self._names), session, era, most, calls, texts, before))

    async def _send_batch(self, batch: Batch) -> None:
        first = await self._append(batch)
        numbers = () if first is None else range(first, first + len(batch.calls))
        for seq, call, fields in zip(numbers, batch.calls, batch.before, strict=first is not None):
            self._own[seq] = call
            entry = call.read()
            call.seq = entry.seq = seq
            if read_amended(entry) != fields:
                self._amended.append(entry)
        if self._batches and self._batches[0] is batch:  # else it was cleared meanwhile
            self._batches.popleft()

    async def read_new(self) -> None:
        """Enter the calls that came since the last time, of all replicas, up to now: more come while it reads.

        Raises:
            StoreLostError: some are still to come.
        """
        async with self._reading:
            whole = False
            while not whole:
                calls = await self._commons.read(self._read_to)
                whole = len(calls) < MOST_READ
                for seq, text in calls:
                    head, _, body = text.decode().partition("\n")
                    self._take(seq, as_object(parse_json(head)), body)
                    self._read_to = seq
                await asyncio.sleep(0)

    def _take(self, seq: int, head: Object, body: str) -> None:
        own, session = self._own.pop(seq, None), as_text(head["session"])
        if as_integer(head["era"]) < self._era_of(session):
            return
        if "amends" in head:
            self._amend(as_integer(head["amends"]), session, as_object(head["fields"]))
            return
        call = self._place(own, body, session, head)
        call.seq = seq
        target = call if isinstance(call, _Told) else call.read()
        target.seq = seq
        target.attempts, target.number, target.retry_of = self._join(session, head)
        self._latest = seq - 1
        self.enter(call, as_integer(head["most"]))
        super().amend(call)

    def _join(self, session: str, head: Object) -> tuple[Attempts, int, str | None]:
        """The attempts of equal requests, wherever they came; which it is, and the one before."""
        identity, name, number = (
            bytes.fromhex(as_text(head["identity"])),
            as_text(head["id"]),
            as_integer(head["number"]),
        )
        if not identity:
            return Attempts(1, name), 1, None
        attempts, before = super().follow(session, identity + as_text(head["world"]).encode(), name)
        if not number:  # nobody but this journal counts it
            return attempts, attempts.count, before
        attempts.count = max(attempts.count if before is None else attempts.count - 1, number)
        return attempts, number, None if head["retry_of"] is None else as_text(head["retry_of"])

    def _place(self, own: Recorded | None, body: str, session: str, head: Object) -> Recorded:
        if own is not None:
            return own
        active = self._peek(session)
        app = active.apps.get(as_text(head["vendor"])) if active.world == head["world"] else None
        known = None if app is None else Known(app.explainer, active.emulator)
        return _Told(body, as_text(head["id"]), session, known, len(body))

    def _amend(self, seq: int, session: str, fields: Object) -> None:
        """More is known of a call; of one of this process it was known before."""
        call = next((call for call in reversed(self._sessions.get(session, ())) if call.seq == seq), None)
        if call is not None and read_amended(entry := call.read()) != fields:
            for name, value in fields.items():
                setattr(entry, name, value)
            super().amend(entry)

    def _head(self, session: str, era: int) -> Object:
        return {"session": session, "era": era}

    def _era_of(self, session: str) -> int:
        return max(self._all_cleared, self._cleared.get(session, 0))


def _tell_time() -> Iterator[int]:
    """Microseconds of Unix time, each later than the one before: calls of several processes have an order."""
    latest = 0
    while True:
        latest = max(latest + 1, time.time_ns() // 1000)
        yield latest
