"""Adapt connections to asyncio's Proactor loop, the default of Windows, where it differs from selector loops."""

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Callable

from emulator.http.connection import Connection
from emulator.http.sockets import BACKLOG, ConnectionStarter

log = logging.getLogger("emulator")
_ACCEPTS = 16  # that wait at once, so that many clients enter within few iterations of the loop
_PAUSE = 0.01  # wall-clock seconds after a failed accept; the next one may fail for want of descriptors
_LOST = "_call_connection_lost"


def find_loop_class() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the Proactor loop of Windows, whichever policy the process sets; ``None``: the default, on other systems.

    The other loop of Windows takes 512 sockets, and has no way to learn which bytes a client has acknowledged.
    """
    return getattr(asyncio, "ProactorEventLoop", None)


def is_proactor(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether an event loop is asyncio's Proactor; only Windows imports its module."""
    module = sys.modules.get("asyncio.proactor_events")
    return module is not None and isinstance(loop, module.BaseProactorEventLoop)


def close_socket(transport: asyncio.BaseTransport | None) -> None:
    """Close the socket of a Proactor transport at once.

    The transport shuts its socket down before it closes it, which sends FIN in place of RST, and fails where the client
    has reset the connection. It skips this for a closed socket: ``_call_connection_lost`` of CPython's
    Lib/asyncio/proactor_events.py.
    """
    sock = None if transport is None else getattr(transport.get_extra_info("socket"), "_sock", None)
    if isinstance(sock, socket.socket):
        sock.close()


def watch_resets(loop: asyncio.AbstractEventLoop) -> None:
    """Close the sockets of connections that clients reset, in place of a traceback each (python/cpython#83037)."""
    previous = loop.get_exception_handler()
    if not isinstance(previous, _ResetHandler):
        loop.set_exception_handler(_ResetHandler(previous))


class _ResetHandler:
    """Exception handler of a loop; ``previous``: handles all other exceptions."""

    def __init__(self, previous: Callable[[asyncio.AbstractEventLoop, dict[str, object]], object] | None) -> None:
        self._previous = previous

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        callback = getattr(context.get("handle"), "_callback", None)
        transport = getattr(callback, "__self__", None)
        if not isinstance(context.get("exception"), OSError) or getattr(callback, "__name__", "") != _LOST:
            transport = None
        sock = getattr(transport, "_sock", None)
        if transport is not None and isinstance(sock, socket.socket):
            sock.close()
            transport._sock = None  # as the transport does itself after a shutdown that succeeds
            transport._called_connection_lost = True  # its reader and its writer may lose one connection each
        elif self._previous is not None:
            self._previous(loop, context)
        else:
            loop.default_exception_handler(context)


class ProactorConnection(Connection):
    """Connection on a Proactor loop."""

    def data_received(self, data: bytes | bytearray) -> None:
        super().data_received(bytes(data))  # a slice of the transport's bytearray, which is not hashable

    def eof_received(self) -> None:
        """Write the response that waits to be written with others: the transport reads the end before it is written."""
        self.flush()


class AcceptLoop:
    """Accept loop that continues after a client has reset its connection before it was accepted.

    asyncio's own closes the listening socket (python/cpython#93821). ``make``: creates the protocol of a connection.
    """

    def __init__(
        self,
        sock: socket.socket,
        make: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None,
        handshake_timeout: float | None,
        shutdown_timeout: float | None,
    ) -> None:
        self.sock = sock
        self._starter = ConnectionStarter(make, context, handshake_timeout, shutdown_timeout)
        self._loop = asyncio.get_running_loop()
        sock.listen(BACKLOG)
        self._accepting = [self._loop.create_task(self._accept()) for _ in range(_ACCEPTS)]

    def close(self) -> None:
        """Stop accepting."""
        for task in self._accepting:
            task.cancel()
        self.sock.close()

    async def _accept(self) -> None:
        while self.sock.fileno() != -1:
            try:
                client, _ = await self._loop.sock_accept(self.sock)
            except OSError as error:
                log.debug("a connection was lost before it was accepted: %s", error)
                await asyncio.sleep(_PAUSE)
                continue
            self._starter.start(client)
