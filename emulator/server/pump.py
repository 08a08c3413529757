"""Writes a stream's events when they are due, from the clock's timer: no task wakes for each of them.

What is due at once, and known, goes out in few writes.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain, islice
from operator import length_hint

from aiohttp import web

from emulator.core.clock import Clock
from emulator.core.wire import Batch, Event, Mark
from emulator.server.head import LAST_CHUNK

MOST_UNSENT = 256 * 1024  # bytes of a slow reader's backlog before its stream waits
TIMING = "x-emulator-timing"
_CLOSE = 2e-6  # seconds; what is due within them is due now, as sums of times are not exact
_MOST_JOINED = 64 * 1024  # bytes of events due at once that go out in one write
_AHEAD = 3  # events; to word some at once is quicker than to come back for each
_PLAIN = Mark.PLAIN


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


def tell_time(planned: float, actual: float, name: str = "ttft") -> str:
    """When something was due and when it was done, in milliseconds after admission, as ``Server-Timing`` writes it."""
    return f"{name};planned={planned * 1000:.3f};dur={actual * 1000:.3f}"


async def pour(
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
    transport, sent.reached = http.transport, 0.0
    sent.dues, sent.lateness = dues, lateness = list[float](), list[float]()
    batch = next(batches, None)
    while batch is not None:
        chunks, size, count = batch
        batch = next(batches, None)
        if transport is None or transport.is_closing():
            return False
        now = clock.now()
        sent.first = sent.first or now
        sent.size, sent.events = sent.size + size, sent.events + count
        dues.append(0.0)
        lateness.append(max(0.0, now - started))
        if batch is None:
            sent.whole = True
            before_end()
            chunks += LAST_CHUNK
        transport.write(head + chunks)
        head = b""
        if transport.get_write_buffer_size() > MOST_UNSENT:
            try:
                await http.writer.drain()
            except ConnectionError:
                return False
        elif batch is not None:
            await asyncio.sleep(0)  # others have their turn
    return True


class _State(Enum):
    WAITING = auto()  # for the next event's time
    SLOW = auto()  # for the client to read
    GONE = auto()
    DONE = auto()


class Pump:
    """The events of one stream on their way; ``chunked``: each is a chunk of its own, and the body ends with one.

    ``before_end`` is called when all is known of the answer and its last byte is still to be written.
    ``planned_ttft``: the body is followed by a header that says how well the schedule was kept.
    """

    __slots__ = (
        *("_ahead", "_before_end", "_chunked", "_clock", "_dues", "_events", "_held", "_http", "_joined"),
        *("_lateness", "_over", "_planned_ttft", "_reached", "_sent", "_started", "_transport", "_woken"),
    )

    def __init__(
        self,
        http: web.BaseRequest,
        clock: Clock,
        started: float,
        events: Iterator[Event],
        sent: Sent,
        before_end: Callable[[], None],
        *,
        chunked: bool,
        planned_ttft: float | None = None,
    ) -> None:
        self._http = http
        self._transport = http.transport
        self._clock = clock
        self._started = started
        self._events = events
        self._sent = sent
        self._before_end = before_end
        self._chunked = chunked
        self._planned_ttft = planned_ttft
        self._held: Event | None = None
        self._ahead: Iterator[Event] = iter(())
        self._joined = b""  # what goes out with the next event
        self._reached = -1.0
        self._dues: list[float] = []
        self._lateness: list[float] = []
        sent.dues, sent.lateness = self._dues, self._lateness
        self._over = False
        self._woken: asyncio.Future[_State] | None = None

    async def run(self) -> bool:
        """Until the last event is written; false if the client left before."""
        try:
            while True:
                self._woken = asyncio.get_running_loop().create_future()
                self._step()
                state = await self._woken
                if state is _State.SLOW:
                    await self._http.writer.drain()
                else:
                    return state is _State.DONE
        except ConnectionError:
            return False
        finally:
            self._woken = None  # a timer that still comes finds nobody

    def stop(self, events: Iterator[Event]) -> None:
        """Go on with these events in place of all that were still to come."""
        self._held, self._ahead, self._events = None, iter(()), events
        self._step()

    def _step(self) -> None:
        """Write what is due now; called by the timer, so nothing may escape."""
        woken = self._woken
        if woken is None or woken.done():
            return
        try:
            state = self._write_due()
        except Exception as error:
            woken.set_exception(error)
        else:
            if state is not _State.WAITING:
                woken.set_result(state)

    def _write_due(self) -> _State:
        if self._over:
            return _State.DONE
        waiting, more = self._take_due()
        transport = self._transport
        if (waiting or not more) and (transport is None or transport.is_closing()):
            return _State.GONE
        if not more:
            self._end(waiting)
        if waiting and transport is not None:
            transport.write(b"".join(waiting))
            self._sent.reached = self._reached
            if transport.get_write_buffer_size() > MOST_UNSENT:
                return _State.SLOW
        if self._held is not None:
            self._clock.call_at(self._started + self._held[0], self._step)
            return _State.WAITING
        return _State.SLOW if more else _State.DONE

    def _end(self, waiting: list[bytes]) -> None:
        """All is known of the answer; its last bytes are about to be written."""
        self._over = self._sent.whole = True
        if waiting:
            self._sent.reached = self._reached
        self._before_end()
        if self._chunked:
            waiting.append(b"0\r\n%b\r\n" % self._word_trailer())

    def _word_trailer(self) -> bytes:
        if self._planned_ttft is None:
            return b""
        sent, now = self._sent, self._clock.now() - self._started
        late = max(sent.lateness, default=0.0)
        first = sent.first - self._started if sent.first else now
        told = tell_time(self._planned_ttft, first), tell_time(sent.reached, now, "end")
        return f"{TIMING}: {', '.join(told)}, late;dur={late * 1000:.3f}\r\n".encode()

    def _take_due(self) -> tuple[list[bytes], bool]:
        """The events that are due, as they are written, and whether more may follow."""
        clock, started, sent, chunked = self._clock, self._started, self._sent, self._chunked
        elapsed = clock.now() - started + _CLOSE
        waiting: list[bytes] = []
        size = sent.size
        most = size + _MOST_JOINED
        joined = 0
        prefix = self._joined
        more = True
        for event in chain(() if self._held is None else (self._held,), self._ahead, self._events):
            due, data, _, mark = event
            if due > elapsed and due > (elapsed := clock.now() - started + _CLOSE):
                self._hold(event)
                break
            if mark is not _PLAIN and Mark.JOINED in mark:
                prefix += data
                joined += 1
                continue
            if prefix:
                data, prefix = prefix + data, b""
            waiting.append(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
            size += len(data)
            self._reached = due
            if size >= most:
                self._held = None
                break
        else:
            self._held = None
            more = False
        self._joined = prefix
        if waiting:
            self._dues.append(self._reached)
            self._lateness.append(max(0.0, elapsed - _CLOSE - self._reached))
            if not sent.events:
                sent.first = started + elapsed - _CLOSE
        sent.events += len(waiting) + joined
        sent.size = size
        return waiting, more

    def _hold(self, event: Event) -> None:
        """Keep one that has to wait, and have the next ones worded along with it."""
        self._held = event
        if not length_hint(self._ahead):
            self._ahead = iter([*islice(self._events, _AHEAD)])
