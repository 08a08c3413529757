"""Writes a stream that nothing delays, in few writes."""

import asyncio
from collections.abc import Callable, Iterator

from aiohttp import web

from emulator.core.clock import Clock
from emulator.core.wire import Batch
from emulator.server.wire.head import LAST_CHUNK
from emulator.server.wire.pump import MOST_UNSENT, Sent


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
