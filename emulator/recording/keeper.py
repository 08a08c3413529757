"""Write exchanges to a folder while they happen, redacted."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from emulator.core.executor import run_in_thread
from emulator.core.http import Headers
from emulator.recording.exchange import (
    SUFFIX,
    Ending,
    Exchange,
    Write,
    drop_framing,
    find_header,
    format_end,
    format_head,
    format_opening,
    format_write,
    list_files,
)
from emulator.recording.redact import Secrets, redact_headers, redact_target, redact_whole, redact_writes
from emulator.recording.relay import ResponseStart

MAX_BODY = 8 * 1024**2  # bytes of a body that is one document; what exceeds it is left out
_WINDOW = 64 * 1024  # bytes of a stream that wait, as a credential may be split over its events
_TOKENS = re.compile(rb'"(?:completion_tokens|output_tokens|generated_tokens|candidatesTokenCount)"\s*:\s*(\d+)')
_WORD = re.compile(r"[^a-z0-9]+")
_STREAMS = ("text/event-stream", "application/x-ndjson")
_DECODED = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # zlib's ``wbits``


@dataclass(slots=True)
class Totals:
    """Totals of a recording.

    Fields:
        failed: calls that could not be recorded, with the reason.
        exposed: file and place of each credential that stood elsewhere than in credential headers.
    """

    calls: int = 0
    tokens: int = 0
    received: int = 0
    unkept: int = 0
    secrets: int = 0
    exposed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    endings: dict[str, int] = field(default_factory=dict)


class Folder:
    """Folder of exchanges that are numbered in the order in which they begin."""

    def __init__(self, path: Path, on_kept: Callable[[Path, Exchange], None] | None = None) -> None:
        self.path = path
        self.totals = Totals()
        self.on_kept = on_kept
        self._number = 0
        self._open: set[asyncio.Task[None]] = set()

    def prepare(self) -> None:
        """Create the folder, and number on from the exchanges that it has.

        Raises:
            OSError: the folder cannot be created.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        numbers = [int(found[1]) for file in list_files(self.path) if (found := re.match(r"(\d+)-", file.name))]
        self._number = max(numbers, default=0)

    def begin(self, vendor: str, method: str, target: str, headers: Headers, session: str = "") -> Keeper:
        """Return the keeper of a new exchange; those of a session have a folder of their own below this one."""
        self._number += 1
        words = _WORD.sub("-", target.partition("?")[0].lower()).strip("-").split("-")
        name = f"{self._number:04}-{vendor}-{'-'.join(words[-3:])[:60]}".rstrip("-")
        place = self.path / session if session else self.path
        exchange = Exchange(vendor=vendor, method=method, target=target, request_headers=headers)
        return Keeper(self, place / f"{name}{SUFFIX}", exchange)

    def follow(self, task: asyncio.Task[None]) -> None:
        """Hold a task that still writes."""
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def finish(self) -> None:
        """Wait until every exchange is written."""
        while self._open:
            await asyncio.gather(*self._open, return_exceptions=True)


