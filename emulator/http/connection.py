"""One client connection: malformed requests, timeouts, and writes that go out together."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod, BadStatusLine, InvalidURLError, LineTooLong
from aiohttp.web_protocol import RequestHandler, _ErrInfo

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.text import reason_phrase
from emulator.http.cached_head import CachedHead, DelayedWriter, Name
from emulator.http.head_cache import HeadCache, is_bare, read_frame
from emulator.http.timeouts import ConnectionPhase
from emulator.http.writer import END

_MOST = 16  # answers that wait for each other; each takes some 0.05 ms to make


class WriteCoalescer:
    """Whole answers on their way; each is written before its connection is read again.

    An event loop reads all that has come before it runs what was called soon. A write wakes the client on the other
    end, on this machine at once: done between two reads, it costs twice what it costs with others (20 us against 8).
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.WriteTransport, bytes]] = []

    def send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        """Write an answer as soon as all that has come was read."""
        waiting = self._waiting
        waiting.append((transport, answer))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self.flush)
        elif len(waiting) >= _MOST:
            self.flush()

    def flush(self) -> None:
        """Write what waits now."""
        waiting, self._waiting = self._waiting, []
        for transport, answer in waiting:
            if not transport.is_closing():
                transport.write(answer)


log = logging.getLogger("emulator")
_FOREVER = 1e9  # seconds that the framework itself lets a connection rest: :class:`Patience` ends it
_TOO_SLOW = 408
_WHY: tuple[tuple[type[BaseException], int, str], ...] = (  # never in the client's words: they may hold a credential
    (LineTooLong, 431, "a line of its head is too long"),
    (BadHttpMethod, 400, "it begins with no method; over TLS, a server wants --tls"),
    (InvalidURLError, 400, "what it asks for is no URL"),
    (BadStatusLine, 400, "its first line is none of HTTP"),
    (BaseException, 400, "its head or the framing of its body is broken"),
)
_BUG = b"The emulator itself failed; its log has the traceback.\n"


