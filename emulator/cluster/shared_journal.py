"""Journal of a cluster: every replica has the records of all replicas, in one order.

``storage`` has the lists through which replicas exchange records; ``journal/journal.py`` is the journal of one process.
"""

import asyncio
import base64
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from itertools import count

from multidict import CIMultiDict

from emulator.core.bus import MAX_READ, ClusterBus
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import NOTHING, Headers, Request
from emulator.core.json import JSON, Object, as_array, as_integer, as_object, as_text, dump_text, parse_json
from emulator.core.rng import derive_key
from emulator.core.storage import StoreLostError
from emulator.faults import FaultSite
from emulator.handler.call_record import CallRecord
from emulator.handler.planning import Emulator
from emulator.journal.entry import Attempts, EntryExplainer, JournalEntry, JournalItem, LimitCheck, MatchEvidence
from emulator.journal.journal import MAX_SESSION_ENTRIES, Journal, PendingItem
from emulator.journal.payload import Payload
from emulator.runtime.active import ActiveScenario
from emulator.scenario.matching import Match, RuleResult

_FIGURES = (  # fields of an entry that are JSON as they are
    *("id", "time", "vendor", "method", "path", "status", "arrival", "deployment", "served", "operation", "stream"),
    *("principal", "session", "rule", "error", "finish_reason", "prompt_tokens", "completion_tokens", "sent_tokens"),
    *("planned_ttft", "ttft", "planned_end", "duration", "whole", "client_left", "hint", "events"),
    *("bytes_in", "bytes_out", "traceparent", "real_start", "real_end", "connection"),
)
_ATTRIBUTES = {"arrival": "start_seq"}  # where the name in the store is not that of the attribute
AMENDABLE = ("whole", "client_left", "status", "sent_tokens", "duration", "real_end")  # fields that may change later


@fast_dataclass(frozen=True, slots=True)
class KnownScenario:
    """Active scenario that explains records of other replicas."""

    explainer: EntryExplainer
    emulator: Emulator


def encode_entry(entry: JournalEntry, fingerprint: bytes) -> str:
    """Encode a journal entry; ``fingerprint``: of its request."""
    document: Object = {name: getattr(entry, _ATTRIBUTES.get(name, name)) for name in _FIGURES}
    document["faults"] = entry.faults
    document["lateness"] = list(entry.lateness)
    document["limits"] = [asdict(limit) for limit in entry.limits]
    document["identity"] = fingerprint.hex()
    payload = entry.payload
    if payload is not None:
        document["kept"] = _encode_payload(payload)
    if entry.evidence is not None:
        document["evidence"] = _encode_evidence(entry.evidence)
    return dump_text(document)


def _encode_payload(payload: Payload) -> Object:
    request = payload.request
    return {
        "query": dict(request.query),
        "headers": [*request.headers.items()],
        "body": _encode_body(request.body),
        "params": dict(request.params),
        "base": request.base_url,
        "answered": payload.headers,
        "said": None if payload.body is None else _encode_body(payload.body),
        "text": payload.text,
        "received": payload.received,
        "planned": payload.planned,
        "tools": payload.tool_calls,
        "raw": None if payload.raw is None else _encode_body(payload.raw),
        "strikes": [(site.fault, site.at) for site in payload.fault_sites],
        "writes": list(payload.writes),
        "request_cut": payload.request_cut,
        "response_cut": payload.response_cut,
        "size": payload.size,
    }


def _encode_evidence(evidence: MatchEvidence) -> Object:
    match = evidence.match
    return {
        "attempt": evidence.attempt,
        "asked": match is not None,
        "rule": None if match is None or match.rule is None else match.rule.name,
        "counts": None if match is None else dict(match.counts),
        "verdicts": [asdict(result) for result in evidence.rule_results],
    }


def parse_entry(text: str, known: KnownScenario | None) -> JournalEntry:
    """Parse a journal entry that :func:`encode_entry` encoded; ``known``: scenario that can explain it."""
    document = as_object(parse_json(text))
    figures = {_ATTRIBUTES.get(name, name): document[name] for name in _FIGURES}
    entry = JournalEntry(**figures, attempts=Attempts())  # type: ignore[arg-type]  # types as encoded
    entry.faults = tuple([as_text(fault) for fault in as_array(document["faults"])])
    entry.lateness = tuple(as_array(document["lateness"]))  # type: ignore[arg-type]  # they are numbers
    entry.limits = tuple([LimitCheck(**as_object(limit)) for limit in as_array(document["limits"])])  # type: ignore[arg-type]
    fingerprint = bytes.fromhex(as_text(document["identity"]))
    if "kept" in document:
        payload = _parse_payload(as_object(document["kept"]), entry)
        entry.build_payload = lambda: payload
        entry.body = payload.request.body
    if "evidence" in document and known is not None:
        entry.evidence = _parse_evidence(as_object(document["evidence"]), fingerprint, known)
    return entry


