"""Write responses to the connection; ``schedule.py`` writes the parts of a stream at their due times."""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import chain, islice
from math import inf

from emulator.core.clock import Clock
from emulator.core.faultable import CloseMode, FaultableResponse, join_writes
from emulator.core.http import DROPPED, Batch, BatchedEvents, Event, Headers, Response, StreamingResponse
from emulator.core.vendor import AnyVendor
from emulator.handler.context import RequestContext
from emulator.http.acknowledged import count_unacknowledged, count_unsent, send_unbuffered
from emulator.http.connection import MAX_UNSENT, IncomingRequest
from emulator.http.proactor import close_socket, is_proactor
from emulator.http.response_head import LAST_CHUNK, WITHOUT_BODY, chunk, encode_control_head, encode_head, frame
from emulator.http.schedule import Frames, ScheduleWriter, frame_batches, frame_events, frame_writes

TIMING_HEADER = "x-emulator-timing"
_POLL = 0.001  # real seconds; no event reports the kernel's progress
_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)  # on, zero timeout: close() sends RST


async def reset(transport: asyncio.Transport) -> None:
    """Wait until the client's machine has every byte, then send RST; return if the client disconnects first."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    quiet = 0
    while quiet < 2 and not transport.is_closing():  # twice: TLS has a second buffer, flushed in between
        quiet = 0 if count_unsent(transport) or count_unacknowledged(sock) else quiet + 1
        if quiet < 2:
            await asyncio.sleep(_POLL)
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    transport.abort()
    if is_proactor(asyncio.get_running_loop()):
        close_socket(transport)


def format_timing(planned: float, actual: float, name: str = "ttft") -> str:
    """Format a due and an actual time, in milliseconds after admission, as a ``Server-Timing`` metric."""
    return f"{name};planned={planned * 1000:.3f};dur={actual * 1000:.3f}"


class ResponseWriter:
    """Writer of one response on its connection.

    ``on_complete`` is called when the response is complete, just before its last byte is written.
    ``announces_close``: a connection that does not stay open says so.
    ``planned_ttft``: the response carries its planned and actual times. ``stoppable``: :meth:`stop` may be called.
    """

    __slots__ = (
        *(
            "_clock",
            "_closing",
            "_connection",
            "_context",
            "_early",
            "_keep_alive",
            "_on_complete",
            "_request",
            "_schedule",
            "_vendor",
        ),
        *("announces_close", "planned_ttft", "stoppable"),
    )

    def __init__(
        self,
        vendor: AnyVendor,
        clock: Clock,
        closing: asyncio.Event,
        request: IncomingRequest,
        context: RequestContext,
        *,
        on_complete: Callable[[RequestContext], None],
    ) -> None:
        self._vendor = vendor
        self._clock = clock
        self._closing = closing
        self._request = request
        self._connection = request.connection
        context.sent.connection = request.connection.number
        self._context = context
        self._on_complete = on_complete
        self._schedule: ScheduleWriter | None = None
        self._early: asyncio.Future[Response] | None = None
        self._keep_alive = False
        self.announces_close = True
        self.planned_ttft: float | None = None
        self.stoppable = False

    async def write(self, answer: Response | StreamingResponse | FaultableResponse, due: float = 0.0) -> bool:
        """Write a response; one without events is written ``due`` seconds after admission.

        Returns:
            Whether the response was sent in full and the connection may stay open.
        """
        if isinstance(answer, Response):
            if due > 0.0:
                answer = await self._wait_for(answer, due)
            return self.send(answer, due) or await self.finish()
        if isinstance(answer, StreamingResponse):
            keep_alive = await self._stream(answer)
        else:
            keep_alive = await self._write_faultable(answer)
        return keep_alive and self._context.sent.whole

    def send(self, answer: Response, due: float = 0.0) -> bool:
        """Write a response at once; return whether that was all and the connection may stay open.

        Otherwise :meth:`finish` returns the latter, once the client has read enough of the response.
        """
        if answer.status == DROPPED:
            return self.abort()
        asked, context, now = self._request.head, self._context, self._clock.now()
        self._keep_alive = keep_alive = asked.keep_alive and not answer.close
        chunked = answer.chunked and asked.is_modern
        if self.planned_ttft is not None:
            context.extra = (*context.extra, (TIMING_HEADER, format_timing(due, now - context.started)))
        body = answer.body
        framing = frame(answer.status, None if chunked else len(body))
        head = self._head(answer.status, answer.headers, framing, keep_alive, now)
        sent = context.sent
        sent.status, sent.size, sent.first, sent.reached, sent.whole = answer.status, len(body), now, due, True
        if chunked:
            body = (chunk(body) if body else b"") + LAST_CHUNK
        self._on_complete(context)
        connection = self._connection
        if not connection.is_open:
            sent.whole = self._keep_alive = False
            sent.size = sent.tokens = 0
            return False
        connection.write_last(head if self._is_bare(answer.status) else head + body)
        return keep_alive and not connection.is_behind

    async def finish(self) -> bool:
        """Wait for a slow reader of a response that was written; return whether the connection may stay open."""
        sent, connection = self._context.sent, self._connection
        if sent.whole and connection.is_behind:
            sent.whole = await self._drain()
        return self._keep_alive and sent.whole

    def stop(self, answer: Response | StreamingResponse) -> None:
        """Replace what is still to be sent of a response that was stopped early."""
        if isinstance(answer, StreamingResponse):
            if self._schedule is not None:
                following = islice(answer.events, self._context.sent.events, None)
                self._schedule.stop(*self._frame(following))
        elif self._early is not None and not self._early.done():
            self._early.set_result(answer)

    async def _wait_for(self, answer: Response, due: float) -> Response:
        """Wait until a response is due; return it, or the one that :meth:`stop` passes before."""
        if not self.stoppable:
            await self._clock.sleep_until(self._context.started + due)
            return answer
        early: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._early = early

        def wake() -> None:
            if not early.done():
                early.set_result(answer)

        self._clock.call_at(self._context.started + due, wake)
        return await early

    def abort(self) -> bool:
        """Abort the connection; return false, as it does not stay open."""
        if self._connection.transport is not None:
            self._connection.flush()
            self._connection.transport.abort()
        return False

    async def _stream(self, answer: StreamingResponse) -> bool:
        context, asked, events = self._context, self._request.head, answer.events
        chunked = asked.is_modern
        keep_alive = asked.keep_alive and chunked
        if self.planned_ttft is not None and chunked:
            context.extra = (*context.extra, ("Trailer", TIMING_HEADER))
        framing = frame(answer.status, None) if chunked else ""
        head = self._head(answer.status, answer.headers, framing, keep_alive, self._clock.now())
        context.sent.status = answer.status
        batches = None
        if chunked and self.planned_ttft is None and isinstance(events, BatchedEvents):
            batches = events.batches(head, LAST_CHUNK)
        if batches is None or (first := next(batches))[2] > MAX_UNSENT:  # a slow reader must not get so much at once
            await self._write_frames(head, *self._frame(events))
            return keep_alive
        second = next(batches, None)
        if second is None:
            await self._write_batch(first)
        else:
            await self._write_frames(b"", frame_batches(chain((first, second), batches)), bytes)
        return keep_alive

    def _frame(self, events: Iterable[Event]) -> tuple[Frames, Callable[[], bytes]]:
        """Return the frames of events, and what encodes their ending."""
        chunked = self._request.head.is_modern
        return frame_events(events, chunked=chunked), self._encode_last_chunk if chunked else bytes

    async def _write_frames(self, head: bytes, frames: Frames, encode_ending: Callable[[], bytes]) -> None:
        """Write a stream at its due times."""
        context, sent = self._context, self._context.sent
        self._schedule = schedule = ScheduleWriter(
            self._connection,
            self._clock,
            context.started,
            frames,
            sent,
            self._complete,
            opening=head,
            encode_ending=encode_ending,
        )
        try:
            sent.whole = await schedule.run()
        finally:
            self._schedule = None  # it refers to this writer

    async def _write_batch(self, batch: Batch) -> None:
        """Write a whole stream without delays."""
        connection, sent, started = self._connection, self._context.sent, self._context.started
        if not connection.is_open:
            return
        elapsed = self._clock.now() - started
        joint, pieces, sent.size, sent.events = batch
        sent.first, sent.reached = started + elapsed, 0.0
        sent.dues, sent.lateness = (0.0,), (max(0.0, elapsed),)
        self._complete()
        connection.write_joined(joint, pieces)
        sent.whole = not connection.is_behind or await self._drain()

    def _complete(self) -> None:
        self._context.sent.whole = True
        self._on_complete(self._context)

    def _encode_last_chunk(self) -> bytes:
        """Return the last chunk; its trailer has planned and actual times if the client asked for them."""
        if self.planned_ttft is None:
            return LAST_CHUNK
        context = self._context
        sent, now = context.sent, self._clock.now() - context.started
        late = max(sent.lateness, default=0.0)
        first = sent.first - context.started if sent.first else now
        timings = format_timing(self.planned_ttft, first), format_timing(sent.reached, now, "end")
        return f"0\r\n{TIMING_HEADER}: {', '.join(timings)}, late;dur={late * 1000:.3f}\r\n\r\n".encode()

    async def _write_faultable(self, answer: FaultableResponse) -> bool:
        """Write a response with faults: each chunk in a write of its own, then its ending."""
        asked, sent = self._request.head, self._context.sent
        modern = asked.is_modern
        chunked = answer.chunked and modern
        keep_alive = asked.keep_alive and not answer.close and (modern or not answer.chunked)
        sent.tokens = 0
        if answer.ending is CloseMode.RESET and self._connection.transport is not None:
            send_unbuffered(self._connection.transport)
        if answer.start < inf:
            await self._wait(answer.start)
            length = None if answer.chunked else answer.size + answer.promised
            framing = frame(answer.status, length) if modern or not answer.chunked else ""
            head = self._head(answer.status, answer.headers, framing, keep_alive, self._clock.now())
            sent.status = answer.status
            bare = self._is_bare(answer.status)
            chunked = chunked and not bare
            if bare and answer.ending is CloseMode.COMPLETE:
                self._complete_faultable(answer)
            if not await self._write(head) or not (bare or await self._write_chunks(answer, chunked=chunked)):
                sent.whole = False
                return False
        await self._wait(answer.end)
        self._complete_faultable(answer)
        if answer.ending is CloseMode.RESET and self._connection.transport is not None:
            await reset(self._connection.transport)
        elif answer.ending is CloseMode.COMPLETE:
            sent.whole = not chunked or await self._write(LAST_CHUNK)
            sent.reached = answer.end
        return keep_alive

    async def _write_chunks(self, answer: FaultableResponse, *, chunked: bool) -> bool:
        writes = frame_writes(join_writes(answer.chunks), chunked=chunked)
        last = answer.chunks[-1].due if answer.chunks else 0.0
        ends_here = answer.ending is CloseMode.COMPLETE and (not chunked or answer.end <= last)

        def complete() -> None:
            if ends_here and answer.size:
                self._complete_faultable(answer)

        started, sent = self._context.started, self._context.sent
        schedule = ScheduleWriter(self._connection, self._clock, started, writes, sent, complete, separate=True)
        if not await schedule.run():
            return False
        await asyncio.sleep(0)  # so that the ending is a TCP segment of its own
        return True

    def _is_bare(self, status: int) -> bool:
        """Return whether the response has no body; a client would read extra bytes as the next response."""
        return status in WITHOUT_BODY or self._request.head.method == "HEAD"

    def _complete_faultable(self, answer: FaultableResponse) -> None:
        """Complete the record of a response with faults before its last bytes or its ending."""
        sent = self._context.sent
        sent.events = len(answer.events()) if answer.streamed else 0
        sent.whole, sent.truncated = answer.ending is CloseMode.COMPLETE, answer.truncated
        self._on_complete(self._context)

    async def _wait(self, due: float) -> None:
        """Sleep until ``due`` seconds after admission; with ``inf`` until the process ends.

        The connection cancels the waiting task when the client disconnects.
        """
        if due == inf:
            await self._closing.wait()
        elif due > 0.0:
            await self._clock.sleep_until(self._context.started + due)

    async def _write(self, data: bytes) -> bool:
        """Write and wait for a slow reader; return false once the client has disconnected."""
        if not self._connection.is_open:
            return False
        self._connection.write(data)
        return not self._connection.is_behind or await self._drain()

    async def _drain(self) -> bool:
        """Wait for a slow reader; return false once the client has disconnected."""
        try:
            await self._connection.drain()
        except ConnectionError:
            return False
        return True

    def _head(self, status: int, headers: Headers, framing: str, keep_alive: bool, now: float) -> bytes:
        context = self._context
        return encode_head(
            self._vendor,
            status,
            (*headers, *context.extra),
            framing,
            now,
            keep_alive=keep_alive,
            modern=self._request.head.is_modern,
            dated=context.refusal is not None,  # by its rule
            announces_close=self.announces_close,
        )


class TextStream:
    """Response of the control API that is produced while it is sent."""

    __slots__ = ("headers", "pieces")

    def __init__(self, pieces: AsyncIterator[bytes], headers: Headers) -> None:
        self.pieces = pieces
        self.headers = headers


async def write_control(request: IncomingRequest, answer: Response | TextStream) -> bool:
    """Write a response of the control API; return whether the connection may stay open."""
    connection, asked = request.connection, request.head
    modern, is_head = asked.is_modern, asked.method == "HEAD"
    if isinstance(answer, Response):
        keep_alive = asked.keep_alive and not answer.close
        framing = frame(answer.status, len(answer.body))
        head = encode_control_head(answer.status, answer.headers, framing, keep_alive=keep_alive, modern=modern)
        connection.write_last(head if is_head else head + answer.body)
        await connection.drain()
        return keep_alive
    keep_alive = asked.keep_alive and modern
    framing = frame(200, None) if modern else ""
    connection.write(encode_control_head(200, answer.headers, framing, keep_alive=keep_alive, modern=modern))
    if is_head:
        return keep_alive
    async for piece in answer.pieces:
        if not connection.is_open:
            raise ConnectionResetError("the client disconnected")
        if piece:
            connection.write(chunk(piece) if modern else piece)
        await connection.drain()
    if modern:
        connection.write(LAST_CHUNK)
    return keep_alive
