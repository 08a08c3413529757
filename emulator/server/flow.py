"""Streams of the short road that take their time: on their way without a task, from the clock's timer alone."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from emulator.core.clock import Clock
from emulator.core.wire import WireStream
from emulator.server.exchange import Exchange
from emulator.server.known import Carrier
from emulator.server.metrics import VendorMetrics
from emulator.server.pump import Pump, State
from emulator.server.record import Recorder

log = logging.getLogger("emulator")


class Flow:
    """One stream on one connection; ``opening``: its head."""

    __slots__ = ("_carrier", "_exchange", "_metrics", "_opening", "_pump", "_recorder", "_waits")

    def __init__(
        self,
        exchange: Exchange,
        stream: WireStream,
        opening: bytes,
        clock: Clock,
        recorder: Recorder,
        metrics: VendorMetrics,
    ) -> None:
        self._exchange = exchange
        self._opening = opening
        self._recorder = recorder
        self._metrics = metrics
        sent = exchange.sent
        sent.status = stream.status
        over = partial(recorder.record, exchange)
        self._pump = Pump(clock, exchange.started, iter(stream.events), sent, over, chunked=True)
        self._carrier: Carrier | None = None
        self._waits = False  # for the client to read

    def begin(self, carrier: Carrier, transport: asyncio.Transport) -> None:
        """Write the head and whatever is due, and the rest when it is."""
        self._carrier = carrier
        self._metrics.running += 1
        self._metrics.work(self._exchange.call, 1)
        transport.write(self._opening)
        self._pump.go(transport, self._hear)

    def go_on(self) -> None:
        """The client has read what was sent."""
        if self._waits and self._carrier is not None:
            self._waits = False
            self._pump.go(self._carrier.transport, self._hear)

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
            self._pump.rest()
            self._metrics.running -= 1
            self._metrics.work(self._exchange.call, -1)
            self._recorder.close(self._exchange, left=left)