def _parse_payload(document: Object, entry: JournalEntry) -> Payload:
    request = Request(
        entry.method,
        entry.path,
        _parse_texts(document["query"]),
        CIMultiDict(_parse_pairs(document["headers"])),
        _parse_body(document["body"]),
        _parse_texts(document["params"]),
        as_text(document["base"]),
        entry.principal,
        entry.session,
    )
    request.key = bytes.fromhex(entry.id)
    body, text, received, planned = (document[name] for name in ("said", "text", "received", "planned"))
    return Payload(
        request,
        headers=tuple(_parse_pairs(document["answered"])),
        body=None if body is None else _parse_body(body),
        text=None if text is None else as_text(text),
        received=None if received is None else as_text(received),
        planned=None if planned is None else as_text(planned),
        tool_calls=tuple(_parse_pairs(document["tools"])),
        raw=None if document["raw"] is None else _parse_body(document["raw"]),
        fault_sites=tuple([_parse_site(as_array(site)) for site in as_array(document["strikes"])]),
        writes=tuple(as_array(document["writes"])),  # type: ignore[arg-type]  # they are pairs of numbers
        request_cut=bool(document["request_cut"]),
        response_cut=bool(document["response_cut"]),
        size=as_integer(document["size"]),
    )


def _parse_site(document: Sequence[JSON]) -> FaultSite:
    return FaultSite(as_text(document[0]), as_integer(document[1]))


def _parse_evidence(document: Object, fingerprint: bytes, known: KnownScenario) -> MatchEvidence:
    match = None
    if document["asked"]:
        rule = next((rule for rule in known.emulator.rules if rule.name == document["rule"]), None)
        counts = {name: as_integer(count) for name, count in as_object(document["counts"]).items()}
        match = Match(rule, counts=counts)
    results = tuple([RuleResult(**as_object(result)) for result in as_array(document["verdicts"])])  # type: ignore[arg-type]
    return MatchEvidence(known.explainer, match, fingerprint, as_integer(document["attempt"]), results)


def _encode_body(body: bytes) -> JSON:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return [base64.b64encode(body).decode()]


def _parse_body(document: JSON) -> bytes:
    if isinstance(document, str):
        return document.encode()
    return base64.b64decode(as_text(as_array(document)[0]))


def _parse_texts(document: JSON) -> Mapping[str, str]:
    return {name: as_text(text) for name, text in as_object(document).items()} or NOTHING


def _parse_pairs(document: JSON) -> Headers:
    return tuple([(as_text(name), as_text(text)) for name, text in map(as_array, as_array(document))])


class PendingAttempts(Attempts):
    """Attempts of a record without a sequence number in the shared journal."""

    def __init__(self, fingerprint: bytes) -> None:
        super().__init__(1, None)
        self.fingerprint = fingerprint


@fast_dataclass(frozen=True, slots=True, eq=False)
class OutgoingBatch:
    """Records of one session, appended together and retried until the store confirms them.

    Fields:
        name: unique in this process, so that a retry is not appended twice.
        epoch: epoch of the journal when the records came.
        most: records that the journal keeps.
        before: amendable fields of each record as in ``texts``.
    """

    name: str
    session: str
    epoch: int
    most: int
    records: Sequence[JournalItem]
    texts: Sequence[bytes]
    before: Sequence[Object]


def encode_record(record: JournalItem, head: Object, seed: int) -> bytes:
    """Encode a record as a header line and its entry."""
    entry = record.load()
    fingerprint = entry.attempts.fingerprint if isinstance(entry.attempts, PendingAttempts) else b""
    attempt = record.request.attempt if isinstance(record, CallRecord) else -1
    line: Object = {**head, "vendor": entry.vendor or "", "id": entry.id, "identity": fingerprint.hex()}
    line["number"] = attempt + 1
    line["retry_of"] = derive_key(seed, "answer", fingerprint, attempt - 1).hex() if attempt > 0 else None
    try:
        return f"{dump_text(line)}\n{encode_entry(entry, fingerprint)}".encode()
    except ValueError:  # a header is not UTF-8
        entry.drop_payload()
        return f"{dump_text(line)}\n{encode_entry(entry, fingerprint)}".encode()


def read_amended(entry: JournalEntry) -> Object:
    """Return the fields of an entry that may change after it was sent."""
    return {name: getattr(entry, name) for name in AMENDABLE}