class Connection(RequestHandler):
    """Reads requests and has each answered before the next.

    Fields:
        name: of the head of the one request that is under way, if the short road may be for it.
        is_free: the framework has nothing to do for it, even if it does not wait for a request yet.
        since: when :class:`Patience` first saw it do what it does.
    """

    __slots__ = (
        *("_flow", "_flowed", "_half_head", "_head", "_held", "_lane", "_lost", "_missing", "_outbox", "_own"),
        *("_seen_phase", "_seen_request", "_seen_unread", "is_free", "name", "since"),
    )

    def __init__(
        self,
        server: web.Server,
        loop: asyncio.AbstractEventLoop,
        lane: HeadCache | None,
        outbox: WriteCoalescer,
        own: tuple[str, str],
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=_FOREVER,
            access_log=None,  # type: ignore[arg-type]
            auto_decompress=False,  # what is unpacked is bounded elsewhere
        )
        self._lane, self._outbox, self._own = lane, outbox, own
        self._held = b""  # a request for the short road, its body not whole; or what comes while a stream flows
        self._head: CachedHead | None = None  # of the latest request that the short road was for
        self._flow: DelayedWriter | None = None  # of the short road, which takes its time
        self._flowed: asyncio.Future[None] | None = None
        self._missing = 0  # bytes that end the request which the framework reads; below 0: nobody knows
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
        """The client's address."""
        name = self.peername
        return str(name[0]) if isinstance(name, tuple) else "nowhere"

    def data_received(self, data: bytes) -> None:
        if self._flow is not None:
            self._keep(data)
            return
        if data:  # the framework itself says that there is none
            if self._missing == 0 and self._answer(data):
                return
            data, self._held = self._held + data, b""
            self._follow(data)
        super().data_received(data)
        messages = self._messages
        if data:
            self._half_head = not messages and self._current_request is None
        if messages and isinstance(messages[-1][0], _ErrInfo) and self._awaits_body():
            self._refuse(messages[-1][0].exc)  # whoever reads the body would wait for ever
            self.force_close()

    def _answer(self, data: bytes) -> bool:
        """Answer on the short road; false: it is not for that."""
        lane, transport = self._lane, self.transport
        if lane is None or transport is None or self._paused or self._close or not self._rests():
            return False
        if self._held:
            data = self._held + data
        found = lane.recognize(data, self._own, self._head)
        if found is None or found[2] > INLINE_BYTES:
            return False
        head, begin, end = found
        self._head = head
        if len(data) != end:
            return self._hold(data, end)
        answer = lane.answer(head, data[begin:])
        if answer is None:
            return False
        self._held = b""
        self._request_count += 1
        if isinstance(answer, tuple):
            written, goes_on = answer
            if goes_on:
                self._outbox.send(transport, written)
            else:
                transport.write(written)
                self.force_close()
        else:
            self._flow = answer
            answer.begin(self, transport)
        return True

    def _keep(self, data: bytes) -> None:
        """Let a request wait until the stream before it has flowed, and the client with what comes after."""
        self._held += data
        if len(self._held) > INLINE_BYTES:
            self._pause_reading_for_buffer()

    def end_flow(self, *, whole: bool) -> None:
        """A stream has flowed; what came meanwhile is answered, unless that was the end."""
        self._flow = None
        held, self._held = self._held, b""
        if self._flowed is not None:
            if not self._flowed.done():
                self._flowed.set_result(None)
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
        """Wait once for what is missing: clients send head and body one after the other."""
        if self._held or len(data) > end:
            return False
        self._held = data
        return True

    def _follow(self, data: bytes) -> None:
        """Keep account of where requests end in what the framework reads."""
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
        if self._missing >= 0 and self._rests():
            self.name = (*self._own, before, after)
        self.is_free = False

    def _rests(self) -> bool:
        """The framework waits for a request, or is about to."""
        waiter = self._waiter
        waits = self.is_free and self._current_request is None if waiter is None else not waiter.done()
        return waits and not self._messages

    def _release(self) -> None:
        """What was held takes the long road."""
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
        if self._flowed is not None and not self._flowed.done():
            self._flowed.set_result(None)
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(None)

    def has_progressed(self) -> bool:
        """Whether it does anything else, in another request, or the client has read some of its answer since."""
        self._release()
        phase, request, transport = self.phase, self._request_count, self.transport
        unread = transport.get_write_buffer_size() if self._paused and transport is not None else 0
        if phase is self._seen_phase and request == self._seen_request and unread == self._seen_unread:
            return False
        self._seen_phase, self._seen_request, self._seen_unread = phase, request, unread
        return True

    @property
    def phase(self) -> ConnectionPhase:
        """What it waits for."""
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
        """Hang up on a client that took too long; it is told why if it asked for anything."""
        if phase in (ConnectionPhase.HEAD, ConnectionPhase.BODY):
            self._tell(_TOO_SLOW)
            self.force_close()
        else:
            self.abort()

    async def finish(self) -> None:
        """Take no further request, and wait until the answer that is under way has been sent to its last byte."""
        self._outbox.flush()
        self._release()
        if self._flow is not None:
            self._flowed = self._loop.create_future()
            await self._flowed
        self.close()
        task = self._task_handler
        if task is not None:
            await asyncio.wait([task])
        if self.transport is not None:
            self._lost = self._loop.create_future()
            self.transport.close()
            await self._lost

    def abort(self) -> None:
        """End it at once, whatever is under way."""
        self._outbox.flush()
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
        """Answer what no vendor has seen: a head that is none, or our own mistake; whoever has left needs none."""
        if isinstance(exc, ConnectionError):
            return END
        if exc is not None and (status == 400 or isinstance(exc, BadStatusLine)):
            self._refuse(exc)
        else:
            self.log_exception("bug in the emulator", exc_info=exc)
            self._tell(500, _BUG, "Content-Type: text/plain; charset=utf-8\r\nx-emulator-bug: 1\r\n")
        return END

    def _refuse(self, error: BaseException) -> None:
        _, status, why = next(row for row in _WHY if isinstance(error, row[0]))
        log.info("refused a request of %s: %s", self.peer, why)
        self._tell(status)

    def _tell(self, status: int, body: bytes = b"", headers: str = "") -> None:
        if self.transport is not None:
            head = f"HTTP/1.1 {status} {reason_phrase(status)}\r\n{headers}"
            self.transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    def log_exception(self, *args: object, **kw: object) -> None:
        log.error(*args, **kw)  # type: ignore[arg-type]  # as the framework means them
