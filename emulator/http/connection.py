"""Client connection: parse requests, pass one at a time to the handler, refuse malformed ones, close slow ones."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from typing import Any, Protocol, cast

from aiohttp import http_exceptions
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.streams import StreamReader
from multidict import MultiMapping

from emulator.core.cache import create_stats
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.http import NOTHING
from emulator.core.text import reason_phrase
from emulator.http.request_parser import UNLIMITED, ParsedHead, create_parser, has_unknown_method
from emulator.http.timeouts import ConnectionPhase

log = logging.getLogger("emulator")
_NUMBERS = count(os.getpid() << 24)  # of connections; those of processes that share a store differ
_MAX_COALESCED = 16  # responses; building one takes about 0.05 ms
_MAX_COALESCED_BYTES = 64 * 1024  # a longer response is written at once
MAX_UNSENT = 256 * 1024  # bytes of a slow reader's backlog before its response waits
_MAX_HEADS = 1024  # remembered by one server
_MAX_HEAD = 4096  # bytes of a head that is remembered
_MAX_DIGITS = 9  # of Content-Length
_TALLY = create_stats("heads")
_HEAD_END = b"\r\n\r\n"
_BAD_METHOD: type[BadStatusLine] = getattr(http_exceptions, "BadHttpMethod", BadStatusLine)  # aiohttp 3.11 has but one
_UNPLAIN = ("Expect", "Upgrade", "Transfer-Encoding")
_MAX_IN_TURN = 16  # pipelined requests before other connections are served
_REQUEST_TIMEOUT = 408
_LINGER = 10.0  # seconds that a client may go on sending a body that is not read: closing at once may lose the response
_REASONS = (  # by class of aiohttp's error; no bytes of the client: they may hold a credential
    ("LineTooLong", 431, "a line of its head is too long"),
    ("BadHttpMethod", 400, "it begins with no method; over TLS, a server wants --tls"),
    ("InvalidURLError", 400, "its target is not a URL"),
    ("BadStatusLine", 400, "its first line is not HTTP"),
    ("BaseException", 400, "its head or the framing of its body is broken"),
)
_BUG = b"The emulator itself failed; its log has the traceback.\n"


class BodyTooLargeError(Exception):
    """A request body exceeds the maximum."""


class RequestHead:
    """Head of a request; a server remembers heads, so that the requests of one client share theirs.

    Fields:
        target: request target as the client sent it.
        path: decoded path, without the query.
        length: bytes of the body, if they are announced.
        keep_alive: the client accepts further responses on the connection.
        is_modern: the client speaks HTTP/1.1.
        destination: result of the server's search for the handler, which depends on the head alone.
        is_inline: requests are answered without a task as far as nothing waits; ``None``: not known yet.
    """

    __slots__ = (
        *(
            "_url",
            "destination",
            "headers",
            "is_http",
            "is_inline",
            "is_modern",
            "keep_alive",
            "length",
            "method",
            "path",
        ),
        *("query", "target"),
    )

    def __init__(self, message: ParsedHead) -> None:
        self.method = message.method
        self.target = message.path
        self.path = message.url.path
        self._url = message.url
        self.headers = message.headers
        self.query: Mapping[str, str] = message.url.query if "?" in message.path else NOTHING
        self.keep_alive = not message.should_close
        self.is_http = message.version[0] == 1
        self.is_modern = message.version >= (1, 1)
        length = self.headers.get("Content-Length", "0")
        self.length = int(length) if len(length) <= _MAX_DIGITS and length.isdigit() else UNLIMITED
        self.destination: object = None
        self.is_inline: bool | None = None

    @property
    def query_values(self) -> MultiMapping[str]:
        """Return the query with every value of each key."""
        return self._url.query

    @property
    def is_plain(self) -> bool:
        """Return whether the body follows at once and is as long as announced, so that the head can be remembered."""
        return self.is_http and self.method != "CONNECT" and not any(name in self.headers for name in _UNPLAIN)


class IncomingRequest:
    """Request on a connection: its head, and its body as far as it has arrived.

    ``is_complete``: the whole body has arrived.
    """

    __slots__ = ("_arrival", "_body", "_buffer", "_limit", "_payload", "_waiter", "connection", "head", "is_complete")

    def __init__(
        self, connection: Connection, head: RequestHead, payload: StreamReader | None = None, body: bytes = b""
    ) -> None:
        self.connection = connection
        self.head = head
        self._payload = payload
        self._body = body
        self.is_complete = payload is None or payload.is_eof()
        self._buffer: BytesIO | None = None
        self._limit = 0
        self._waiter: asyncio.Future[None] | None = None
        self._arrival: asyncio.Event | None = None

    @property
    def is_short(self) -> bool:
        """Return whether the body is announced and short, so that the request can wait for it."""
        head = self.head
        return 0 < head.length <= INLINE_BYTES and "Expect" not in head.headers

    def read_now(self, limit: int) -> bytes | None:
        """Return the body if all of it has arrived.

        Raises:
            BodyTooLargeError: the body exceeds ``limit`` bytes.
        """
        if not self.is_complete or self._buffer is not None:
            return None
        body = self._body if self._payload is None else self._payload.read_nowait()
        if len(body) > limit:
            raise BodyTooLargeError
        return body

    async def read(self, limit: int) -> bytes:
        """Return the body; beyond ``limit`` bytes the rest is left unread.

        Raises:
            BodyTooLargeError: the body exceeds ``limit`` bytes.
            ConnectionError: the client disconnected.
        """
        body = self.read_now(limit)
        return await self._wait(limit) if body is None else body

    async def _wait(self, limit: int) -> bytes:
        head = self.head
        if "Content-Length" in head.headers and head.length > limit:
            raise BodyTooLargeError
        if head.headers.get("Expect", "").lower() == "100-continue":
            self.connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._buffer, self._limit = BytesIO(), limit  # `getvalue` shares it; joining parts would need twice the memory
        self._waiter = asyncio.get_running_loop().create_future()
        self.receive()
        await self._waiter
        return self._buffer.getvalue()

    def open_parts(self) -> asyncio.Event:
        """Begin :meth:`read_part`; return the event that is set when more of the body has arrived."""
        if self._payload is not None and self.head.headers.get("Expect", "").lower() == "100-continue":
            self.connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._arrival = arrival = asyncio.Event()
        return arrival

    def read_part(self) -> tuple[bytes, bool]:
        """Return what has arrived of the body since the last call, and whether it was the rest."""
        if self._payload is None:
            return self._body, True
        return self._payload.read_nowait(), self._payload.is_eof()

    def receive(self) -> None:
        """Take the bytes of the body that have arrived, if :meth:`read` waits for them."""
        payload, buffer, waiter = self._payload, self._buffer, self._waiter
        assert payload is not None
        self.is_complete = payload.is_eof()
        if self._arrival is not None:
            self._arrival.set()
        if buffer is None or waiter is None:
            return
        buffer.write(payload.read_nowait())
        if waiter.done():
            return
        if buffer.tell() > self._limit:
            waiter.set_exception(BodyTooLargeError())
        elif self.is_complete:
            waiter.set_result(None)

    def discard(self) -> None:
        """Discard the bytes of the body that have arrived: the response is sent already."""
        assert self._payload is not None
        self._buffer = None
        self._payload.read_nowait()
        self.is_complete = self._payload.is_eof()


class _Resumed:
    """Awaitable that continues a coroutine which has run up to its first wait, for ``waits_for``."""

    __slots__ = ("_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, bool], waits_for: object) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, bool]:
        coroutine, waits_for = self._coroutine, self._waits_for
        while True:
            try:
                value = yield waits_for
            except BaseException as error:
                advance, given = coroutine.throw, error
            else:
                advance, given = coroutine.send, value  # type: ignore[assignment]  # both continue the coroutine
            try:
                waits_for = advance(given)
            except StopIteration as done:
                return bool(done.value)


async def _resume(coroutine: Coroutine[Any, Any, bool], waits_for: object) -> bool:
    return await _Resumed(coroutine, waits_for)


def _cancel_once(task: asyncio.Task[bool]) -> None:
    """Cancel a task unless it is being cancelled: a second cancel would interrupt the release of its quotas."""
    if not task.cancelling():
        task.cancel()


class WriteCoalescer:
    """Coalesces the writes of whole responses until all readable connections were read.

    An event loop runs ``call_soon`` callbacks after all ready reads. A write wakes the client on the same machine at
    once: between two reads it costs twice as much as together with other writes (20 us against 8).
    """

    def __init__(self) -> None:
        self._waiting: list[Connection] = []

    def add(self, connection: Connection) -> None:
        """Flush a connection once all ready connections were read."""
        waiting = self._waiting
        waiting.append(connection)
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self.flush)
        elif len(waiting) >= _MAX_COALESCED:
            self.flush()

    def flush(self) -> None:
        """Write the waiting responses now."""
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            connection.flush()


class RequestServer(Protocol):
    """Owner of connections.

    Fields:
        serve: answers a request; returns whether the connection may stay open.
        is_inline: a request may be answered without a task as far as nothing waits.
        heads: remembered heads by their bytes.
    """

    serve: Callable[[IncomingRequest], Coroutine[Any, Any, bool]]
    is_inline: Callable[[IncomingRequest], bool]
    connections: set[Connection]
    coalescer: WriteCoalescer
    heads: dict[bytes, RequestHead]


class Connection(asyncio.Protocol):
    """Client connection that has each request answered before it reads the next.

    ``since``: when :class:`TimeoutMonitor` first saw the current state.
    """

    def __init__(self, server: RequestServer, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport | None = None
        self._event_loop = loop
        self._server = server
        self._requests_parser = create_parser(loop)
        self._queue: deque[IncomingRequest] = deque()  # pipelined requests
        self._takes_any_method = False  # the parser, once the first method came that the compiled one refuses
        self._held = b""  # data that arrived during a response
        self._awaited = b""  # a remembered head whose body has not arrived yet
        self._is_between = True  # the parser has seen the end of a request, and nothing of the next
        self._is_reading_paused = False
        self._joint = b""
        self._unsent: Sequence[bytes] = ()  # pieces that ``_joint`` joins
        self._current: IncomingRequest | None = None
        self._has_started = False  # the current request is being answered
        self._task: asyncio.Task[bool] | None = None
        self._is_ending = False  # no further request is read
        self._unread: IncomingRequest | None = None  # answered before its body had arrived
        self._lingering: asyncio.TimerHandle | None = None
        self._half_head = False
        self._is_slow = False  # the transport has paused writing
        self._drained: asyncio.Future[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] | None = None
        self._requests = 0
        self._seen: tuple[object, ...] = ()
        self.peer = "nowhere"
        self.number = next(_NUMBERS)
        self.since = 0.0

    # The transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        if isinstance(name, tuple):
            self.peer = str(name[0])
        self._server.connections.add(self)

    @property
    def local(self) -> str | None:
        """Return the server's address of the connection."""
        name = None if self.transport is None else self.transport.get_extra_info("sockname")
        return str(name[0]) if isinstance(name, tuple) else None

    def data_received(self, data: bytes) -> None:
        current = self._current
        if self._unread is not None:
            self._discard(data)
        elif current is not None and not current.is_complete:
            self._parse(data)
            self._advance()
        elif current is not None or self._queue or self._held:  # the requests before are answered first
            self._hold(data)
        elif not self._is_ending:
            self._read(data)
            self._advance()

    def pause_writing(self) -> None:
        self._is_slow = True

    def resume_writing(self) -> None:
        self._is_slow = False
        self._wake_drained()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.transport = None
        self._is_ending = True
        self._unsent = ()
        self._stop_lingering()
        self._wake_drained()
        if self._task is None:
            self._leave()
        else:
            self._cancel()

    def _leave(self) -> None:
        """Remove the closed connection from the server once nothing answers any more."""
        self._server.connections.discard(self)
        for waiter in (self._idle, self._lost):
            if waiter is not None and not waiter.done():
                waiter.set_result(None)

    # Reading

    def _hold(self, data: bytes) -> None:
        """Hold data until the current response is sent; pause reading beyond the maximum."""
        self._held += data
        if len(self._held) > INLINE_BYTES and not self._is_reading_paused and self.transport is not None:
            self._is_reading_paused = True
            self.transport.pause_reading()

    @contextmanager
    def reading_paused(self) -> Iterator[None]:
        """Read nothing from the client inside the block."""
        transport = self.transport
        if transport is None or self._is_reading_paused:
            yield
            return
        transport.pause_reading()
        try:
            yield
        finally:
            if not transport.is_closing():
                transport.resume_reading()

    def _take_held(self) -> bytes:
        """Return the held data, and resume reading."""
        held, self._held = self._held, b""
        if self._is_reading_paused and self.transport is not None:
            self._is_reading_paused = False
            self.transport.resume_reading()
        return held

    def _read(self, data: bytes) -> None:
        """Read a request by its remembered head, or have the data parsed."""
        if self._is_between:
            was_awaited = bool(self._awaited)
            if was_awaited:
                data, self._awaited = self._awaited + data, b""
            end = data.find(_HEAD_END) + len(_HEAD_END)
            head = self._server.heads.get(data[:end])
            if head is not None:
                missing = head.length + end - len(data)
                if not missing:
                    self._current = IncomingRequest(self, head, None, data[end:])
                    self._requests += 1
                    _TALLY.hits += 1
                    return
                if 0 < missing <= INLINE_BYTES and not was_awaited:  # clients send head and body in two writes
                    self._awaited = data
                    return
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        current = self._current
        try:
            messages, upgraded, _ = self._requests_parser.feed_data(data)
        except Exception as error:
            if self._can_parse_method(data, error):
                self._takes_any_method = True
                self._requests_parser = create_parser(self._event_loop, any_method=True)
                self._parse(data)
            else:
                self._refuse(error)
            return
        _TALLY.misses += len(messages)
        was_between, self._is_between = self._is_between, False
        if current is not None:
            current.receive()
        elif len(messages) == 1:
            self._note_request(data, *messages[0], is_first=was_between)
            self._is_ending = self._is_ending or upgraded  # what follows is another protocol
            return
        self._half_head = current is None and not messages
        for message, payload in messages:
            self._queue.append(IncomingRequest(self, RequestHead(message), payload))
        self._is_ending = self._is_ending or upgraded

    def _can_parse_method(self, data: bytes, error: Exception) -> bool:
        """Return whether the data, all of which is unread, fails for its method alone and another parser takes it."""
        is_unread = self._is_between and self._current is None and not self._takes_any_method
        return is_unread and isinstance(error, _BAD_METHOD) and has_unknown_method(data)

    def _note_request(self, data: bytes, message: ParsedHead, payload: StreamReader, *, is_first: bool) -> None:
        """Queue the only request in ``data``; remember its head if the data is exactly this request.

        ``is_first``: the request begins with the data, which is the rest of one otherwise.
        """
        head = RequestHead(message)
        self._half_head = False
        self._queue.append(IncomingRequest(self, head, payload))
        if not head.is_plain:
            return
        end = data.find(_HEAD_END) + len(_HEAD_END)
        self._is_between = payload.is_eof() and end + head.length == len(data)
        if self._is_between and is_first and end <= _MAX_HEAD:
            heads = self._server.heads
            if len(heads) >= _MAX_HEADS:
                heads.clear()
            heads[data[:end]] = head

    def _advance(self) -> None:
        """Start the current request if its body has arrived, and the following ones as far as nothing waits."""
        for _ in range(_MAX_IN_TURN):
            request = self._current
            if request is not None:
                if self._has_started or not (request.is_complete or not request.is_short):
                    return
                self._start(request)
            elif self._queue and self.is_open:
                self._current = self._queue.popleft()
                self._requests += 1
                if self._held and not self._current.is_complete:
                    self._parse(self._take_held())
            elif self._held and not self._is_ending:
                self._read(self._take_held())
            else:
                return
        self._event_loop.call_soon(self._advance)

    def _start(self, request: IncomingRequest) -> None:
        """Answer a request; what waits goes on in a task."""
        self._has_started = True
        head, is_inline = request.head, request.head.is_inline
        if is_inline is None:
            if not head.is_http:
                self._refuse(BadStatusLine())
                return
            is_inline = head.is_inline = self._server.is_inline(request)
        coroutine = self._server.serve(request)
        if not is_inline:
            self._follow(self._event_loop.create_task(coroutine))
            return
        try:
            waits_for = coroutine.send(None)
        except StopIteration as done:
            self._end(keep_alive=done.value)
        except Exception as error:
            self._fail(error)
        else:
            self._follow(self._event_loop.create_task(_resume(coroutine, waits_for)))

    def _follow(self, task: asyncio.Task[bool]) -> None:
        self._task = task
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[bool]) -> None:
        self._task = None
        if self.transport is None:
            self._leave()
        if task.cancelled():
            self._end(keep_alive=False)
        elif (error := task.exception()) is not None:
            self._fail(error)
        else:
            self._end(keep_alive=task.result())
            self._advance()

    def _end(self, *, keep_alive: bool) -> None:
        """Finish the current request; read on, or close the connection."""
        request, self._current, self._has_started = self._current, None, False
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        self._is_ending = self._is_ending or not keep_alive or request is None or not request.head.keep_alive
        if request is not None and not request.is_complete and self.is_open:
            self._unread = request
            self.flush()
            self._lingering = self._event_loop.call_later(_LINGER, self.close)
        elif self._is_ending:
            self.close()

    def _discard(self, data: bytes) -> None:
        """Discard the rest of a body that nothing reads; then read the next request, or close the connection."""
        request = self._unread
        assert request is not None
        try:
            messages, _, _ = self._requests_parser.feed_data(data)
        except Exception:
            self.close()
            return
        for message, payload in messages:
            self._queue.append(IncomingRequest(self, RequestHead(message), payload))
        request.discard()
        if request.is_complete:
            self._unread = None
            self._stop_lingering()
            if self._is_ending:
                self.close()
            else:
                self._advance()

    def _stop_lingering(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None

    def _fail(self, error: BaseException) -> None:
        """Answer an internal error; a disconnected client gets nothing."""
        if not isinstance(error, ConnectionError):
            log.error("bug in the emulator", exc_info=error)
        if not isinstance(error, ConnectionError) and self.is_open:
            self._write_error(500, _BUG, "Content-Type: text/plain; charset=utf-8\r\nx-emulator-bug: 1\r\n")
        self._end(keep_alive=False)

    # Writing

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Write now, after the responses that wait to be written together with others."""
        if self._unsent:
            data = self._take_unsent() + data
        if self.transport is not None:
            self.transport.write(data)

    def write_last(self, data: bytes) -> None:
        """Write the end of a response, together with those of other connections where it is short."""
        if len(data) > _MAX_COALESCED_BYTES:
            self.write(data)
        elif self._unsent:
            self._joint, self._unsent = b"", (self._take_unsent(), data)
        else:
            self.write_joined(b"", (data,))

    def write_joined(self, joint: bytes, pieces: Sequence[bytes]) -> None:
        """Write ``joint.join(pieces)``, a whole response, together with those of other connections.

        It is joined only then: what is joined and sent at once is still in the processor's cache, and fills less of it.
        """
        if self._unsent:
            self.write(joint.join(pieces))
        else:
            self._joint, self._unsent = joint, pieces
            self._server.coalescer.add(self)

    def _take_unsent(self) -> bytes:
        pieces, self._unsent = self._unsent, ()
        return self._joint.join(pieces)

    def flush(self) -> None:
        """Write what waits to be written together with others."""
        pieces, self._unsent = self._unsent, ()
        if pieces and self.transport is not None and not self.transport.is_closing():
            self.transport.write(self._joint.join(pieces))

    @property
    def unsent(self) -> int:
        """Return the number of bytes that the client has not read yet."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    @property
    def is_behind(self) -> bool:
        """Return whether a response should wait for the client: :meth:`drain` then waits.

        Transports pause writing at a backlog of their own choice, those of TLS at 512 KiB.
        """
        return self._is_slow and self.unsent > MAX_UNSENT

    async def drain(self) -> None:
        """Wait until the client has read enough of its backlog.

        Raises:
            ConnectionError: the client disconnected.
        """
        if self.transport is not None and self._is_slow:
            if self._drained is None:
                self._drained = self._event_loop.create_future()
            await asyncio.shield(self._drained)
        if self.transport is None:
            raise ConnectionResetError("the client disconnected")

    def _wake_drained(self) -> None:
        waiter, self._drained = self._drained, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _refuse(self, error: BaseException) -> None:
        """Answer a malformed request, and close the connection."""
        names = {kind.__name__ for kind in type(error).__mro__}  # not every release has each class
        _, status, why = next(row for row in _REASONS if row[0] in names)
        log.info("refused a request of %s: %s", self.peer, why)
        self._write_error(status)
        self._is_ending = True
        self._queue.clear()
        if not self._has_started:
            self._current = None
        self._cancel()
        self.close()

    def _write_error(self, status: int, body: bytes = b"", headers: str = "") -> None:
        head = f"HTTP/1.1 {status} {reason_phrase(status)}\r\n{headers}"
        self.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    # Time limits and the end

    def has_progressed(self) -> bool:
        """Return whether phase, request or unread bytes changed since the last call."""
        seen = (self.phase, self._requests, self.unsent if self._is_slow else 0)
        has_changed, self._seen = seen != self._seen, seen
        return has_changed

    @property
    def phase(self) -> ConnectionPhase:
        """Return the wait state of the connection."""
        if self._is_slow:
            return ConnectionPhase.UNREAD
        if self._unread is not None:
            return ConnectionPhase.ANSWER  # the connection bounds this itself
        if self._current is not None:
            return ConnectionPhase.ANSWER if self._current.is_complete else ConnectionPhase.BODY
        if self._awaited:
            return ConnectionPhase.BODY
        return ConnectionPhase.HEAD if self._half_head else ConnectionPhase.IDLE

    def end(self, phase: ConnectionPhase) -> None:
        """Close the connection of a client that exceeded a timeout, with 408 if it began a request."""
        if phase in (ConnectionPhase.HEAD, ConnectionPhase.BODY):
            self._write_error(_REQUEST_TIMEOUT)
            self._cancel()
            self.close()
        else:
            self.abort()

    def close(self) -> None:
        """Close the connection once what was written is sent."""
        self._is_ending = True
        self.flush()
        if self.transport is not None:
            self.transport.close()

    async def finish(self) -> None:
        """Accept no further request and wait until the current response is sent in full."""
        if self._awaited:
            held, self._awaited = self._awaited, b""
            self._parse(held)
            self._advance()
        self._is_ending = True
        self.flush()
        if self._current is not None:
            if self._idle is None:  # else the end of a session waits already, and now that of the server too
                self._idle = self._event_loop.create_future()
            await asyncio.shield(self._idle)
        self.close()
        await self.wait_closed()

    async def wait_closed(self) -> None:
        """Wait until the connection is closed and nothing answers any more."""
        if self in self._server.connections:
            if self._lost is None:
                self._lost = self._event_loop.create_future()
            await asyncio.shield(self._lost)

    def abort(self) -> None:
        """Abort the connection at once."""
        self._is_ending = True
        self.flush()
        self._cancel()
        if self.transport is not None:
            self.transport.abort()

    def _cancel(self) -> None:
        """Cancel the task of the current request; after its first step, which the loop has scheduled before."""
        if self._task is not None:
            self._event_loop.call_soon(_cancel_once, self._task)
