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

MOST_UNSENT = 256 * 1024  # bytes of a slow reader's backlog before its stream waits
TIMING = "x-emulator-timing"
_CLOSE = 2e-6  # seconds; what is due within them is due now, as sums of times are not exact
_MOST_JOINED = 64 * 1024  # bytes of events due at once that go out in one write
_AHEAD = 3  # events; to word some at once is quicker than to come back for each
_PLAIN = Mark.PLAIN
_NUMBER = 8  # bytes of a time
_FEW = 8  # times that take no more room in a list than packed


@dataclass(slots=True)
class Sent:
    """What reached the client.

    Fields:
        status: 0 as long as no head has been sent.
        first: when the body began, Unix seconds.
        reached: when the last of what was sent was due, seconds after admission.
        tokens: how many were sent, if somebody counted.
        dues: when each write was due, seconds after admission; ``lateness``: seconds by which it was late.
        whole: it was sent to its end; false if the client left before.
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
        """Nothing is written any more: have many times in a quarter of the room, in one piece; how many bytes."""
        if len(self.dues) > _FEW:
            self.dues, self.lateness = array("d", self.dues), array("d", self.lateness)
        return (len(self.dues) + len(self.lateness)) * _NUMBER


def format_timing(planned: float, actual: float, name: str = "ttft") -> str:
    """When something was due and when it was done, in milliseconds after admission, as ``Server-Timing`` writes it."""
    return f"{name};planned={planned * 1000:.3f};dur={actual * 1000:.3f}"


_Frame = tuple[float, bytes, int, int]  # due, chunk, its size without framing, how many events it has


class StreamState(Enum):
    """Of a stream; all but the first end what :meth:`StreamWriter.go` began."""

    WAITING = auto()  # for the next event's time
    SLOW = auto()  # for the client to read
    GONE = auto()
    DONE = auto()


Tell = Callable[[StreamState | Exception], None]
"""Hears once how far a stream came, or of our own mistake in making it."""


class StreamWriter:
    """The events of one stream on their way; ``chunked``: each is a chunk of its own, and the body ends with one.

    ``before_end`` is called when all is known of the answer and its last byte is still to be written.
    ``planned_ttft``: the body is followed by a header that says how well the schedule was kept.
    """

    __slots__ = (
        *("_ahead", "_before_end", "_chunked", "_clock", "_dues", "_events", "_lateness", "_next", "_over"),
        *("_planned_ttft", "_sent", "_started", "_tell", "_transport"),
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
        self._ahead: list[_Frame] = []  # the next ones, the last of them first
        self._next: _Frame | None = self._take()
        self._dues: list[float] = []
        self._lateness: list[float] = []
        sent.dues, sent.lateness = self._dues, self._lateness
        self._over = False
        self._tell: Tell | None = None

    def go(self, transport: asyncio.WriteTransport | None, tell: Tell) -> None:
        """Write what is due, now and whenever more is."""
        self._transport, self._tell = transport, tell
        self._step()

    def cancel(self) -> None:
        """Write no more: a timer that still comes finds nobody."""
        self._tell = None

    def stop(self, events: Iterator[Event]) -> None:
        """Go on with these events in place of all that were still to come."""
        self._events = events
        self._ahead.clear()
        self._next = self._take()
        self._step()

    def _step(self) -> None:
        """Write what is due now; called by the timer, so nothing may escape."""
        tell = self._tell
        if tell is None:
            return
        outcome: StreamState | Exception
        try:
            if self._write_next():
                return
            outcome = self._write_due()
        except Exception as error:
            outcome = error
        if outcome is not StreamState.WAITING:
            self._tell = None
            tell(outcome)

    def _write_next(self) -> bool:
        """The usual step: one is due and others follow later; false: look closer, nothing was done."""
        ahead, transport, frame = self._ahead, self._transport, self._next
        if frame is None or transport is None or transport.is_closing():
            return False
        if not ahead and (transport.get_write_buffer_size() > MOST_UNSENT or not self._look_ahead()):
            return False
        elapsed = self._clock.now() - self._started
        due, chunk, size, count = frame
        late = elapsed - due
        following = ahead[-1]
        if late < 0.0 or following[0] <= elapsed + _CLOSE:
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
        if full or transport.get_write_buffer_size() > MOST_UNSENT:
            return StreamState.SLOW
        if frame is None:
            return StreamState.DONE
        self._clock.call_at(self._started + frame[0], self._step)
        return StreamState.WAITING

    def _take_due(self) -> tuple[list[bytes], bool]:
        """The chunks that are due, and whether they are so many that others may be due, too."""
        sent = self._sent
        elapsed = self._clock.now() - self._started + _CLOSE
        waiting: list[bytes] = []
        left = _MOST_JOINED
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
            elapsed -= _CLOSE
            if not self._dues:
                sent.first = self._started + elapsed
            sent.reached = due
            self._dues.append(due)
            self._lateness.append(max(0.0, elapsed - due))
        return waiting, left <= 0

    def _take(self) -> _Frame | None:
        """The next frame."""
        return self._ahead.pop() if self._ahead or self._look_ahead() else None

    def _look_ahead(self) -> bool:
        """Make the next few frames, as that is quicker than to come back for each; false: there are none."""
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
        """All is known of the answer; its last bytes are about to be written."""
        self._over = self._sent.whole = True
        self._before_end()
        if self._chunked:
            waiting.append(b"0\r\n%b\r\n" % self._word_trailer())

    def _word_trailer(self) -> bytes:
        if self._planned_ttft is None:
            return b""
        sent, now = self._sent, self._clock.now() - self._started
        late = max(sent.lateness, default=0.0)
        first = sent.first - self._started if sent.first else now
        told = format_timing(self._planned_ttft, first), format_timing(sent.reached, now, "end")
        return f"{TIMING}: {', '.join(told)}, late;dur={late * 1000:.3f}\r\n".encode()


async def write_stream(pump: StreamWriter, http: web.BaseRequest) -> bool:
    """Wait until the last event is written; false if the client left before."""
    try:
        while True:
            woken: asyncio.Future[StreamState] = asyncio.get_running_loop().create_future()
            pump.go(http.transport, partial(_wake, woken))
            state = await woken
            if state is not StreamState.SLOW:
                return state is StreamState.DONE
            await http.writer.drain()
    except ConnectionError:
        return False
    finally:
        pump.cancel()


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
    """Write a stream all of whose events are due, in few writes; false if the client left before.

    ``before_end`` is called when all is known of the answer and its last byte is still to be written.
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
        if transport.get_write_buffer_size() > MOST_UNSENT:
            try:
                await http.writer.drain()
            except ConnectionError:
                return False
        elif batch is not None:
            await asyncio.sleep(0)  # others have their turn
    return True