log = logging.getLogger("emulator")
_BATCH_DELAY = 0.05  # wall-clock seconds until new records are sent, so that many go together
_RETRY = 0.1  # wall-clock seconds between two attempts while the store is unreachable
_MAX_OWN = 2000  # records of this process that were sent and not yet read back
_MAX_WAITING = 10_000  # unsent records, on demand or while the store is unreachable
_MAX_EPOCHS = 20_000  # cleared sessions, of which records may still come
_MAX_BATCH = 100  # records


@fast_dataclass(slots=True, eq=False)
class _RemoteRecord:
    """Record of another replica, parsed on demand."""

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
            self.entry = entry = parse_entry(self.text, self.known)
            entry.seq, entry.attempts, entry.number, entry.retry_of = (
                self.seq,
                self.attempts,
                self.number,
                self.retry_of,
            )
            self.text = ""
        return self.entry

    @property
    def explainer(self) -> EntryExplainer | None:
        return None if self.known is None else self.known.explainer

    def without_payload(self) -> JournalEntry:
        return self.load()

    def discard(self) -> None:
        self.drop_payload()

    def drop_payload(self) -> None:
        self.load().drop_payload()
        self.size, self.known = 0, None


class SharedJournal(Journal):
    """Journal shared by all replicas; the store assigns sequence numbers.

    ``find_active`` returns the active scenario of a session.
    """

    def __init__(self, bus: ClusterBus, find_active: Callable[[str], ActiveScenario]) -> None:
        super().__init__()
        self._start_seqs = _generate_times()
        self._bus = bus
        self._find_active = find_active
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
        self._has_new = asyncio.Event()

    def follow(self, session: str, fingerprint: bytes, name: str) -> tuple[Attempts, str | None]:
        return PendingAttempts(fingerprint), None

    def add(self, record: JournalItem, most: int = MAX_SESSION_ENTRIES) -> None:
        for listen in self.listeners:
            listen(record)
        self._waiting.append((record, most, self._epoch_of(record.session)))
        if self._bus.outlives:
            self._has_new.set()
        if len(self._waiting) > _MAX_WAITING:
            self._waiting.popleft()
            self._forgotten += 1

    def add_attempt(self, record: PendingItem, most: int = MAX_SESSION_ENTRIES) -> None:
        record.join(*self.follow(record.session, record.fingerprint, record.id))
        self.add(record, most)

    def amend(self, record: JournalItem) -> None:
        """Update a record, also on the other replicas if they have it."""
        if record.seq:
            self._amended.append(record.load())
        super().amend(record)

    def clear(self, session: str | None = None) -> None:
        super().clear(session)
        self._waiting = deque(row for row in self._waiting if session is not None and row[0].session != session)
        self._batches = deque(each for each in self._batches if session is not None and each.session != session)
        self._own = {
            seq: record for seq, record in self._own.items() if session is not None and record.session != session
        }

    async def begin_epoch(self, session: str, number: int) -> int | None:
        """Begin a new epoch for a session after a change with this number; an empty name: for all sessions.

        Unsent records of older epochs are discarded. Returns the highest sequence number of a record that was appended
        after the change because this process learned of it late; ``None``: there is none.
        """
        async with self._appending:
            late = [seq for seq, record in self._own.items() if seq > number and record.session == session]
            if session:
                self._cleared.pop(session, None)
                self._cleared[session] = number
                if len(self._cleared) > _MAX_EPOCHS:
                    self._cleared.popitem(last=False)
            else:
                self._all_cleared = number
                self._cleared.clear()
        return max(late, default=None)

    async def run(self) -> None:
        """Send new records until cancelled; after an outage of the store as soon as it answers again."""
        while True:
            await self._has_new.wait()
            await asyncio.sleep(_BATCH_DELAY)
            try:
                await self.send()
                if len(self._own) > _MAX_OWN:
                    await self.read_new()
            except StoreLostError:
                self._has_new.set()
                await asyncio.sleep(_RETRY)
            except Exception:  # a bug in one record must not end the loop
                log.exception("bug in the emulator: calls for the journal of all")

    async def send(self) -> None:
        """Append the new records to the shared journal.

        Raises:
            StoreLostError: the rest stays queued.
        """
        async with self._sending:
            self._has_new.clear()
            while self._batches or self._waiting:
                if not self._batches:
                    self._split([self._waiting.popleft() for _ in range(min(_MAX_BATCH, len(self._waiting)))])
                await self._send_batch(self._batches[0])
            while self._amended:
                entry = self._amended[0]
                if entry.seq in self._own or self._is_stored(entry):
                    head = self._head(entry.session, epoch := self._epoch_of(entry.session))
                    text = dump_text({**head, "amends": entry.seq, "fields": read_amended(entry)})
                    await self._append(
                        OutgoingBatch(
                            next(self._names), entry.session, epoch, MAX_SESSION_ENTRIES, (), [text.encode()], ()
                        )
                    )
                del self._amended[0]

    async def _append(self, batch: OutgoingBatch) -> int | None:
        """Append a batch; return its first sequence number, or ``None`` if the journal was cleared since."""
        async with self._appending:
            if batch.epoch < self._epoch_of(batch.session):
                return None
            return await self._bus.append(batch.session, batch.texts, batch.most, batch.name)

    def _split(self, rows: Iterable[tuple[JournalItem, int, int]]) -> None:
        """Split records into one batch per session, limit and epoch."""
        parts: dict[tuple[str, int, int], list[JournalItem]] = {}
        for record, most, epoch in rows:
            parts.setdefault((record.session, most, epoch), []).append(record)
        for (session, most, epoch), records in parts.items():
            active = self._find_active(session)
            head: Object = {**self._head(session, epoch), "world": active.namespace, "most": most}
            texts = [encode_record(record, head, active.emulator.seed) for record in records]
            before = [read_amended(record.load()) for record in records]
            self._batches.append(OutgoingBatch(next(self._names), session, epoch, most, records, texts, before))

    async def _send_batch(self, batch: OutgoingBatch) -> None:
        first = await self._append(batch)
        numbers = () if first is None else range(first, first + len(batch.records))
        for seq, record, fields in zip(numbers, batch.records, batch.before, strict=first is not None):
            self._own[seq] = record
            entry = record.load()
            record.seq = entry.seq = seq
            if read_amended(entry) != fields:
                self._amended.append(entry)
        if self._batches and self._batches[0] is batch:  # unless the journal was cleared meanwhile
            self._batches.popleft()

    async def read_new(self) -> None:
        """Read the new records of all replicas into this journal.

        Raises:
            StoreLostError: some records are missing.
        """
        async with self._reading:
            whole = False
            while not whole:
                records = await self._bus.read(self._read_to)
                whole = len(records) < MAX_READ
                for seq, text in records:
                    head, _, body = text.decode().partition("\n")
                    self._take(seq, as_object(parse_json(head)), body)
                    self._read_to = seq
                await asyncio.sleep(0)

    def _take(self, seq: int, head: Object, body: str) -> None:
        own, session = self._own.pop(seq, None), as_text(head["session"])
        if as_integer(head["era"]) < self._epoch_of(session):
            return
        if "amends" in head:
            self._amend(as_integer(head["amends"]), session, as_object(head["fields"]))
            return
        record = self._place(own, body, session, head)
        record.seq = seq
        target = record if isinstance(record, _RemoteRecord) else record.load()
        target.seq = seq
        target.attempts, target.number, target.retry_of = self._join(session, head)
        self._latest = seq - 1
        self.enter(record, as_integer(head["most"]))
        super().amend(record)

    def _join(self, session: str, head: Object) -> tuple[Attempts, int, str | None]:
        """Return the attempts of equal requests on all replicas, this one's number and the previous one's id."""
        fingerprint, name, number = (
            bytes.fromhex(as_text(head["identity"])),
            as_text(head["id"]),
            as_integer(head["number"]),
        )
        if not fingerprint:
            return Attempts(1, name), 1, None
        attempts, before = super().follow(session, fingerprint + as_text(head["world"]).encode(), name)
        if not number:  # only this journal counts its attempts
            return attempts, attempts.count, before
        attempts.count = max(attempts.count if before is None else attempts.count - 1, number)
        return attempts, number, None if head["retry_of"] is None else as_text(head["retry_of"])

    def _place(self, own: JournalItem | None, body: str, session: str, head: Object) -> JournalItem:
        if own is not None:
            return own
        active = self._find_active(session)
        app = active.apps.get(as_text(head["vendor"])) if active.namespace == head["world"] else None
        known = None if app is None else KnownScenario(app.explainer, active.emulator)
        return _RemoteRecord(body, as_text(head["id"]), session, known, len(body))

    def _amend(self, seq: int, session: str, fields: Object) -> None:
        """Update the fields of a record that another replica has amended."""
        record = next((record for record in reversed(self._sessions.get(session, ())) if record.seq == seq), None)
        if record is not None and read_amended(entry := record.load()) != fields:
            for name, value in fields.items():
                setattr(entry, name, value)
            super().amend(entry)

    def _head(self, session: str, epoch: int) -> Object:
        return {"session": session, "era": epoch}

    def _epoch_of(self, session: str) -> int:
        return max(self._all_cleared, self._cleared.get(session, 0))


def _generate_times() -> Iterator[int]:
    """Yield strictly increasing Unix times in microseconds, which order the records of several processes."""
    latest = 0
    while True:
        latest = max(latest + 1, time.time_ns() // 1000)
        yield latest
