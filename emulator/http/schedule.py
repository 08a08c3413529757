"""Write the frames of a response to the socket, each at its due time by the scenario's clock.

A frame is what one write sends: an event, several joined ones, or a part that a fault has cut.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING

from emulator.core.clock import Clock
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Batch, Event, Mark
from emulator.http.response_head import chunk

if TYPE_CHECKING:
    from emulator.http.connection import Connection

_TOLERANCE = 2e-6  # seconds; events due within them are due now, as sums of times are inexact
_MAX_JOINED = 64 * 1024  # bytes due at once that go out in one write
_GROUP = 4  # events; rendering several at once is faster than resuming the generator for each
_PLAIN = Mark.PLAIN
_NUMBER = 8  # bytes of a time
_MIN_PACKED = 8  # times; shorter lists take no more memory than packed arrays


@fast_dataclass(slots=True)
class SendProgress:
    """Progress of a response: what was sent to the client, and when.

    Fields:
        status: 0 until the head is sent.
        first: when the body began, Unix seconds.
        reached: due time of the last write, seconds after admission.
        tokens: number of tokens sent, if the writer counts them.
        dues: due time of each write, seconds after admission.
        lateness: delay of each write, seconds.
        whole: the response was sent in full; false if the client disconnected early.
        truncated: a fault ended the stream early, though the HTTP response is complete.
        began, over: real time of the request's head and of the response's end, Unix seconds; 0: as the clock had it.
        connection: number of the client's connection.
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
    truncated: bool = False
    began: float = 0.0
    over: float = 0.0
    connection: int = 0

    def complete(self, status: int, size: int, first: float) -> None:
        """Set the progress of a response that is part of another one: complete, but not sent to a client of its own."""
        self.status, self.size, self.first, self.whole = status, size, first, True

    def pack(self) -> int:
        """Pack many times into arrays at a quarter of the memory; return their size, in bytes."""
        if len(self.dues) > _MIN_PACKED:
            self.dues, self.lateness = array("d", self.dues), array("d", self.lateness)
        return (len(self.dues) + len(self.lateness)) * _NUMBER


Frame = tuple[float, bytes, int, int, int | None]
"""Bytes to write: due time, data, size without framing, number of events, tokens sent so far if they are counted."""

Frames = Iterator[Sequence[Frame]]
"""Groups of frames in the order of their due times, rendered lazily."""


def frame_events(events: Iterable[Event], *, chunked: bool) -> Frames:
    """Yield the events of a stream as frames; a ``JOINED`` event shares the frame of the next one."""
    group: list[Frame] = []
    held, count = b"", 0
    for due, data, _, mark in events:
        count += 1
        if mark is not _PLAIN and Mark.JOINED in mark:
            held += data
            continue
        if held:
            data, held = held + data, b""
        size = len(data)
        group.append((due, b"%x\r\n%b\r\n" % (size, data) if chunked else data, size, count, None))
        count = 0
        if len(group) == _GROUP:
            yield group
            group = []
    if group:
        yield group


def frame_batches(batches: Iterable[Batch]) -> Frames:
    """Yield the batches of a stream without delays as frames."""
    for joint, pieces, size, count in batches:
        yield ((0.0, joint.join(pieces), size, count, None),)


def frame_writes(writes: Iterable[tuple[float, bytes, int]], *, chunked: bool) -> Frames:
    """Yield the writes of a response with faults as frames."""
    for due, data, tokens in writes:
        yield ((due, chunk(data) if chunked else data, len(data), 1, tokens),)


class _State(Enum):
    """State of a schedule; a waiting one continues by timer."""

    WAITING = auto()  # for the next due time
    READY = auto()  # more is due, but other connections are served first
    SLOW = auto()  # for the client to read
    GONE = auto()
    DONE = auto()


