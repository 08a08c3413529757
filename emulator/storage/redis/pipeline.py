"""One pipelined Redis connection: commands are sent without waiting, replies come back in their order.

``store.py`` runs its scripts and ``bus.py`` its messages over it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha1
from urllib.parse import SplitResult, unquote

from emulator.core.storage import StoreLostError

_UNABLE = re.compile(r"[A-Z]{3,} |The user executing the script|.*user_script: ?\d+: ?-")


class RedisReplyError(Exception):
    """Error reply of the server."""


def is_command_error(text: str) -> bool:
    """Return whether an error reply is about the command; otherwise the server is full, read-only, loading, ….

    Source: redis 7.0, ``script.c`` and ``acl.c``; redis 6, ``scripting.c``, where the refusal of a command within a
    script follows ``@user_script: 1: -``.
    """
    text = text.removeprefix("ERR ")
    if text.startswith(("WRONGTYPE ", "NOSCRIPT ")):
        return True
    return "user_script" in text and _UNABLE.match(text) is None


Reply = str | int | list[str] | None
_PORT = 6379
_READING = 0.005  # seconds


class Pipeline:
    """Pipelined connection that is opened on first use and reopened after a failure.

    Args:
        timeout: timeout of a command and of connecting, real seconds.
        scripts: Lua scripts to load on connecting.
    """

    def __init__(self, url: SplitResult, timeout: float, scripts: Sequence[str] = ()) -> None:
        self._url = url
        self._scripts = scripts
        self._timeout = timeout
        self._wire: _Wire | None = None
        self._connecting: asyncio.Future[_Wire] | None = None

    async def ask(self, *words: str) -> Reply:
        """Return the reply to a command.

        Raises:
            StoreLostError: the server is unreachable or cannot run commands now.
            RedisReplyError: the command is wrong.
        """
        wire = await self.reach()
        try:
            return await wire.send(words)
        except RedisReplyError as error:
            if is_command_error(str(error)):
                raise
            raise StoreLostError(str(error)) from None

    async def run(self, script: str, digest: str, key: str, words: Sequence[str]) -> list[str]:
        """Run a script with one key and return its result; load it first if the server lacks it."""
        try:
            answer = await self.ask("EVALSHA", digest, "1", key, *words)
        except RedisReplyError as error:
            if not str(error).startswith("NOSCRIPT"):
                raise
            answer = await self.ask("EVAL", script, "1", key, *words)
        return answer if isinstance(answer, list) else []

    def send_script(self, digest: str, key: str, words: Sequence[str], on_loss: Callable[[], None]) -> bool:
        """Send a script without waiting for the reply; return ``False`` without a connection.

        Args:
            on_loss: called if the script may not have run.
        """

        def check(answer: asyncio.Future[Reply]) -> None:
            if answer.exception() is not None:
                on_loss()

        wire = self._wire
        if wire is None or wire.over:
            return False
        wire.send(("EVALSHA", digest, "1", key, *words)).add_done_callback(check)
        return True

    async def close(self) -> None:
        """Abort the connection and wait until it is closed."""
        if self._wire is not None:
            self._wire.cut("closed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wire.gone.wait(), self._timeout)

    async def reach(self) -> _Wire:
        """Return the open connection; concurrent callers share one attempt to connect.

        Raises:
            StoreLostError: connecting failed.
        """
        wire = self._wire
        if wire is not None and not wire.over:
            return wire
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
            self._connecting.add_done_callback(self._on_connected)
        return await asyncio.shield(self._connecting)

    def _on_connected(self, connecting: asyncio.Future[_Wire]) -> None:
        self._connecting = None
        if not connecting.cancelled() and connecting.exception() is None:
            self._wire = connecting.result()

    async def _connect(self) -> _Wire:
        url, loop = self._url, asyncio.get_running_loop()
        context = ssl.create_default_context() if url.scheme == "rediss" else None
        host, port = url.hostname or "localhost", url.port or _PORT
        wire = _Wire(self._timeout)
        try:
            async with asyncio.timeout(self._timeout):
                await loop.create_connection(lambda: wire, host, port, ssl=context)
                await self._begin(wire)
        except BaseException as error:
            wire.cut("it was not begun")
            if isinstance(error, OSError | TimeoutError | RedisReplyError):
                raise StoreLostError(str(error) or "it does not answer") from None
            raise
        return wire

    async def _begin(self, wire: _Wire) -> None:
        """Authenticate, select the database and load the scripts, in one round trip."""
        url = self._url
        words: list[tuple[str, ...]] = []
        if url.password or url.username:
            user = [unquote(url.username)] if url.username else []
            words.append(("AUTH", *user, unquote(url.password or "")))
        if number := url.path.strip("/"):
            words.append(("SELECT", number))
        words += [("SCRIPT", "LOAD", script) for script in self._scripts]
        answers = await asyncio.gather(*map(wire.send, words), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer


class _Wire(asyncio.Protocol):
    """Connection with the queue of pending commands and the buffer of incomplete replies.

    ``over``: no more commands are accepted; ``gone``: set once the transport is closed.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[tuple[float, asyncio.Future[Reply]]] = deque()
        self._data = b""
        self._watch: asyncio.TimerHandle | None = None
        self._why = "the connection is closed"
        self.over = False
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's transport is no subclass

    def send(self, words: Sequence[str]) -> asyncio.Future[Reply]:
        """Send a command and return a future of its reply.

        Raises:
            StoreLostError: the connection is closed.
        """
        if self.over or self._transport is None:
            raise StoreLostError(self._why)
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting.append((self._loop.time() + self._timeout, future))
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout, self._check_timeout)
        self._transport.write(write_command(words))
        return future

    def data_received(self, data: bytes) -> None:
        self._data = data = self._data + data if self._data else data
        at = 0
        try:
            while at < len(data) and (found := read_reply(data, at)) is not None:
                reply, at = found
                self._answer(reply)
        except ValueError:
            self.cut("what it answers is none of this protocol")
        self._data = data[at:]

    def _answer(self, reply: Reply | RedisReplyError) -> None:
        if not self._waiting:
            self.cut(f"it says unasked: {reply}")  # a server with too many clients sends an error on connecting
            return
        _, future = self._waiting.popleft()
        if future.done():
            return
        if isinstance(reply, RedisReplyError):
            future.set_exception(reply)
        else:
            future.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self.cut(str(error or "the server closed the connection"))
        self.gone.set()

    def cut(self, reason: str) -> None:
        """Abort the connection and fail all pending commands."""
        if not self.over:
            self.over, self._why = True, reason
        if self._watch is not None:
            self._watch.cancel()
        if self._transport is not None:
            self._transport.abort()
        while self._waiting:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(StoreLostError(reason))

    def _check_timeout(self, *, has_read: bool = False) -> None:
        """Abort if the oldest command has timed out; one timer serves all commands.

        After work that blocked the loop, uvloop runs timers before it reads replies that have arrived, so these are
        read first.
        """
        self._watch = None
        if self._waiting:
            left = self._waiting[0][0] - self._loop.time()
            if left > 0:
                self._watch = self._loop.call_later(left, self._check_timeout)
            elif has_read:
                self.cut(f"no answer within {self._timeout:g} s")
            else:
                self._watch = self._loop.call_later(_READING, partial(self._check_timeout, has_read=True))


