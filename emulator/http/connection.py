"""Client connection: fast path, malformed requests, timeouts, and writes that are sent together."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod, BadStatusLine, InvalidURLError, LineTooLong
from aiohttp.web_protocol import RequestHandler, _ErrInfo

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.text import reason_phrase
from emulator.http.cached_head import CachedHead, Name, TimedWriter
from emulator.http.head_cache import HeadCache, is_bare, read_frame
from emulator.http.timeouts import ConnectionPhase
from emulator.http.writer import CLOSE

_MAX_COALESCED = 16  # responses; building one takes about 0.05 ms


class WriteCoalescer:
    """Coalesces the writes of whole responses until all readable connections were read.

    An event loop runs ``call_soon`` callbacks after all ready reads. A write wakes the client on the same machine at
    once: between two reads it costs twice as much as together with other writes (20 us against 8).
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.WriteTransport, bytes]] = []

    def send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        """Write a response once all ready connections were read."""
        waiting = self._waiting
        waiting.append((transport, answer))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self.flush)
        elif len(waiting) >= _MAX_COALESCED:
            self.flush()

    def flush(self) -> None:
        """Write the waiting responses now."""
        waiting, self._waiting = self._waiting, []
        for transport, answer in waiting:
            if not transport.is_closing():
                transport.write(answer)


log = logging.getLogger("emulator")
_FOREVER = 1e9  # seconds; disables aiohttp's keep-alive timeout in favour of :class:`TimeoutMonitor`
_REQUEST_TIMEOUT = 408
_REASONS: tuple[tuple[type[BaseException], int, str], ...] = (  # no bytes of the client: they may hold a credential
    (LineTooLong, 431, "a line of its head is too long"),
    (BadHttpMethod, 400, "it begins with no method; over TLS, a server wants --tls"),
    (InvalidURLError, 400, "its target is not a URL"),
    (BadStatusLine, 400, "its first line is not HTTP"),
    (BaseException, 400, "its head or the framing of its body is broken"),
)
_BUG = b"The emulator itself failed; its log has the traceback.\n"