class ScheduleWriter:
    """Writer of a response's frames at their due times.

    Args:
        opening: written with the first frame, or at once if that is due later.
        before_end: called when the response is complete, just before its last byte is written.
        encode_ending: returns the bytes after the last frame.
        separate: each frame is a write, and so a TCP segment, of its own.
    """

    __slots__ = (
        *("_ahead", "_before_end", "_clock", "_connection", "_dues", "_encode_ending", "_frames", "_is_over"),
        *("_lateness", "_next", "_opening", "_sent", "_separate", "_started", "_woken"),
    )

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        started: float,
        frames: Frames,
        sent: SendProgress,
        before_end: Callable[[], None],
        *,
        opening: bytes = b"",
        encode_ending: Callable[[], bytes] = bytes,
        separate: bool = False,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._started = started
        self._frames = frames
        self._sent = sent
        self._before_end = before_end
        self._opening = opening
        self._encode_ending = encode_ending
        self._separate = separate
        self._ahead: Iterator[Frame] = iter(())
        self._next: Frame | None = self._take()
        self._dues: list[float] = []
        self._lateness: list[float] = []
        sent.dues, sent.lateness = self._dues, self._lateness
        self._is_over = False
        self._woken: asyncio.Future[_State] | None = None

    async def run(self) -> bool:
        """Write every frame when it is due; return false if the client disconnected."""
        try:
            state = self._step()
            while state is not _State.DONE:
                if state is _State.WAITING:
                    self._woken = asyncio.get_running_loop().create_future()
                    state = await self._woken
                    continue
                if state is _State.GONE:
                    return False
                await (self._connection.drain() if state is _State.SLOW else asyncio.sleep(0))
                state = self._step()
            return True
        except ConnectionError:
            return False
        finally:
            self._is_over = True

    def stop(self, frames: Frames, encode_ending: Callable[[], bytes]) -> None:
        """Replace the frames still to come with ``frames``, and what ends them."""
        self._frames, self._ahead, self._encode_ending = frames, iter(()), encode_ending
        self._next = self._take()
        self._on_due()

    def _on_due(self) -> None:
        """Write what is due, called by the timer; wake :meth:`run` if the schedule does not continue by timer."""
        if self._is_over:
            return
        woken = self._woken
        try:
            state = self._step()
        except Exception as error:
            if woken is not None and not woken.done():
                woken.set_exception(error)
            return
        if state is not _State.WAITING and woken is not None and not woken.done():
            woken.set_result(state)

    def _step(self) -> _State:
        """Write what is due now in one write; set the timer for the next frame if nothing else is due."""
        if self._is_over:
            return _State.DONE
        connection = self._connection
        if not connection.is_open:
            return _State.GONE
        waiting = [self._opening] if self._opening else []
        self._opening = b""
        self._take_due(waiting)
        following = self._next
        if following is None:
            self._end(waiting)
            connection.write_last(b"".join(waiting))
            return _State.SLOW if connection.is_behind else _State.DONE
        if waiting:
            connection.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))
            if connection.is_behind:
                return _State.SLOW
        if following[0] <= self._clock.now() - self._started + _TOLERANCE:
            return _State.READY
        if following[0] < inf:
            self._clock.call_at(self._started + following[0], self._on_due)
        return _State.WAITING

    def _take_due(self, waiting: list[bytes]) -> None:
        """Append the frames that are due, up to the size limit of one write."""
        frame = self._next
        elapsed = self._clock.now() - self._started
        if frame is None or frame[0] > elapsed + _TOLERANCE:
            return
        sent, latest = self._sent, elapsed + _TOLERANCE
        left = 1 if self._separate else _MAX_JOINED
        due = 0.0
        while frame is not None and frame[0] <= latest and left > 0:
            due, data, size, count, tokens = frame
            waiting.append(data)
            left -= size
            sent.size += size
            sent.events += count
            if tokens is not None:
                sent.tokens = tokens
            frame = next(self._ahead, None) or self._take()
        self._next = frame
        if not self._dues:
            sent.first = self._started + elapsed
        sent.reached = due
        self._dues.append(due)
        self._lateness.append(max(0.0, elapsed - due))

    def _take(self) -> Frame | None:
        """Return the first frame of the next group."""
        self._ahead = iter(next(self._frames, ()))
        return next(self._ahead, None)

    def _end(self, waiting: list[bytes]) -> None:
        """Complete the response record and append the ending."""
        self._is_over = True
        self._before_end()
        waiting.append(self._encode_ending())
