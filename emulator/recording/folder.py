"""Write exchanges to a folder of recordings while the calls go on, redacted.

``emulator record`` and forwarded requests record so. ``ExchangeFolder`` numbers the exchanges; an ``ExchangeRecorder``
observes one call that ``relay.py`` passes on.
"""

import asyncio
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from emulator.core.executor import run_in_thread
from emulator.core.http import Headers
from emulator.recording.exchange import SUFFIX, Ending, Exchange, find_header, list_files
from emulator.recording.observer import ResponseStart
from emulator.recording.redact import Secrets, note_credentials, redact_target
from emulator.recording.writer import MAX_BODY, SEARCH_WINDOW, ZLIB_WINDOWS, ExchangeSummary, LocalWriters, Writers

_MAX_WAITING = 16 * SEARCH_WINDOW  # bytes; then the service waits for the disk
_NUMBERS = count()
_WORD = re.compile(r"[^a-z0-9]+")
_Parts = tuple[list[float], list[bytes]]
_STREAMS = ("text/event-stream", "application/x-ndjson")


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


class ExchangeFolder:
    """Folder of exchanges that are numbered in the order in which they begin."""

    def __init__(
        self, path: Path, on_kept: Callable[[Path, Exchange], None] | None = None, writers: Writers | None = None
    ) -> None:
        self.path = path
        self.writers = writers or LocalWriters()
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

    def begin(self, vendor: str, method: str, target: str, headers: Headers, session: str = "") -> "ExchangeRecorder":
        """Return the recorder of a new exchange; those of a session have a folder of their own below this one."""
        self._number += 1
        secrets = Secrets()
        note_credentials(headers, secrets)
        shown = redact_target(target, secrets)  # the name of a file reaches the disk, too
        words = _WORD.sub("-", shown.partition("?")[0].lower()).strip("-").split("-")
        name = f"{self._number:04}-{vendor}-{'-'.join(words[-3:])[:60]}".rstrip("-")
        place = self.path / session if session else self.path
        exchange = Exchange(vendor=vendor, method=method, target=target, request_headers=headers)
        return ExchangeRecorder(self, place / f"{name}{SUFFIX}", exchange)

    def follow(self, task: asyncio.Task[None]) -> None:
        """Hold a task that still writes."""
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def finish(self) -> None:
        """Wait until every exchange is written."""
        while self._open:
            await asyncio.wait(self._open)  # not gather: of done tasks it returns at once, before they leave the set
        await run_in_thread(self.writers.close)


class ExchangeRecorder:
    """Recorder of one exchange; observes a call while it passes, see :class:`~emulator.recording.observer.Observer`."""

    def __init__(self, folder: ExchangeFolder, path: Path, exchange: Exchange) -> None:
        self.on_kept = folder.on_kept
        self._folder = folder
        self._path = path
        self._exchange = exchange
        self._number = next(_NUMBERS)
        self._request: list[bytes] = []
        self._request_size = 0
        self._offsets: list[float] = []
        self._parts: list[bytes] = []
        self._waiting = 0  # bytes of these parts
        self._size = 0  # bytes of a body that is one document
        self._is_stream = False
        self._is_open = False
        self._unpacker: zlib._Decompress | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._error: OSError | None = None

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
        window = ZLIB_WINDOWS.get(find_header(head.headers, "content-encoding").strip().lower())
        self._unpacker = None if window is None else zlib.decompressobj(window)

    def on_data(self, data: bytes, offset: float) -> asyncio.Future[None] | None:
        self._folder.totals.received += len(data)
        if self._unpacker is not None:
            data = self._unpack(data)
        if not data or self._error is not None:
            return None
        if not self._is_stream:
            self._size += len(data)
            if self._size > MAX_BODY:
                self._exchange.unkept += len(data)
                return None
        self._offsets.append(offset)
        self._parts.append(data)
        self._waiting += len(data)
        return self._hand_over() if self._waiting > SEARCH_WINDOW else None

    def _hand_over(self) -> asyncio.Future[None] | None:
        """Have the parts written once those before are; return what has to be done first if there are too many."""
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.ensure_future(self._flush(self._take_parts()))
            self._folder.follow(self._flushing)
        return self._flushing if self._waiting > _MAX_WAITING else None

    def _take_parts(self) -> _Parts:
        taken = self._offsets, self._parts
        self._offsets, self._parts, self._waiting = [], [], 0
        return taken

    def _unpack(self, data: bytes) -> bytes:
        assert self._unpacker is not None
        try:
            plain = self._unpacker.decompress(data, MAX_BODY)
        except zlib.error:
            self._exchange.unkept += len(data)
            return b""
        self._exchange.unkept += len(self._unpacker.unconsumed_tail)
        return plain

    def on_end(self, ending: Ending, offset: float, missing: int, excess: int) -> None:
        exchange = self._exchange
        exchange.ending, exchange.ended, exchange.missing, exchange.excess = ending, offset, missing, excess
        self._folder.follow(asyncio.ensure_future(self._finish()))

    def on_failed(self, reason: str) -> None:
        self._folder.totals.failed.append(f"{self._exchange.vendor} {self._exchange.method}: {reason}")

    async def _flush(self, parts: _Parts) -> None:
        try:
            await run_in_thread(self._add, *parts)
        except OSError as error:  # the call goes on without its recording
            self._error = error
        except Exception as error:
            self._error = OSError(f"a bug in the recorder: {error!r}")

    async def _finish(self) -> None:
        if self._flushing is not None:
            await asyncio.wait({self._flushing})
        try:
            if self._error is not None:
                raise self._error
            written = await run_in_thread(self._write_last)
        except OSError as error:
            self._folder.totals.failed.append(f"{self._path.name}: {error.strerror or error}")
            return
        self._count(written)

    def _count(self, written: ExchangeSummary) -> None:
        totals = self._folder.totals
        totals.calls += 1
        totals.tokens += written.tokens
        totals.unkept += written.unkept
        totals.secrets += written.secrets
        totals.exposed += [f"{written.path.name}: {place}" for place in written.exposed]
        totals.endings[self._exchange.ending] = totals.endings.get(self._exchange.ending, 0) + 1
        if self.on_kept is not None:
            self._exchange.target = written.target
            self.on_kept(written.path, self._exchange)

    # In the worker thread

    def _open(self) -> None:
        """Begin the file, unless it is begun."""
        if self._is_open:
            return
        request = b"".join(self._request)
        if self._request_size > MAX_BODY:
            request = b""
            self._exchange.unkept += self._request_size
        self._request.clear()
        self._is_open = True
        opening = replace(self._exchange, request_body=request)
        self._folder.writers.open(self._number, self._path, opening, is_stream=self._is_stream)

    def _add(self, offsets: list[float], parts: list[bytes]) -> None:
        self._open()
        self._folder.writers.add(self._number, offsets, parts)

    def _write_last(self) -> ExchangeSummary:
        self._open()
        return self._folder.writers.finish(self._number, self._exchange, *self._take_parts())