def digest_of(script: str) -> str:
    """Return the SHA-1 digest by which the server identifies a script."""
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def write_command(words: Sequence[str]) -> bytes:
    """Encode a command.

    Source: redis.io, "Redis serialization protocol specification", arrays of bulk strings.
    """
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def read_reply(data: bytes, at: int) -> tuple[Reply | RedisReplyError, int] | None:
    """Parse the reply at an offset; return it with the offset of the next, or ``None`` if it is incomplete.

    Numbers in lists become text. Source: as :func:`write_command`; RESP 2 without nested lists.

    Raises:
        ValueError: the data is not a reply.
    """
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, text, after = data[at], data[at + 1 : end], end + 2
    match kind:
        case 36:  # $
            return _read_text(data, after, int(text))
        case 42:  # *
            return _read_list(data, after, int(text))
        case 45:  # -
            return RedisReplyError(text.decode()), after
        case 58:  # :
            return int(text), after
        case 43:  # +
            return text.decode(), after
    raise ValueError("no reply begins like that")


def _read_text(data: bytes, at: int, length: int) -> tuple[Reply, int] | None:
    """Parse ``length`` bytes of text; a negative length is a null."""
    if length < 0:
        return None, at
    stop = at + length
    return (data[at:stop].decode(), stop + 2) if len(data) >= stop + 2 else None


def _read_list(data: bytes, at: int, count: int) -> tuple[Reply, int] | None:
    items: list[str] = []
    for _ in range(count):
        found = read_reply(data, at)
        if found is None:
            return None
        item, at = found
        items.append("" if item is None else str(item))
    return items, at
