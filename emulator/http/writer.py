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
    MOST_UNSENT,
    TIMING,
    Sent,
    StreamWriter,
    format_timing,
    write_immediately,
    write_stream,
)

_POLL = 0.001  # real seconds; how far the kernel has come, no event tells
_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)  # on, for no time: closing resets


async def reset(transport: asyncio.Transport) -> None:
    """Wait until the client's machine has every byte, then send RST; return if the client leaves first."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    quiet = 0
    while quiet < 2 and not transport.is_closing():  # twice: below TLS lies a second buffer, emptied in between
        quiet = 0 if transport.get_write_buffer_size() or _count_unacknowledged(sock) else quiet + 1
        if quiet < 2:
            await asyncio.sleep(_POLL)
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    transport.abort()


def _count_unacknowledged(sock: socket.socket | None) -> int:
    """Bytes in the kernel that the other side has not acknowledged; 0 where the system does not tell."""
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
    """Tells the framework that the answer is already on the wire, and whether the connection goes on.

    Nothing of the base class is used, so nothing of it is set up.
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


GO_ON = WriteResult(keep_alive=True)
END = WriteResult(keep_alive=False)


class ResponseWriter:
    """The answer of one exchange on its connection.

    ``record`` is told when all is known of the answer and its last byte is still to be written.
    ``planned_ttft``: the answer says how well its schedule was kept. ``stoppable``: :meth:`stop` may be called.
    """

    __slots__ = (
        *("_clock", "_closing", "_early", "_exchange", "_http", "_modern", "_pump", "_record", "_vendor"),
        *("planned_ttft", "stoppable"),
    )

    def __init__(
        self,
        vendor: AnyVendor,
        clock: Clock,
        closing: asyncio.Event,
        http: web.BaseRequest,
        exchange: RequestContext,
        record: Callable[[RequestContext], None],
    ) -> None:
        self._vendor = vendor
        self._clock = clock
        self._closing = closing
        self._http = http
        self._exchange = exchange
        self._record = record
        self._modern = http.version >= (1, 1)
        self._pump: StreamWriter | None = None
        self._early: asyncio.Future[Response] | None = None
        self.planned_ttft: float | None = None
        self.stoppable = False

    async def write(self, answer: Response | StreamingResponse | FaultableResponse, due: float = 0.0) -> WriteResult:
        """Send an answer; one in one piece goes out ``due`` seconds after admission."""
        if isinstance(answer, StreamingResponse):
            keep_alive = await self._stream(answer)
        elif isinstance(answer, FaultableResponse):
            keep_alive = await self._deliver(answer)
        else:
            if due > 0.0 and self.stoppable:
                answer = await self._wait_for(answer, due)
            elif due > 0.0:
                await self._clock.sleep_until(self._exchange.started + due)
            keep_alive = await self._send(answer, due)
        return GO_ON if keep_alive and self._exchange.sent.whole else END

    def stop(self, answer: Response | StreamingResponse) -> None:
        """Send what is left of an answer that ends now, in place of what was still to come."""
        if isinstance(answer, StreamingResponse):
            if self._pump is not None:
                self._pump.stop(islice(answer.events, self._exchange.sent.events, None))
        elif self._early is not None and not self._early.done():
            self._early.set_result(answer)

    async def _wait_for(self, answer: Response, due: float) -> Response:
        """An answer in one piece when it is due, or the one that is sent in its place before."""
        early: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._early = early

        def wake() -> None:
            if not early.done():
                early.set_result(answer)

        self._clock.call_at(self._exchange.started + due, wake)
        return await early

    def abort(self) -> WriteResult:
        """End the connection without another word."""
        if self._http.transport is not None:
            self._http.transport.abort()
        return END

    async def _send(self, answer: Response, due: float) -> bool:
        if answer.status == DROPPED:
            self.abort()
            return False
        http, exchange, now = self._http, self._exchange, self._clock.now()
        keep_alive = http.keep_alive and not answer.close
        chunked, bare = answer.chunked and self._modern, self._is_bare(answer.status)
        if self.planned_ttft is not None:
            exchange.extra = (*exchange.extra, (TIMING, format_timing(due, now - exchange.started)))
        body = answer.body
        framing = frame(answer.status, None if chunked else len(body))
        head = self._head(answer.status, answer.headers, framing, keep_alive, now)
        sent = exchange.sent
        sent.status, sent.size, sent.first, sent.reached, sent.whole = answer.status, len(body), now, due, True
        if bare:
            body = b""
        elif chunked:
            body = (chunk(body) if body else b"") + LAST_CHUNK
        self._record(exchange)
        sent.whole = await self._write(head, body)
        return keep_alive

    async def _stream(self, answer: StreamingResponse) -> bool:
        exchange, clock = self._exchange, self._clock
        keep_alive = self._http.keep_alive and self._modern
        framing = frame(answer.status, None) if self._modern else ""
        if self.planned_ttft is not None and self._modern:
            exchange.extra = (*exchange.extra, ("Trailer", TIMING))
        head = self._head(answer.status, answer.headers, framing, keep_alive, clock.now())
        sent = exchange.sent
        sent.status = answer.status
        events = answer.events
        if self._modern and self.planned_ttft is None and isinstance(events, BatchedEvents):
            batches = events.batches()
            if batches is not None:
                over = partial(self._record, exchange)
                sent.whole = await write_immediately(self._http, clock, exchange.started, head, batches, sent, over)
                return keep_alive
        self._pump = pump = StreamWriter(
            clock,
            exchange.started,
            iter(events),
            sent,
            partial(self._record, exchange),
            chunked=self._modern,
            planned_ttft=self.planned_ttft,
        )
        sent.whole = await self._write(head) and await write_stream(pump, self._http)
        return keep_alive

    async def _deliver(self, answer: FaultableResponse) -> bool:
        """Send a bent answer: each write by itself, and the ending as it comes."""
        chunked = answer.chunked and self._modern
        keep_alive = self._http.keep_alive and not answer.close and (self._modern or not answer.chunked)
        sent = self._exchange.sent
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
                self._end_of(answer)
            if not await self._write(head) or not (bare or await self._deliver_body(answer, sent, chunked)):
                sent.whole = False
                return False
        await self._wait(answer.end)
        self._end_of(answer)
        if answer.ending is CloseMode.RESET and self._http.transport is not None:
            await reset(self._http.transport)
        elif answer.ending is CloseMode.COMPLETE:
            sent.whole = not chunked or await self._write(LAST_CHUNK)
            sent.reached = answer.end
        return keep_alive

    async def _deliver_body(self, answer: FaultableResponse, sent: Sent, chunked: bool) -> bool:
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
            late.append(max(0.0, now - self._exchange.started - due))
            sent.events += 1
            sent.size += len(data)
            sent.tokens = tokens
            sent.reached = due
            if following is None and answer.ending is CloseMode.COMPLETE and (not chunked or answer.end <= due):
                self._end_of(answer)
            if not await self._write(chunk(data) if chunked else data):
                return False
            await asyncio.sleep(0)  # a write of its own on the wire, too
        return True

    def _is_bare(self, status: int) -> bool:
        """No byte may follow the head: a client would take it for the next answer's."""
        return status in WITHOUT_BODY or self._http.method == "HEAD"

    def _end_of(self, answer: FaultableResponse) -> None:
        """All is known of a bent answer; only its last bytes or its ending are to come."""
        sent = self._exchange.sent
        sent.events = len(answer.events()) if answer.streamed else 0
        sent.whole = answer.ending is CloseMode.COMPLETE
        self._record(self._exchange)

    async def _wait(self, due: float) -> None:
        """Until ``due`` seconds after admission; one that is infinite ends with the process.

        The framework cancels whoever waits when the client leaves.
        """
        if due == inf:
            await self._closing.wait()
        elif due > 0.0:
            await self._clock.sleep_until(self._exchange.started + due)

    async def _write(self, data: bytes, more: bytes = b"") -> bool:
        """Write, wait for a slow reader; false once the client has gone."""
        transport = self._http.transport
        if transport is None or transport.is_closing():
            return False
        transport.write(data + more)  # no `writelines`: before Python 3.12.9 and 3.13.2 it never pauses (gh-127655)
        if transport.get_write_buffer_size() > MOST_UNSENT:
            try:
                await self._http.writer.drain()
            except ConnectionError:
                return False
        return True

    def _head(self, status: int, headers: Headers, framing: str, keep_alive: bool, now: float) -> bytes:
        headers = (*headers, *self._exchange.extra)
        dated = any(name.lower() == "date" for name, _ in headers)  # a scenario's error may say another
        return encode_head(
            self._vendor, status, headers, framing, now, keep_alive=keep_alive, modern=self._modern, dated=dated
        )