class Connection(RequestHandler):
    """Client connection that has each request answered before it reads the next.

    Fields:
        name: of the current request's head, if the fast path may cache the head.
        is_free: aiohttp has finished the previous request, even if it does not wait for the next one yet.
        since: when :class:`TimeoutMonitor` first saw the current state.
    """

    __slots__ = (
        *("_coalescer", "_flow", "_flow_ended", "_half_head", "_head", "_head_cache", "_held", "_lost", "_missing"),
        *("_own", "_seen_phase", "_seen_request", "_seen_unread", "is_free", "name", "since"),
    )

    def __init__(
        self,
        server: web.Server,
        loop: asyncio.AbstractEventLoop,
        head_cache: HeadCache | None,
        coalescer: WriteCoalescer,
        own: tuple[str, str],
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=_FOREVER,
            access_log=None,  # type: ignore[arg-type]
            auto_decompress=False,  # the request handler decompresses, within its limits
        )
        self._head_cache, self._coalescer, self._own = head_cache, coalescer, own
        self._held = b""  # a fast-path request without its whole body; or data received during a delayed response
        self._head: CachedHead | None = None  # of the latest fast-path request
        self._flow: TimedWriter | None = None  # of the fast path
        self._flow_ended: asyncio.Future[None] | None = None
        self._missing = 0  # bytes left of the request that aiohttp reads; below 0: unknown
        self.name: Name | None = None
        self.is_free = True
        self._half_head = False
        self._lost: asyncio.Future[None] | None = None
        self._seen_phase: ConnectionPhase | None = None
        self._seen_request = 0
        self._seen_unread = 0
        self.since = 0.0

    @property
    def peer(self) -> str:
        """Return the client's IP address."""
        name = self.peername
        return str(name[0]) if isinstance(name, tuple) else "nowhere"

    def data_received(self, data: bytes) -> None:
        if self._flow is not None:
            self._buffer(data)
            return
        if data:  # aiohttp calls this with b"" to resume parsing
            if self._missing == 0 and self._answer(data):
                return
            data, self._held = self._held + data, b""
            self._follow(data)
        super().data_received(data)
        messages = self._messages
        if data:
            self._half_head = not messages and self._current_request is None
        if messages and isinstance(messages[-1][0], _ErrInfo) and self._awaits_body():
            self._refuse(messages[-1][0].exc)  # the handler would wait for the body forever
            self.force_close()

    def _answer(self, data: bytes) -> bool:
        """Answer on the fast path; return whether the data was consumed."""
        head_cache, transport = self._head_cache, self.transport
        if head_cache is None or transport is None or self._paused or self._close or not self._is_waiting():
            return False
        if self._held:
            data = self._held + data
        found = head_cache.recognize(data, self._own, self._head)
        if found is None or found[2] > INLINE_BYTES:
            return False
        head, begin, end = found
        self._head = head
        if len(data) != end:
            return self._hold(data, end)
        answer = head_cache.answer(head, data[begin:])
        if answer is None:
            return False
        self._held = b""
        self._request_count += 1
        if isinstance(answer, tuple):
            written, goes_on = answer
            if goes_on:
                self._coalescer.send(transport, written)
            else:
                transport.write(written)
                self.force_close()
        else:
            self._flow = answer
            answer.begin(self, transport)
        return True

    def _buffer(self, data: bytes) -> None:
        """Buffer data until the current stream ends; pause reading beyond the maximum."""
        self._held += data
        if len(self._held) > INLINE_BYTES:
            self._pause_reading_for_buffer()

    def end_flow(self, *, whole: bool) -> None:
        """End the delayed response and process the data received meanwhile, or close the connection."""
        self._flow = None
        held, self._held = self._held, b""
        if self._flow_ended is not None:
            if not self._flow_ended.done():
                self._flow_ended.set_result(None)
        elif not whole:
            self.abort()
        else:
            if self._buffer_paused:
                self._resume_reading_for_buffer()
            if held:
                self.data_received(held)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._flow is not None:
            self._flow.resume()

    def _hold(self, data: bytes, end: int) -> bool:
        """Buffer an incomplete request once: clients send head and body in two writes."""
        if self._held or len(data) > end:
            return False
        self._held = data
        return True

    def _follow(self, data: bytes) -> None:
        """Track where requests end in the data that aiohttp reads."""
        if self._missing:
            if self._missing > 0:
                self._missing = self._missing - len(data) if len(data) <= self._missing else -1
            return
        self.name = None
        found = read_frame(data)
        if found is None:
            self._missing = 0 if is_bare(data) else -1
            self.is_free = False
            return
        before, after, _, end = found
        self._missing = max(-1, end - len(data))
        if self._missing >= 0 and self._is_waiting():
            self.name = (*self._own, before, after)
        self.is_free = False

    def _is_waiting(self) -> bool:
        """Return whether aiohttp waits for a request, or is about to."""
        waiter = self._waiter
        waits = self.is_free and self._current_request is None if waiter is None else not waiter.done()
        return waits and not self._messages

    def _release(self) -> None:
        """Pass the buffered request to aiohttp."""
        if self._flow is not None:
            return
        held, self._held = self._held, b""
        if held:
            self._follow(held)
            super().data_received(held)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        flow, self._flow = self._flow, None
        if flow is not None:
            flow.disconnect()
        if self._flow_ended is not None and not self._flow_ended.done():
            self._flow_ended.set_result(None)
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(None)

    def has_progressed(self) -> bool:
        """Return whether phase, request or unread bytes changed since the last call."""
        self._release()
        phase, request, transport = self.phase, self._request_count, self.transport
        unread = transport.get_write_buffer_size() if self._paused and transport is not None else 0
        if phase is self._seen_phase and request == self._seen_request and unread == self._seen_unread:
            return False
        self._seen_phase, self._seen_request, self._seen_unread = phase, request, unread
        return True

    @property
    def phase(self) -> ConnectionPhase:
        """Return the wait state of the connection."""
        if self._paused:
            return ConnectionPhase.UNREAD
        if self._awaits_body():
            return ConnectionPhase.BODY
        if self._flow is not None:
            return ConnectionPhase.ANSWER
        if self._waiter is None or self._waiter.done():
            return ConnectionPhase.ANSWER
        return ConnectionPhase.HEAD if self._half_head else ConnectionPhase.IDLE

    def _awaits_body(self) -> bool:
        request = self._current_request
        return request is not None and not request.content.is_eof()

    def end(self, phase: ConnectionPhase) -> None:
        """Close the connection of a client that exceeded a timeout, with 408 if it began a request."""
        if phase in (ConnectionPhase.HEAD, ConnectionPhase.BODY):
            self._write_error(_REQUEST_TIMEOUT)
            self.force_close()
        else:
            self.abort()

    async def finish(self) -> None:
        """Accept no further request and wait until the current response is sent in full."""
        self._coalescer.flush()
        self._release()
        if self._flow is not None:
            self._flow_ended = self._loop.create_future()
            await self._flow_ended
        self.close()
        task = self._task_handler
        if task is not None:
            await asyncio.wait([task])
        if self.transport is not None:
            self._lost = self._loop.create_future()
            self.transport.close()
            await self._lost

    def abort(self) -> None:
        """Abort the connection at once."""
        self._coalescer.flush()
        transport = self.transport
        self._force_close = True
        if self._task_handler is not None:
            self._task_handler.cancel()
        if transport is not None:
            transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a malformed request or an internal error; a disconnected client gets nothing."""
        if isinstance(exc, ConnectionError):
            return CLOSE
        if exc is not None and (status == 400 or isinstance(exc, BadStatusLine)):
            self._refuse(exc)
        else:
            self.log_exception("bug in the emulator", exc_info=exc)
            self._write_error(500, _BUG, "Content-Type: text/plain; charset=utf-8\r\nx-emulator-bug: 1\r\n")
        return CLOSE

    def _refuse(self, error: BaseException) -> None:
        _, status, why = next(row for row in _REASONS if isinstance(error, row[0]))
        log.info("refused a request of %s: %s", self.peer, why)
        self._write_error(status)

    def _write_error(self, status: int, body: bytes = b"", headers: str = "") -> None:
        if self.transport is not None:
            head = f"HTTP/1.1 {status} {reason_phrase(status)}\r\n{headers}"
            self.transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    def log_exception(self, *args: object, **kw: object) -> None:
        log.error(*args, **kw)  # type: ignore[arg-type]  # aiohttp's signature
