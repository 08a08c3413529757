"""Write responses to the connection, byte for byte, at their due times."""

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from functools import partial
from itertools import islice
from math import inf

from aiohttp import web

from emulator.core.clock import Clock
from emulator.core.faultable import CloseMode, FaultableResponse, join_writes
from emulator.core.http import DROPPED, BatchedEvents, Headers, Response, StreamingResponse
from emulator.core.vendor import AnyVendor
from emulator.handler.context import RequestContext
from emulator.http.response_head import LAST_CHUNK, WITHOUT_BODY, chunk, encode_head, frame
from emulator.http.stream_writer import (
    MAX_UNSENT,
    TIMING,
    Sent,
    StreamWriter,
    format_timing,
    write_immediately,
    write_stream,
)

_POLL = 0.001  # real seconds; no event reports the kernel's progress
_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)  # on, zero timeout: close() sends RST


async def reset(transport: asyncio.Transport) -> None:
    """Wait until the client's machine has every byte, then send RST; return if the client disconnects first."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    quiet = 0
    while quiet < 2 and not transport.is_closing():  # twice: TLS has a second buffer, flushed in between
        quiet = 0 if transport.get_write_buffer_size() or _count_unacknowledged(sock) else quiet + 1
        if quiet < 2:
            await asyncio.sleep(_POLL)
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    transport.abort()


def _count_unacknowledged(sock: socket.socket | None) -> int:
    """Return the bytes in the kernel that the peer has not acknowledged; 0 where the system cannot report them."""
    try:
        import fcntl
        import termios
    except ImportError:
        return 0
    if sock is None:
        return 0
    try:
        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0])
    except OSError:
        return 0


class WriteResult(web.StreamResponse):
    """Sentinel response for aiohttp: the response is already written; ``keep_alive``: the connection stays open.

    ``__init__`` does not call the base class, as none of its state is used.
    """

    def __init__(self, *, keep_alive: bool) -> None:
        self._keep = keep_alive

    @property
    def keep_alive(self) -> bool | None:
        return self._keep

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


KEEP_ALIVE = WriteResult(keep_alive=True)
CLOSE = WriteResult(keep_alive=False)


class ResponseWriter:
    """Writer of one response on its connection.

    ``record`` is called when the response is complete, just before its last byte is written.
    ``planned_ttft``: the response carries its planned and actual times. ``stoppable``: :meth:`stop` may be called.
    """

    __slots__ = (
        *("_clock", "_closing", "_context", "_early", "_http", "_modern", "_stream_writer", "_record", "_vendor"),
        *("planned_ttft", "stoppable"),
    )

    def __init__(
        self,
        vendor: AnyVendor,
        clock: Clock,
        closing: asyncio.Event,
        http: web.BaseRequest,
        context: RequestContext,
        record: Callable[[RequestContext], None],
    ) -> None:
        self._vendor = vendor
        self._clock = clock
        self._closing = closing
        self._http = http
        self._context = context
        self._record = record
        self._modern = http.version >= (1, 1)
        self._stream_writer: StreamWriter | None = None
        self._early: asyncio.Future[Response] | None = None
        self.planned_ttft: float | None = None
        self.stoppable = False

    async def write(self, answer: Response | StreamingResponse | FaultableResponse, due: float = 0.0) -> WriteResult:
        """Write a response; one without events is written ``due`` seconds after admission."""
        if isinstance(answer, StreamingResponse):
            keep_alive = await self._stream(answer)
        elif isinstance(answer, FaultableResponse):
            keep_alive = await self._write_faultable(answer)
        else:
            if due > 0.0 and self.stoppable:
                answer = await self._wait_for(answer, due)
            elif due > 0.0:
                await self._clock.sleep_until(self._context.started + due)
            keep_alive = await self._send(answer, due)
        return KEEP_ALIVE if keep_alive and self._context.sent.whole else CLOSE

    def stop(self, answer: Response | StreamingResponse) -> None:
        """Replace what is still to be sent of a response that was stopped early."""
        if isinstance(answer, StreamingResponse):
            if self._stream_writer is not None:
                self._stream_writer.stop(islice(answer.events, self._context.sent.events, None))
        elif self._early is not None and not self._early.done():
            self._early.set_result(answer)

    async def _wait_for(self, answer: Response, due: float) -> Response:
        """Wait until a response is due; return it, or the one that :meth:`stop` passes before."""
        early: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._early = early

        def wake() -> None:
            if not early.done():
                early.set_result(answer)

        self._clock.call_at(self._context.started + due, wake)
        return await early

    def abort(self) -> WriteResult:
        """Abort the connection."""
        if self._http.transport is not None:
            self._http.transport.abort()
        return CLOSE

    async def _send(self, answer: Response, due: float) -> bool:
        if answer.status == DROPPED:
            self.abort()
            return False
        http, context, now = self._http, self._context, self._clock.now()
        keep_alive = http.keep_alive and not answer.close
        chunked, bare = answer.chunked and self._modern, self._is_bare(answer.status)
        if self.planned_ttft is not None:
            context.extra = (*context.extra, (TIMING, format_timing(due, now - context.started)))
        body = answer.body
        framing = frame(answer.status, None if chunked else len(body))
        head = self._head(answer.status, answer.headers, framing, keep_alive, now)
        sent = context.sent
        sent.status, sent.size, sent.first, sent.reached, sent.whole = answer.status, len(body), now, due, True
        if bare:
            body = b""
        elif chunked:
            body = (chunk(body) if body else b"") + LAST_CHUNK
        self._record(context)
        sent.whole = await self._write(head, body)
        return keep_alive

    async def _stream(self, answer: StreamingResponse) -> bool:
        context, clock = self._context, self._clock
        keep_alive = self._http.keep_alive and self._modern
        framing = frame(answer.status, None) if self._modern else ""
        if self.planned_ttft is not None and self._modern:
            context.extra = (*context.extra, ("Trailer", TIMING))
        head = self._head(answer.status, answer.headers, framing, keep_alive, clock.now())
        sent = context.sent
        sent.status = answer.status
        events = answer.events
        if self._modern and self.planned_ttft is None and isinstance(events, BatchedEvents):
            batches = events.batches()
            if batches is not None:
                over = partial(self._record, context)
                sent.whole = await write_immediately(self._http, clock, context.started, head, batches, sent, over)
                return keep_alive
        self._stream_writer = stream_writer = StreamWriter(
            clock,
            context.started,
            iter(events),
            sent,
            partial(self._record, context),
            chunked=self._modern,
            planned_ttft=self.planned_ttft,
        )
        sent.whole = await self._write(head) and await write_stream(stream_writer, self._http)
        return keep_alive

    async def _write_faultable(self, answer: FaultableResponse) -> bool:
        """Write a response with faults: each chunk in a write of its own, then its ending."""
        chunked = answer.chunked and self._modern
        keep_alive = self._http.keep_alive and not answer.close and (self._modern or not answer.chunked)
        sent = self._context.sent
        sent.tokens = 0
        if answer.start < inf:
            await self._wait(answer.start)
            length = None if answer.chunked else answer.size + answer.promised
            framing = frame(answer.status, length) if self._modern or not answer.chunked else ""
            head = self._head(answer.status, answer.headers, framing, keep_alive, self._clock.now())
            sent.status = answer.status
            bare = self._is_bare(answer.status)
            chunked = chunked and not bare
            if bare and answer.ending is CloseMode.COMPLETE:
                self._complete(answer)
            if not await self._write(head) or not (bare or await self._write_chunks(answer, sent, chunked)):
                sent.whole = False
                return False
        await self._wait(answer.end)
        self._complete(answer)
        if answer.ending is CloseMode.RESET and self._http.transport is not None:
            await reset(self._http.transport)
        elif answer.ending is CloseMode.COMPLETE:
            sent.whole = not chunked or await self._write(LAST_CHUNK)
            sent.reached = answer.end
        return keep_alive

    async def _write_chunks(self, answer: FaultableResponse, sent: Sent, chunked: bool) -> bool:
        writes = join_writes(answer.chunks)
        following = next(writes, None)
        dues: list[float] = []
        late: list[float] = []
        sent.dues, sent.lateness = dues, late
        while following is not None:
            due, data, tokens = following
            following = next(writes, None)
            await self._wait(due)
            now = self._clock.now()
            if not sent.events:
                sent.first = now
            dues.append(due)
            late.append(max(0.0, now - self._context.started - due))
            sent.events += 1
            sent.size += len(data)
            sent.tokens = tokens
            sent.reached = due
            if following is None and answer.ending is CloseMode.COMPLETE and (not chunked or answer.end <= due):
                self._complete(answer)
            if not await self._write(chunk(data) if chunked else data):
                return False
            await asyncio.sleep(0)  # so that each chunk is a TCP segment of its own
        return True

    def _is_bare(self, status: int) -> bool:
        """Return whether the response has no body; a client would read extra bytes as the next response."""
        return status in WITHOUT_BODY or self._http.method == "HEAD"

    def _complete(self, answer: FaultableResponse) -> None:
        """Complete the record of a response with faults before its last bytes or its ending."""
        sent = self._context.sent
        sent.events = len(answer.events()) if answer.streamed else 0
        sent.whole = answer.ending is CloseMode.COMPLETE
        self._record(self._context)

    async def _wait(self, due: float) -> None:
        """Sleep until ``due`` seconds after admission; with ``inf`` until the process ends.

        aiohttp cancels the waiting task when the client disconnects.
        """
        if due == inf:
            await self._closing.wait()
        elif due > 0.0:
            await self._clock.sleep_until(self._context.started + due)

    async def _write(self, data: bytes, more: bytes = b"") -> bool:
        """Write and wait for a slow reader; return false once the client has disconnected."""
        transport = self._http.transport
        if transport is None or transport.is_closing():
            return False
        transport.write(data + more)  # no `writelines`: before Python 3.12.9 and 3.13.2 it never pauses (gh-127655)
        if transport.get_write_buffer_size() > MAX_UNSENT:
            try:
                await self._http.writer.drain()
            except ConnectionError:
                return False
        return True

    def _head(self, status: int, headers: Headers, framing: str, keep_alive: bool, now: float) -> bytes:
        headers = (*headers, *self._context.extra)
        dated = any(name.lower() == "date" for name, _ in headers)  # an error of the scenario may set its own date
        return encode_head(
            self._vendor, status, headers, framing, now, keep_alive=keep_alive, modern=self._modern, dated=dated
        )
