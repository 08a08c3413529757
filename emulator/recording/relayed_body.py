"""Pass the body of a service's response on to the client, each part within the call that receives it."""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic

import aiohttp

from emulator.http.connection import Connection
from emulator.http.response_head import LAST_CHUNK, chunk
from emulator.recording.observer import Observer, ResponseStart
from emulator.recording.receiver import ArrivalNotifier


class RelayedBody:
    """Body of a response on its way to the client.

    To wake a coroutine for each part costs more than all that is done with the part. :meth:`run` wakes at the end, and
    when the client or the recording is behind: what comes then is not read, so that aiohttp pauses the service.

    Args:
        opening: head of the response, encoded for the client.
        began: zero of the offsets, by the monotonic clock.
        silence: seconds without a byte after which the response is given up.
        on_whole: called with the offset and :attr:`excess` before the last bytes are written.

    ``received``: number of bytes that came. ``excess``: number of bytes after those that Content-Length announced.
    """

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        head: ResponseStart,
        opening: bytes,
        connection: Connection,
        observer: Observer,
        *,
        is_chunked: bool,
        began: float,
        silence: float,
        on_whole: Callable[[float, int], None],
    ) -> None:
        self._response = response
        self._content = response.content
        self._length = head.length if head.framing == "length" else None
        self._unwritten = opening
        self._kept: Sequence[bytes] = ()  # came before the connection was lost
        self._connection = connection
        self._observer = observer
        self._is_chunked = is_chunked
        self._began = began
        self._silence = silence
        self._on_whole = on_whole
        self._loop = asyncio.get_running_loop()
        self._heard = 0.0
        self._turn: asyncio.Future[bool] = self._loop.create_future()  # result: the response is whole
        self._behind: asyncio.Future[None] | None = None  # done once the recording has taken what it was given
        self._timer: asyncio.TimerHandle | None = None
        self.received = 0
        self.excess = 0

    async def run(self) -> None:
        """Write the head and all that comes.

        Raises:
            TimeoutError: the service is silent.
            aiohttp.ClientError: the response was cut off.
            ConnectionError: the client disconnected.
        """
        notifier = self._notifier = ArrivalNotifier(self._response, self._pass_on, self._keep)
        try:
            self._pass_on()
            self._watch_silence()
            while not await self._turn:
                await self._catch_up()
                self._turn = self._loop.create_future()
                self._pass_on()
        finally:
            notifier.remove()
            if self._timer is not None:
                self._timer.cancel()
        await self._drain()

    async def _catch_up(self) -> None:
        """Wait for the client and the recording."""
        await self._drain()
        behind, self._behind = self._behind, None
        if behind is not None:
            await asyncio.wait({behind})  # not itself: this call may be cancelled meanwhile

    async def _drain(self) -> None:
        if self._connection.is_behind:
            await self._connection.drain()

    def _watch_silence(self) -> None:
        """Give up a silent service; one timer serves many parts, as setting one costs as much as parsing a part."""
        if not self._silence:
            return
        left = self._silence if self._turn.done() else self._heard + self._silence - monotonic()
        if left > 0:
            self._timer = self._loop.call_later(left, self._watch_silence)
        else:
            self._turn.set_exception(TimeoutError("the service is silent"))

    def _keep(self) -> None:
        """Take what has come and cannot be read later, as the connection is lost; it is passed on as all that comes."""
        self._kept = _read_now(self._content, self.received)

    def _pass_on(self) -> None:
        """Pass on what has come, unless the client or the recording is behind."""
        if self._turn.done():
            return
        self._heard = now = monotonic()
        try:
            is_whole = self._write(now - self._began)
            error = None if is_whole else self._find_error()
        except Exception as bug:
            error = bug
        if error is not None:
            self._turn.set_exception(error)
        elif is_whole or self._behind is not None or self._connection.is_behind:
            self._turn.set_result(is_whole)

    def _write(self, offset: float) -> bool:
        """Write what has come; return whether that is all."""
        frames, self._unwritten = [self._unwritten] if self._unwritten else [], b""
        parts, self._kept = self._kept or _read_now(self._content, self.received), ()
        for data in parts:
            self.received += len(data)
            frames.append(chunk(data) if self._is_chunked else data)
            self._behind = self._observer.on_data(data, offset) or self._behind
        is_whole = self._content.is_eof() if self._length is None else self.received >= self._length
        if is_whole:
            self.excess = 0 if self._length is None else max(0, self._notifier.after_head - self._length)
            self._on_whole(offset, self.excess)
            if self._is_chunked:
                frames.append(LAST_CHUNK)
        if frames:
            self._connection.write(b"".join(frames))
        return is_whole

    def _find_error(self) -> BaseException | None:
        """Return the reason why no more will come."""
        lost = aiohttp.ClientPayloadError("the connection was lost") if self._notifier.is_lost else None
        return self._content.exception() or lost


def _read_now(content: aiohttp.StreamReader, size: int) -> list[bytes]:
    """Return what has come since the first ``size`` bytes, by the chunks of the service; the read never waits."""
    parts: list[bytes] = []
    while content.total_bytes > size and content.exception() is None:
        reading = content.readchunk()
        try:
            reading.send(None)
        except StopIteration as done:
            data: bytes = done.value[0]
        else:
            raise AssertionError("nothing has come")
        if data:  # else the end of a chunk came apart from its data
            parts.append(data)
            size += len(data)
    return parts
