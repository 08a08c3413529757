"""Answers of the short road that take their time: on their way without a task, from the clock's timer alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from emulator.core.clock import Clock
from emulator.server.exchange import Exchange
from emulator.server.record import Recorder
from emulator.server.short.known import Carrier
from emulator.server.told.metrics import VendorMetrics
from emulator.server.wire.pump import Sent, State, Tell

log = logging.getLogger("emulator")


class Writer(Protocol):
    """What is written of an answer, and when."""

    def go(self, transport: asyncio.WriteTransport | None, tell: Tell) -> None:
        """Write what is due, now and whenever more is."""

    def rest(self) -> None:
        """Write no more."""


class Late:
    """Writes an answer in one piece ``due`` seconds after admission.

    ``word``: the whole of it, when it is sent at a time; ``size``: of its body.
    ``before_end`` is called when all is known of the answer and it is still to be written.
    """

    def __init__(
        self,
        clock: Clock,
        started: float,
        due: float,
        word: Callable[[float], bytes],
        size: int,
        sent: Sent,
        before_end: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._due, self._at = due, started + due
        self._word = word
        self._size = size
        self._sent = sent
        self._before_end = before_end
        self._transport: asyncio.WriteTransport | None = None
        self._tell: Tell | None = None

    def go(self, transport: asyncio.WriteTransport | None, tell: Tell) -> None:
        self._transport, self._tell = transport, tell
        self._clock.call_at(self._at, self._write)

    def rest(self) -> None:
        self._tell = None

    def _write(self) -> None:
        tell, self._tell = self._tell, None
        if tell is None:
            return
        outcome: State | Exception = State.GONE
        transport, sent, now = self._transport, self._sent, self._clock.now()
        try:
            if transport is not None and not transport.is_closing():
                data = self._word(now)
                sent.size, sent.first, sent.reached, sent.whole = self._size, now, self._due, True
                self._before_end()
                transport.write(data)
                outcome = State.DONE
        except Exception as error:
            outcome = error
        tell(outcome)


class Flow:
    """One answer on one connection; ``opening``: what is written of it at once."""

    __slots__ = ("_carrier", "_exchange", "_metrics", "_opening", "_recorder", "_waits", "_writer")

    def __init__(
        self, exchange: Exchange, opening: bytes, writer: Writer, recorder: Recorder, metrics: VendorMetrics
    ) -> None:
        self._exchange = exchange
        self._opening = opening
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._carrier: Carrier | None = None
        self._waits = False  # for the client to read

    def begin(self, carrier: Carrier, transport: asyncio.Transport) -> None:
        """Write the head and whatever is due, and the rest when it is."""
        self._carrier = carrier
        self._metrics.running += 1
        self._metrics.work(self._exchange.call, 1)
        if self._opening:
            transport.write(self._opening)
        self._writer.go(transport, self._hear)

    def go_on(self) -> None:
        """The client has read what was sent."""
        if self._waits and self._carrier is not None:
            self._waits = False
            self._writer.go(self._carrier.transport, self._hear)

    def leave(self) -> None:
        """The client has left."""
        self._end(left=True)

    def _hear(self, outcome: State | Exception) -> None:
        carrier = self._carrier
        if carrier is None:
            return
        if outcome is State.SLOW:
            self._waits = True
            if not carrier.writing_paused:
                asyncio.get_running_loop().call_soon(self.go_on)  # others have their turn
            return
        if isinstance(outcome, Exception):
            wire = self._exchange.wire
            log.error("bug in the emulator: %s %s", wire.method, wire.path, exc_info=outcome)
        self._end(left=False)
        carrier.end_flow(whole=outcome is State.DONE)

    def _end(self, *, left: bool) -> None:
        if self._carrier is not None:
            self._carrier = None
            self._writer.rest()
            self._metrics.running -= 1
            self._metrics.work(self._exchange.call, -1)
            self._recorder.close(self._exchange, left=left)