class Keeper:
    """Writer of one exchange; observes a call while it passes, see :class:`~emulator.recording.relay.Observer`."""

    def __init__(self, folder: Folder, path: Path, exchange: Exchange) -> None:
        self._folder = folder
        self._path = path
        self._exchange = exchange
        self._secrets = Secrets()
        self._request: list[bytes] = []
        self._request_size = 0
        self._writes: list[Write] = []
        self._waiting = 0  # bytes
        self._written = 0
        self._tokens = 0
        self._is_stream = False
        self._unpacker: zlib._Decompress | None = None
        self._file: TextIO | None = None
        self._flushing: asyncio.Task[None] | None = None

    def on_request(self, data: bytes) -> None:
        self._request_size += len(data)
        if self._request_size <= MAX_BODY:
            self._request.append(data)

    def on_sent(self, time: float) -> None:
        self._exchange.time = time

    def on_head(self, head: ResponseStart, offset: float) -> None:
        exchange = self._exchange
        exchange.status, exchange.reason, exchange.headers = head.status, head.reason, head.headers
        exchange.framing, exchange.offset = head.framing, offset
        self._is_stream = find_header(head.headers, "content-type").partition(";")[0].strip().lower() in _STREAMS
        window = _DECODED.get(find_header(head.headers, "content-encoding").strip().lower())
        self._unpacker = None if window is None else zlib.decompressobj(window)

    async def on_data(self, data: bytes, offset: float) -> None:
        self._folder.totals.received += len(data)
        if self._unpacker is not None:
            data = self._unpack(data)
        if not data:
            return
        if not self._is_stream and self._written + self._waiting + len(data) > MAX_BODY:
            self._exchange.unkept += len(data)
            return
        self._writes.append(Write(offset, data))
        self._waiting += len(data)
        if self._is_stream and self._waiting > 2 * _WINDOW:
            if self._flushing is not None and self._waiting > 16 * _WINDOW:
                await self._flushing
            if self._flushing is None or self._flushing.done():
                self._flushing = asyncio.ensure_future(self._flush_stream())
                self._folder.follow(self._flushing)

    def _unpack(self, data: bytes) -> bytes:
        assert self._unpacker is not None
        try:
            return self._unpacker.decompress(data, MAX_BODY)
        except zlib.error:
            self._exchange.unkept += len(data)
            return b""

    def on_end(self, ending: Ending, offset: float, missing: int) -> None:
        exchange = self._exchange
        exchange.ending, exchange.ended, exchange.missing = ending, offset, missing
        self._folder.follow(asyncio.ensure_future(self._finish()))

    def on_failed(self, reason: str) -> None:
        self._folder.totals.failed.append(f"{self._exchange.vendor} {self._exchange.method}: {reason}")

    async def _flush_stream(self) -> None:
        writes, self._writes, self._waiting = self._writes, [], 0
        left = await run_in_thread(self._write_part, writes, _WINDOW)
        self._writes[:0] = left
        self._waiting += sum(len(write.data) for write in left)

    async def _finish(self) -> None:
        if self._flushing is not None:
            await self._flushing
        try:
            await run_in_thread(self._write_last)
        except OSError as error:
            self._folder.totals.failed.append(f"{self._path.name}: {error.strerror or error}")
            return
        self._count()

    def _count(self) -> None:
        totals, secrets = self._folder.totals, self._secrets
        totals.calls += 1
        totals.tokens += self._tokens
        totals.unkept += self._exchange.unkept
        totals.secrets += secrets.total
        totals.exposed += [f"{self._path.name}: {place}" for place in secrets.places]
        totals.endings[self._exchange.ending] = totals.endings.get(self._exchange.ending, 0) + 1
        if self._folder.on_kept is not None:
            self._folder.on_kept(self._path, self._exchange)

    # In the worker thread

    def _open_file(self) -> TextIO:
        """Open the file and write the request and the head of the response, redacted."""
        if self._file is not None:
            return self._file
        exchange, secrets = self._exchange, self._secrets
        exchange.request_headers = redact_headers(drop_framing(exchange.request_headers), secrets, "request")
        exchange.target = redact_target(exchange.target, secrets)
        body = b"".join(self._request)
        if self._request_size > MAX_BODY:
            body = b""
            exchange.unkept += self._request_size
        exchange.request_body = redact_whole(self._decode_request(body), secrets, "request body")
        exchange.headers = redact_headers(drop_framing(exchange.headers), secrets, "response")
        if self._unpacker is not None:
            exchange.headers = _drop(exchange.headers, "content-encoding")
        self._request.clear()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while self._path.exists():  # another process records to the same folder
            number, _, rest = self._path.name.partition("-")
            self._path = self._path.with_name(f"{int(number) + 1:04}-{rest}")
        self._file = self._path.open("x", encoding="utf-8", newline="\n")
        self._file.write(format_opening(exchange) + format_head(exchange))
        return self._file

    def _decode_request(self, body: bytes) -> bytes:
        coding = find_header(self._exchange.request_headers, "content-encoding").strip().lower()
        if not coding:
            return body
        try:
            plain = zlib.decompressobj(_DECODED[coding]).decompress(body, MAX_BODY)
        except (KeyError, zlib.error):  # nothing can be searched in it
            self._exchange.unkept += len(body)
            return b""
        self._exchange.request_headers = _drop(self._exchange.request_headers, "content-encoding")
        return plain

    def _write_part(self, writes: list[Write], keep: int) -> list[Write]:
        """Write what no credential can reach any more; return the rest."""
        file = self._open_file()
        done, left = redact_writes(writes, self._secrets, "response body", keep=keep)
        self._written += sum(len(write.data) for write in done)
        for write in done:
            if write.data:
                file.write(format_write(write))
        self._read_tokens(done)
        return left

    def _write_last(self) -> None:
        self._write_part(self._writes, 0)
        self._writes = []
        assert self._file is not None
        self._exchange.redacted = self._secrets.total
        with self._file as file:
            file.write(format_end(self._exchange))

    def _read_tokens(self, writes: list[Write]) -> None:
        found = _TOKENS.findall(b"".join(write.data for write in writes[-8:]))
        if found:
            self._tokens = int(found[-1])


def _drop(headers: Headers, name: str) -> Headers:
    return tuple(pair for pair in headers if pair[0].lower() != name)
