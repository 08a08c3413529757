"""The connections of one listening socket, and how they end together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from emulator.server.short.lane import Lane
from emulator.server.wire.connection import Connection
from emulator.server.wire.outbox import Outbox

_GRACE = 1.0  # seconds for what was cancelled to come to its end


class _Request(web.BaseRequest):
    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        """No answer names the framework."""
        response.headers.pop("Server", None)


class ConnectionServer(web.Server):
    """The connections of one listening socket.

    ``own``: its vendor and session, if it is for one; ``came``: told of each client that came in.
    """

    def __init__(
        self,
        serve: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        lane: Lane | None = None,
        own: tuple[str, str] = ("", ""),
    ) -> None:
        super().__init__(serve, handler_cancellation=True)
        self.lane = lane
        self.own = own
        self.came: Callable[[], None] | None = None
        self._outbox = Outbox()

    def __call__(self) -> Connection:
        if self.came is not None:
            self.came()
        return Connection(self, self._loop, self.lane, self._outbox, self.own)

    @property
    def clients(self) -> list[Connection]:
        """Those that are open, or whose answer has not come to its end."""
        return [connection for connection in self.connections if isinstance(connection, Connection)]

    def _make_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return _Request(message, payload, protocol, writer, task, self._loop)

    async def finish(self, seconds: float) -> None:
        """Let answers that are under way end, for so long at most; what is left then, or if cancelled, ends at once."""
        waiting = [asyncio.ensure_future(client.finish()) for client in self.clients]
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=seconds)
        finally:
            for waiter in waiting:
                waiter.cancel()
            for client in self.clients:
                client.abort()
        left = [task for client in self.clients if (task := client._task_handler) is not None]
        if left:
            await asyncio.wait(left, timeout=_GRACE)
