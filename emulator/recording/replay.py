"""Find the recorded exchange that answers a request, and build its response.

``handler/replay.py`` answers requests by it; ``compare.py`` reads the content of responses by it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from math import inf
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote

from emulator.core.faultable import Chunk, CloseMode, FaultableResponse
from emulator.core.http import FieldNames, Headers, Mark
from emulator.core.json import parse_json
from emulator.core.requests import Task
from emulator.recording.canonical import CanonicalRequest, canonicalize, describe_miss
from emulator.recording.content import EventContent, read_event, read_whole, split_events
from emulator.recording.exchange import Exchange

Resolve = Callable[[str, str], tuple[str, str]]
"""Function from method and path to the operation and the model that the path names."""

_OWN_HEADER = "x-emulator-"
_SANDBOX = (("content-security-policy", "sandbox"), ("x-content-type-options", "nosniff"))
_ALWAYS_DROPPED = frozenset({"content-encoding", "trailer"})
_MAX_PREPARED = 64 * 1024**2  # bytes of bodies; their pieces take three times as much
_TASKS: tuple[tuple[str, Task], ...] = (("embeddings", "embeddings"), ("rerank", "rerank"))


@dataclass(frozen=True, eq=False)
class RecordedExchange:
    """Exchange with its canonical request, and what each replay of it needs."""

    exchange: Exchange
    canonical: CanonicalRequest

    @cached_property
    def content(self) -> "ResponseContent":
        """Content of the response."""
        return read_response(self.exchange)

    @cached_property
    def pieces(self) -> "Sequence[Piece]":
        """Parts of the response body."""
        return tuple(_cut_writes(self.exchange, self.content))


class Piece(NamedTuple):
    """Part of a recorded body: an event, or what of one event is in one write.

    Fields:
        offset: offset of its write in seconds.
        is_end: it ends an event.
        is_flushed: it is the last part of its write.
        spoken: number of events with text so far.
    """

    offset: float
    data: bytes
    is_end: bool
    is_flushed: bool
    spoken: int = 0
    mark: Mark = Mark.PLAIN


class Recording:
    """Recorded exchanges of one vendor.

    Args:
        resolve: returns the operation of a request.
        counting: parts of a canonical request that count.
    """

    def __init__(self, exchanges: Sequence[Exchange], vendor: str, resolve: Resolve, counting: Sequence[str]) -> None:
        self._resolve = resolve
        self._counting = tuple(counting)
        self._recorded: list[RecordedExchange] = []
        self._by_key: dict[str, list[RecordedExchange]] = {}
        for exchange in exchanges:
            if exchange.vendor == vendor:
                canonical = self.canonicalize(exchange.method, unquote(exchange.path), exchange.request_body)
                recorded = RecordedExchange(exchange, canonical)
                self._recorded.append(recorded)
                self._by_key.setdefault(canonical.key(self._counting), []).append(recorded)

    def prepare(self) -> None:
        """Read what the responses say, so that a first replay delays no other stream; up to a size of bodies."""
        left = _MAX_PREPARED
        for recorded in self._recorded:
            left -= sum(len(write.data) for write in recorded.exchange.writes)
            if left < 0:
                return
            _ = recorded.pieces

    @property
    def calls(self) -> Sequence[RecordedExchange]:
        """Exchanges with their canonical requests, in the order of their recording."""
        return self._recorded

    def canonicalize(self, method: str, path: str, body: bytes) -> CanonicalRequest:
        """Return the canonical form of a request."""
        operation, model = self._resolve(method, path)
        return canonicalize(operation, model, body)

    def find(self, request: CanonicalRequest) -> tuple[Sequence[RecordedExchange], bytes]:
        """Return the exchanges of a request in the order of their recording, and the key of its counter."""
        key = request.key(self._counting)
        return self._by_key.get(key, ()), blake2b(key.encode(), digest_size=16).digest()

    def explain_miss(self, request: CanonicalRequest) -> str:
        """Describe the nearest recorded request and what differs."""
        rows = [(PurePath(each.exchange.source).name, each.canonical) for each in self._recorded]
        return describe_miss(request, rows, self._counting)


def choose(found: Sequence[RecordedExchange], count: int, after: str) -> RecordedExchange | None:
    """Return the exchange of the ``count``-th of equal requests, from 0; ``None``: there are no more."""
    if not found or (count >= len(found) and after == "refuse"):
        return None
    return found[count % len(found) if after == "repeat" else min(count, len(found) - 1)]


@dataclass(frozen=True, slots=True)
class ResponseContent:
    """Content of a recorded response, as far as its format is known.

    Fields:
        events: content of each event; of a whole response one.
        counts: prompt and completion tokens as the response states them.
    """

    text: str
    events: tuple[EventContent, ...]
    counts: dict[str, int]


def read_response(exchange: Exchange) -> ResponseContent:
    """Return the content of a recorded response."""
    if exchange.is_streamed:
        events = tuple(map(read_event, split_events(exchange.body)))
    else:
        events = (read_whole(exchange.body),)
    counts: dict[str, int] = {}
    for event in events:
        counts |= event.counts
    return ResponseContent("".join(event.text for event in events), events, counts)


def build_response(
    recorded: RecordedExchange,
    tokens: int,
    schedule: Callable[[float], float],
    *,
    fields: FieldNames,
    is_dated: bool,
) -> FaultableResponse:
    """Build the response of an exchange.

    Args:
        tokens: number of tokens of the whole answer.
        schedule: returns when a write is due that was recorded at an offset.
        is_dated: the emulator sends a date of its own.
    """
    exchange, content = recorded.exchange, recorded.content
    chunks = _schedule_pieces(recorded.pieces, tokens, schedule)
    ending, end = _find_ending(exchange)
    start = schedule(exchange.offset) if exchange.status else inf
    texts = [event.text for event in content.events if event.text]
    return FaultableResponse(
        status=exchange.status or 200,
        headers=_select_headers(exchange.headers, is_dated=is_dated),
        chunks=chunks,
        streamed=exchange.is_streamed,
        chunked=exchange.framing == "chunked",
        start=start,
        end=end if end == inf else max(schedule(end), chunks[-1].due if chunks else 0.0),
        ending=ending,
        promised=exchange.missing,
        close=any(name.lower() == "connection" and "close" in value.lower() for name, value in exchange.headers),
        texts=tuple([*texts, *[""] * (tokens - len(texts))][:tokens]),
        fields=fields,
    )


def _schedule_pieces(pieces: Sequence[Piece], tokens: int, schedule: Callable[[float], float]) -> tuple[Chunk, ...]:
    """Return the chunks with their due times, and with the tokens that the client has after each."""
    spoken = pieces[-1].spoken if pieces else 0
    chunks = [
        Chunk(schedule(offset), data, heard * tokens // spoken if spoken else 0, is_end, is_flushed, mark)
        for offset, data, is_end, is_flushed, heard, mark in pieces
    ]
    if chunks and not spoken:
        chunks[-1] = replace(chunks[-1], tokens=tokens)
    return tuple(chunks)


def _select_headers(headers: Headers, *, is_dated: bool) -> Headers:
    """Return headers without those that belong to the recorded connection, or that the emulator adds itself."""
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in _ALWAYS_DROPPED
        and not (is_dated and name.lower() == "date")
        and not name.lower().startswith(_OWN_HEADER)
    ]
    if tuple((name.lower(), value) for name, value in kept[-2:]) == _SANDBOX:
        del kept[-2:]  # of the emulator, which adds both to what browsers may run
    if kept and (kept[-1][0].lower(), kept[-1][1].lower()) == ("connection", "close"):
        kept.pop()  # of this connection; before others it is a header of the service itself
    return tuple(kept)


def _find_ending(exchange: Exchange) -> tuple[CloseMode, float]:
    """Return how a response ends, and when; a silent one when its client leaves."""
    if exchange.ending in ("timed out", "client left"):
        return CloseMode.CLOSE, inf
    modes = {"whole": CloseMode.COMPLETE, "cut": CloseMode.CLOSE, "reset": CloseMode.RESET}
    return modes[exchange.ending], exchange.ended


def _cut_writes(exchange: Exchange, content: ResponseContent) -> Iterator[Piece]:
    """Yield the writes in pieces of one event each; an event may begin in one write and end in a later one."""
    if not exchange.is_streamed:
        last = len(exchange.writes)
        for number, write in enumerate(exchange.writes, 1):
            is_end = number == last
            yield Piece(write.offset, write.data, is_end, True, int(is_end and bool(content.text)))
        return
    events = split_events(exchange.body)
    ends = [*accumulate(map(len, events)), inf]
    number = spoken = at = 0
    for write in exchange.writes:
        start, stop = at, at + len(write.data)
        while at < stop:
            end = int(min(ends[number], stop))
            mark, is_end = Mark.PLAIN, end == ends[number] and events[number].endswith((b"\n\n", b"\r\n\r\n"))
            if is_end:
                spoken += bool(content.events[number].text)
                mark = content.events[number].mark
            yield Piece(write.offset, write.data[at - start : end - start], is_end, end == stop, spoken, mark)
            number += end == ends[number]
            at = end


def find_models(exchanges: Sequence[Exchange], vendor: str, resolve: Resolve) -> dict[str, Task]:
    """Return the models that a vendor's recorded requests name, each with its task."""
    found: dict[str, Task] = {}
    for exchange in exchanges:
        if exchange.vendor != vendor or exchange.method != "POST" or not 200 <= exchange.status < 300:
            continue
        operation, model = resolve(exchange.method, unquote(exchange.path))
        try:
            body = parse_json(exchange.request_body)
        except ValueError:
            continue
        members = body if isinstance(body, dict) else {}
        name = model or members.get("model")
        if isinstance(name, str) and name:
            found.setdefault(name, _find_task(operation, frozenset(members)))
    return found


def _find_task(operation: str, members: frozenset[str]) -> Task:
    for word, task in _TASKS:
        if word in operation:
            return task
    if "messages" in members or "chat" in operation:
        return "chat"
    if "prompt" in members:
        return "completions"
    return "embeddings" if "input" in members and "responses" not in operation else "chat"
