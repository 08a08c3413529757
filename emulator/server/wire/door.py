"""Lets clients in as many at a time as wait, where the event loop takes but one of them with each turn.

libuv does so since 1.45 (uvloop 0.20), which leaves thousands outside as long as turns take long.
Source: libuv, src/unix/stream.c, ``uv__server_io``; its pull request 3696.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterable

_MOST = 256  # clients at a time: others have their turn


class Door:
    """The clients that wait at some listening sockets; ``make``: the protocol of each that comes in.

    ``shake``, ``farewell``: seconds for TLS to begin and to end.
    """

    def __init__(
        self,
        sockets: Iterable[socket.socket],
        make: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None = None,
        shake: float | None = None,
        farewell: float | None = None,
    ) -> None:
        self._sockets = [socket.socket(fileno=os.dup(sock.fileno())) for sock in sockets]
        for sock in self._sockets:
            sock.setblocking(False)
        self._make = make
        self._context = context
        self._shake = shake
        self._farewell = farewell
        self._loop = asyncio.get_running_loop()
        self._entering: set[asyncio.Task[object]] = set()
        self._looking = False

    def look(self) -> None:
        """One came in; others may wait."""
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self._admit)

    def close(self) -> None:
        """Let nobody in any more."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def _admit(self) -> None:
        self._looking = False
        for sock in self._sockets:
            for _ in range(_MOST):
                try:
                    client, _ = sock.accept()
                except OSError:  # nobody waits; what else may be wrong the event loop meets, too
                    break
                client.setblocking(False)
                task: asyncio.Task[object] = self._loop.create_task(self._enter(client))
                self._entering.add(task)
                task.add_done_callback(self._entering.discard)

    async def _enter(self, client: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make,
                client,
                ssl=self._context,
                ssl_handshake_timeout=self._shake,
                ssl_shutdown_timeout=self._farewell,
            )
        except OSError:  # it left, or its TLS does not begin
            client.close()
