"""Answers that go out together: nobody who waits for one is woken while others still wait to be read."""

from __future__ import annotations

import asyncio

_MOST = 16  # answers that wait for each other; each takes some 0.05 ms to make


class Outbox:
    """Whole answers on their way; each is written before its connection is read again.

    An event loop reads all that has come before it runs what was called soon. A write wakes the client on the other
    end, on this machine at once: done between two reads, it costs twice what it costs with others (20 us against 8).
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.WriteTransport, bytes]] = []

    def send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        """Write an answer as soon as all that has come was read."""
        waiting = self._waiting
        waiting.append((transport, answer))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self.flush)
        elif len(waiting) >= _MOST:
            self.flush()

    def flush(self) -> None:
        """Write what waits now."""
        waiting, self._waiting = self._waiting, []
        for transport, answer in waiting:
            if not transport.is_closing():
                transport.write(answer)
