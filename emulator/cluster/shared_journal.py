"""The journal of several processes: each returns the calls of all, in one order."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count

from multidict import CIMultiDict

from emulator.core.bus import MOST_READ, ClusterBus
from emulator.core.http import NOTHING, Headers, Request
from emulator.core.json import JSON, Object, as_array, as_integer, as_object, as_text, dump_text, parse_json
from emulator.core.rng import derive_key
from emulator.core.storage import StoreLostError
from emulator.faults import FaultSite
from emulator.handler.call_record import CallRecord
from emulator.handler.planning import Emulator
from emulator.http.compact_record import CompactRecord
from emulator.journal.journal import LATEST, Attempt, Journal
from emulator.journal.record import Attempts, Explainer, JournalEntry, JournalItem, LimitCheck, MatchEvidence, Payload
from emulator.runtime.active import ActiveScenario
from emulator.scenario.matching import Match, RuleResult

_FIGURES = (  # fields of an entry that are JSON as they are
    *("id", "time", "vendor", "method", "path", "status", "arrival", "deployment", "served", "operation", "stream"),
    *("principal", "session", "rule", "error", "finish_reason", "prompt_tokens", "completion_tokens", "sent_tokens"),
    *("planned_ttft", "ttft", "planned_end", "duration", "whole", "client_left", "hint", "events"),
    *("bytes_in", "bytes_out", "traceparent"),
)
_ATTRIBUTES = {"arrival": "start_seq"}  # where the name in the store is not that of the attribute
AMENDED = ("whole", "client_left", "status", "sent_tokens", "duration")  # what may become known later


@dataclass(frozen=True, slots=True)
class KnownScenario:
    """Whoever answered a call of another replica would have answered it here by the same scenario."""

    explainer: Explainer
    emulator: Emulator


def write_entry(entry: JournalEntry, identity: bytes) -> str:
    """All that is known of a call; ``identity``: what makes it the same as another."""
    document: Object = {name: getattr(entry, _ATTRIBUTES.get(name, name)) for name in _FIGURES}
    document["faults"] = entry.faults
    document["lateness"] = list(entry.lateness)
    document["limits"] = [asdict(limit) for limit in entry.limits]
    document["identity"] = identity.hex()
    kept = entry.payload
    if kept is not None:
        document["kept"] = _write_kept(kept)
    if entry.evidence is not None:
        document["evidence"] = _write_evidence(entry.evidence)
    return dump_text(document)


def _write_kept(kept: Payload) -> Object:
    request = kept.request
    return {
        "query": dict(request.query),
        "headers": [*request.headers.items()],
        "body": _write_body(request.body),
        "params": dict(request.params),
        "base": request.base_url,
        "answered": kept.headers,
        "said": None if kept.body is None else _write_body(kept.body),
        "text": kept.text,
        "tools": kept.tool_calls,
        "raw": None if kept.raw is None else _write_body(kept.raw),
        "strikes": [(strike.fault, strike.at) for strike in kept.strikes],
        "writes": list(kept.writes),
        "request_cut": kept.request_cut,
        "response_cut": kept.response_cut,
        "size": kept.size,
    }


def _write_evidence(evidence: MatchEvidence) -> Object:
    match = evidence.match
    return {
        "attempt": evidence.attempt,
        "asked": match is not None,
        "rule": None if match is None or match.rule is None else match.rule.name,
        "counts": None if match is None else dict(match.counts),
        "verdicts": [asdict(verdict) for verdict in evidence.verdicts],
    }


def read_entry(text: str, known: KnownScenario | None) -> JournalEntry:
    """What :func:`write_entry` wrote; ``known``: who can explain it."""
    document = as_object(parse_json(text))
    figures = {_ATTRIBUTES.get(name, name): document[name] for name in _FIGURES}
    entry = JournalEntry(**figures, attempts=Attempts())  # type: ignore[arg-type]  # each is what it was written from
    entry.faults = tuple([as_text(fault) for fault in as_array(document["faults"])])
    entry.lateness = tuple(as_array(document["lateness"]))  # type: ignore[arg-type]  # they are numbers
    entry.limits = tuple([LimitCheck(**as_object(limit)) for limit in as_array(document["limits"])])  # type: ignore[arg-type]
    identity = bytes.fromhex(as_text(document["identity"]))
    if "kept" in document:
        kept = _read_kept(as_object(document["kept"]), entry)
        entry.keep = lambda: kept
    if "evidence" in document and known is not None:
        entry.evidence = _read_evidence(as_object(document["evidence"]), identity, known)
    return entry


def _read_kept(document: Object, entry: JournalEntry) -> Payload:
    request = Request(
        entry.method,
        entry.path,
        _read_texts(document["query"]),
        CIMultiDict(_read_pairs(document["headers"])),
        _read_body(document["body"]),
        _read_texts(document["params"]),
        as_text(document["base"]),
        entry.principal,
        entry.session,
    )
    request.key = bytes.fromhex(entry.id)
    said, text = document["said"], document["text"]
    return Payload(
        request,
        headers=tuple(_read_pairs(document["answered"])),
        body=None if said is None else _read_body(said),
        text=None if text is None else as_text(text),
        tool_calls=tuple(_read_pairs(document["tools"])),
        raw=None if document["raw"] is None else _read_body(document["raw"]),
        strikes=tuple([_read_strike(as_array(strike)) for strike in as_array(document["strikes"])]),
        writes=tuple(as_array(document["writes"])),  # type: ignore[arg-type]  # they are pairs of numbers
        request_cut=bool(document["request_cut"]),
        response_cut=bool(document["response_cut"]),
        size=as_integer(document["size"]),
    )


def _read_strike(document: Sequence[JSON]) -> FaultSite:
    return FaultSite(as_text(document[0]), as_integer(document[1]))


def _read_evidence(document: Object, identity: bytes, known: KnownScenario) -> MatchEvidence:
    match = None
    if document["asked"]:
        rule = next((rule for rule in known.emulator.rules if rule.name == document["rule"]), None)
        counts = {name: as_integer(count) for name, count in as_object(document["counts"]).items()}
        match = Match(rule, counts=counts)
    verdicts = tuple([RuleResult(**as_object(verdict)) for verdict in as_array(document["verdicts"])])  # type: ignore[arg-type]
    return MatchEvidence(known.explainer, match, identity, as_integer(document["attempt"]), verdicts)


def _write_body(body: bytes) -> JSON:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return [base64.b64encode(body).decode()]


def _read_body(document: JSON) -> bytes:
    if isinstance(document, str):
        return document.encode()
    return base64.b64decode(as_text(as_array(document)[0]))


def _read_texts(document: JSON) -> Mapping[str, str]:
    return {name: as_text(text) for name, text in as_object(document).items()} or NOTHING


def _read_pairs(document: JSON) -> Headers:
    return tuple([(as_text(name), as_text(text)) for name, text in map(as_array, as_array(document))])


class PendingRecord(Attempts):
    """Of a call that has no place yet among those of all."""

    def __init__(self, identity: bytes) -> None:
        super().__init__(1, None)
        self.fingerprint = identity


@dataclass(frozen=True, slots=True, eq=False)
class OutgoingBatch:
    """Calls of one session that are entered together, as often as it takes: the store may have them without saying so.

    Fields:
        name: no other of this process has it.
        epoch: of the journal when they came.
        most: calls that the journal keeps.
        before: what may be amended of each, as it is in ``texts``.
    """

    name: str
    session: str
    epoch: int
    most: int
    calls: Sequence[JournalItem]
    texts: Sequence[bytes]
    before: Sequence[Object]


def write_call(call: JournalItem, head: Object, seed: int) -> bytes:
    """What all know of a call by its first line, and the call."""
    entry = call.load()
    identity = entry.attempts.fingerprint if isinstance(entry.attempts, PendingRecord) else b""
    attempt = call.attempt if isinstance(call, CallRecord | CompactRecord) else -1
    line: Object = {**head, "vendor": entry.vendor or "", "id": entry.id, "identity": identity.hex()}
    line["number"] = attempt + 1
    line["retry_of"] = derive_key(seed, "answer", identity, attempt - 1).hex() if attempt > 0 else None
    try:
        return f"{dump_text(line)}\n{write_entry(entry, identity)}".encode()
    except ValueError:  # a header that is no text
        entry.drop_payload()
        return f"{dump_text(line)}\n{write_entry(entry, identity)}".encode()


def read_amended(entry: JournalEntry) -> Object:
    """What may become known of a call after it was told."""
    return {name: getattr(entry, name) for name in AMENDED}


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
    known: KnownScenario | None
    size: int
    seq: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    number: int = 1
    retry_of: str | None = None
    entry: JournalEntry | None = None

    def load(self) -> JournalEntry:
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

    def without_payload(self) -> JournalEntry:
        return self.load()

    def drop_payload(self) -> None:
        self.load().drop_payload()
        self.size, self.known = 0, None


class SharedJournal(Journal):
    """Calls are entered once they have their place among those of all.

    ``peek`` tells what is at work for a session.
    """

    def __init__(self, commons: ClusterBus, peek: Callable[[str], ActiveScenario]) -> None:
        super().__init__()
        self._start_seqs = _tell_time()
        self._commons = commons
        self._peek = peek
        self._waiting: deque[tuple[JournalItem, int, int]] = deque()
        self._batches: deque[OutgoingBatch] = deque()
        self._names = map(str, count())
        self._amended: list[JournalEntry] = []
        self._own: dict[int, JournalItem] = {}
        self._read_to = 0
        self._cleared: OrderedDict[str, int] = OrderedDict()
        self._all_cleared = 0
        self._sending = asyncio.Lock()
        self._appending = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._came = asyncio.Event()

    def follow(self, session: str, fingerprint: bytes, name: str) -> tuple[Attempts, str | None]:
        return PendingRecord(fingerprint), None

    def add(self, call: JournalItem, most: int = LATEST) -> None:
        for listen in self.listeners:
            listen(call)
        self._waiting.append((call, most, self._era_of(call.session)))
        if self._commons.outlives:
            self._came.set()
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft()
            self._forgotten += 1

    def add_attempt(self, call: Attempt, most: int = LATEST) -> None:
        call.join(*self.follow(call.session, call.fingerprint, call.id))
        self.add(call, most)

    def amend(self, call: JournalItem) -> None:
        """Tell the others, too, of a call that they know already."""
        if call.seq:
            self._amended.append(call.load())
        super().amend(call)

    def clear(self, session: str | None = None) -> None:
        super().clear(session)
        self._waiting = deque(row for row in self._waiting if session is not None and row[0].session != session)
        self._batches = deque(each for each in self._batches if session is not None and each.session != session)
        self._own = {seq: call for seq, call in self._own.items() if session is not None and call.session != session}

    async def begin_epoch(self, session: str, number: int) -> int | None:
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
                if entry.seq in self._own or self._is_stored(entry):
                    head = self._head(entry.session, era := self._era_of(entry.session))
                    text = dump_text({**head, "amends": entry.seq, "fields": read_amended(entry)})
                    await self._append(
                        OutgoingBatch(next(self._names), entry.session, era, LATEST, (), [text.encode()], ())
                    )
                del self._amended[0]

    async def _append(self, batch: OutgoingBatch) -> int | None:
        """The number of the first; ``None``: the journal was cleared since, and is left alone."""
        async with self._appending:
            if batch.epoch < self._era_of(batch.session):
                return None
            return await self._commons.append(batch.session, batch.texts, batch.most, batch.name)

    def _part(self, rows: Iterable[tuple[JournalItem, int, int]]) -> None:
        """Those of a session go together."""
        parts: dict[tuple[str, int, int], list[JournalItem]] = {}
        for call, most, era in rows:
            parts.setdefault((call.session, most, era), []).append(call)
        for (session, most, era), calls in parts.items():
            active = self._peek(session)
            head: Object = {**self._head(session, era), "world": active.namespace, "most": most}
            texts = [write_call(call, head, active.emulator.seed) for call in calls]
            before = [read_amended(call.load()) for call in calls]
            self._batches.append(OutgoingBatch(next(self._names), session, era, most, calls, texts, before))

    async def _send_batch(self, batch: OutgoingBatch) -> None:
        first = await self._append(batch)
        numbers = () if first is None else range(first, first + len(batch.calls))
        for seq, call, fields in zip(numbers, batch.calls, batch.before, strict=first is not None):
            self._own[seq] = call
            entry = call.load()
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
        target = call if isinstance(call, _Told) else call.load()
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

    def _place(self, own: JournalItem | None, body: str, session: str, head: Object) -> JournalItem:
        if own is not None:
            return own
        active = self._peek(session)
        app = active.apps.get(as_text(head["vendor"])) if active.namespace == head["world"] else None
        known = None if app is None else KnownScenario(app.explainer, active.emulator)
        return _Told(body, as_text(head["id"]), session, known, len(body))

    def _amend(self, seq: int, session: str, fields: Object) -> None:
        """More is known of a call; of one of this process it was known before."""
        call = next((call for call in reversed(self._sessions.get(session, ())) if call.seq == seq), None)
        if call is not None and read_amended(entry := call.load()) != fields:
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
