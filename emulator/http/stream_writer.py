"""Write the events of a stream when they are due, from the timer of the clock."""

import asyncio
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial

from aiohttp import web

from emulator.core.clock import Clock
from emulator.core.http import Batch, Event, Mark
from emulator.http.response_head import LAST_CHUNK

MAX_UNSENT = 256 * 1024  # bytes of a slow reader's backlog before its stream waits
TIMING = "x-emulator-timing"
_TOLERANCE = 2e-6  # seconds; events due within them are due now, as sums of times are inexact
_MAX_JOINED = 64 * 1024  # bytes of events due at once that go out in one write
_AHEAD = 3  # events; rendering several at once is faster than resuming the generator for each
_PLAIN = Mark.PLAIN
_NUMBER = 8  # bytes of a time
_MIN_PACKED = 8  # times; shorter lists take no more memory than packed arrays


@dataclass(slots=True)
class Sent:
    """Progress of a response: what was sent to the client, and when.

    Fields:
        status: 0 until the head is sent.
        first: when the body began, Unix seconds.
        reached: due time of the last write, seconds after admission.
        tokens: number of tokens sent, if the writer counts them.
        dues: due time of each write, seconds after admission; ``lateness``: its delay, seconds.
        whole: the response was sent in full; false if the client disconnected early.
    """

    status: int = 0
    size: int = 0
    events: int = 0
    first: float = 0.0
    reached: float = -1.0
    tokens: int | None = None
    dues: Sequence[float] = ()
    lateness: Sequence[float] = ()
    whole: bool = False

    def pack(self) -> int:
        """Pack many times into arrays at a quarter of the memory; return their size, in bytes."""
        if len(self.dues) > _MIN_PACKED:
            self.dues, self.lateness = array("d", self.dues), array("d", self.lateness)
        return (len(self.dues) + len(self.lateness)) * _NUMBER


def format_timing(planned: float, actual: float, name: str = "ttft") -> str:
    """Format a due and an actual time, in milliseconds after admission, as a ``Server-Timing`` metric."""
    return f"{name};planned={planned * 1000:.3f};dur={actual * 1000:.3f}"


_Frame = tuple[float, bytes, int, int]  # due, chunk, size without framing, number of events


class StreamState(Enum):
    """State of a stream; all but the first end what :meth:`StreamWriter.go` began."""

    WAITING = auto()  # for the next event's time
    SLOW = auto()  # for the client to read
    GONE = auto()
    DONE = auto()


OnDone = Callable[[StreamState | Exception], None]
"""Callback for the final state of a stream, or for the exception that ended it."""


class StreamWriter:
    """Writer of one stream's events at their due times; ``chunked``: with chunked encoding.

    ``before_end`` is called when the response is complete, just before its last byte is written.
    ``planned_ttft``: a trailer with the planned and actual times follows the body.
    """

    __slots__ = (
        *("_ahead", "_before_end", "_chunked", "_clock", "_dues", "_events", "_lateness", "_next", "_on_done"),
        *("_over", "_planned_ttft", "_sent", "_started", "_transport"),
    )

    def __init__(
        self,
        clock: Clock,
        started: float,
        events: Iterator[Event],
        sent: Sent,
        before_end: Callable[[], None],
        *,
        chunked: bool,
        planned_ttft: float | None = None,
    ) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._clock = clock
        self._started = started
        self._events = events
        self._sent = sent
        self._before_end = before_end
        self._chunked = chunked
        self._planned_ttft = planned_ttft
        self._ahead: list[_Frame] = []  # the next frames, in reverse order
        self._next: _Frame | None = self._take()
        self._dues: list[float] = []
        self._lateness: list[float] = []
        sent.dues, sent.lateness = self._dues, self._lateness
        self._over = False
        self._on_done: OnDone | None = None

    def go(self, transport: asyncio.WriteTransport | None, on_done: OnDone) -> None:
        """Write what is due now, and the rest when it is due."""
        self._transport, self._on_done = transport, on_done
        self._step()

    def cancel(self) -> None:
        """Stop writing; a pending timer has no effect."""
        self._on_done = None

    def stop(self, events: Iterator[Event]) -> None:
        """Replace the events still to come with ``events``."""
        self._events = events
        self._ahead.clear()
        self._next = self._take()
        self._step()

    def _step(self) -> None:
        """Write what is due now. Called by a timer, so exceptions go to the callback."""
        on_done = self._on_done
        if on_done is None:
            return
        outcome: StreamState | Exception
        try:
            if self._write_next():
                return
            outcome = self._write_due()
        except Exception as error:
            outcome = error
        if outcome is not StreamState.WAITING:
            self._on_done = None
            on_done(outcome)

    def _write_next(self) -> bool:
        """Write one due event if the next is due later; return whether the common case applied."""
        ahead, transport, frame = self._ahead, self._transport, self._next
        if frame is None or transport is None or transport.is_closing():
            return False
        if not ahead and (transport.get_write_buffer_size() > MAX_UNSENT or not self._look_ahead()):
            return False
        elapsed = self._clock.now() - self._started
        due, chunk, size, count = frame
        late = elapsed - due
        following = ahead[-1]
        if late < 0.0 or following[0] <= elapsed + _TOLERANCE:
            return False
        self._next = ahead.pop()
        sent, dues = self._sent, self._dues
        sent.size += size
        sent.events += count
        sent.reached = due
        if not dues:
            sent.first = self._started + elapsed
        dues.append(due)
        self._lateness.append(late)
        transport.write(chunk)
        self._clock.call_at(self._started + following[0], self._step)
        return True

    def _write_due(self) -> StreamState:
        if self._over:
            return StreamState.DONE
        transport = self._transport
        if transport is None or transport.is_closing():
            return StreamState.GONE
        waiting, full = self._take_due()
        frame = self._next
        if frame is None:
            self._end(waiting)
        if waiting:
            transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))
        if full or transport.get_write_buffer_size() > MAX_UNSENT:
            return StreamState.SLOW
        if frame is None:
            return StreamState.DONE
        self._clock.call_at(self._started + frame[0], self._step)
        return StreamState.WAITING

    def _take_due(self) -> tuple[list[bytes], bool]:
        """Return the chunks that are due, and whether the size limit cut them short."""
        sent = self._sent
        elapsed = self._clock.now() - self._started + _TOLERANCE
        waiting: list[bytes] = []
        left = _MAX_JOINED
        due = 0.0
        frame = self._next
        while frame is not None and frame[0] <= elapsed and left > 0:
            due, chunk, size, count = frame
            waiting.append(chunk)
            left -= size
            sent.size += size
            sent.events += count
            frame = self._ahead.pop() if self._ahead else self._take()
        self._next = frame
        if waiting:
            elapsed -= _TOLERANCE
            if not self._dues:
                sent.first = self._started + elapsed
            sent.reached = due
            self._dues.append(due)
            self._lateness.append(max(0.0, elapsed - due))
        return waiting, left <= 0

    def _take(self) -> _Frame | None:
        """Return the next frame."""
        return self._ahead.pop() if self._ahead or self._look_ahead() else None

    def _look_ahead(self) -> bool:
        """Render the next few frames, which is faster than one at a time; return whether there are any."""
        ahead = self._ahead
        held, count = b"", 0
        for due, data, _, mark in self._events:
            count += 1
            if mark is not _PLAIN and Mark.JOINED in mark:
                held += data
                continue
            if held:
                data, held = held + data, b""
            size = len(data)
            ahead.append((due, b"%x\r\n%b\r\n" % (size, data) if self._chunked else data, size, count))
            count = 0
            if len(ahead) > _AHEAD:
                break
        ahead.reverse()
        return bool(ahead)

    def _end(self, waiting: list[bytes]) -> None:
        """Complete the response record and append the final chunk."""
        self._over = self._sent.whole = True
        self._before_end()
        if self._chunked:
            waiting.append(b"0\r\n%b\r\n" % self._encode_trailer())

    def _encode_trailer(self) -> bytes:
        if self._planned_ttft is None:
            return b""
        sent, now = self._sent, self._clock.now() - self._started
        late = max(sent.lateness, default=0.0)
        first = sent.first - self._started if sent.first else now
        timings = format_timing(self._planned_ttft, first), format_timing(sent.reached, now, "end")
        return f"{TIMING}: {', '.join(timings)}, late;dur={late * 1000:.3f}\r\n".encode()


async def write_stream(writer: StreamWriter, http: web.BaseRequest) -> bool:
    """Wait until the last event is written; return false if the client disconnected."""
    try:
        while True:
            woken: asyncio.Future[StreamState] = asyncio.get_running_loop().create_future()
            writer.go(http.transport, partial(_wake, woken))
            state = await woken
            if state is not StreamState.SLOW:
                return state is StreamState.DONE
            await http.writer.drain()
    except ConnectionError:
        return False
    finally:
        writer.cancel()


def _wake(woken: "asyncio.Future[StreamState]", outcome: StreamState | Exception) -> None:
    if woken.done():
        return
    if isinstance(outcome, Exception):
        woken.set_exception(outcome)
    else:
        woken.set_result(outcome)


async def write_immediately(
    http: web.BaseRequest,
    clock: Clock,
    started: float,
    head: bytes,
    batches: Iterator[Batch],
    sent: Sent,
    before_end: Callable[[], None],
) -> bool:
    """Write a stream without delays in few writes; return false if the client disconnected.

    ``before_end`` is called when the response is complete, just before its last byte is written.
    """
    transport = http.transport
    sent.dues, sent.lateness = dues, lateness = list[float](), list[float]()
    batch = next(batches, None)
    while batch is not None:
        pieces, size, count = batch
        batch = next(batches, None)
        if transport is None or transport.is_closing():
            return False
        now = clock.now()
        sent.first, sent.reached = sent.first or now, 0.0
        sent.size, sent.events = sent.size + size, sent.events + count
        dues.append(0.0)
        lateness.append(max(0.0, now - started))
        if batch is None:
            sent.whole = True
            before_end()
            pieces = (*pieces, LAST_CHUNK)
        transport.write(b"".join((head, *pieces)))
        head = b""
        if transport.get_write_buffer_size() > MAX_UNSENT:
            try:
                await http.writer.drain()
            except ConnectionError:
                return False
        elif batch is not None:
            await asyncio.sleep(0)  # other connections are served
    return True
