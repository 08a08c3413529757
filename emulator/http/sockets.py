"""Bind listening sockets, and start their connections.

``listeners.py`` opens all ports by it. ``bind_sockets`` binds one port on every address of a host.
``ConnectionStarter`` starts the protocol of each connection that they accept.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import ExitStack

BACKLOG = 2048  # connections that wait to be accepted
_TRIES = 20  # free ports of one address that are tried on the others
_ABSENT = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}  # a name's second address that this machine has not, such as ::1
_LOOPBACKS = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))  # of localhost, RFC 6761, section 6.3

Addresses = Sequence[tuple[int, str]]


async def bind_sockets(host: str, port: int, *, shares_port: bool = False) -> list[socket.socket]:
    """Return a bound socket for each address of a host, all with the same port; port 0 picks a free one.

    ``localhost`` is both loopback addresses: clients of macOS and Windows may try ``::1`` first.

    Raises:
        OSError: an address cannot be bound, or the host has none.
    """
    addresses = await _resolve(host)
    for left in reversed(range(_TRIES)):
        try:
            return _bind_all(addresses, port, shares_port=shares_port)
        except OSError as error:
            if port or not left or error.errno != errno.EADDRINUSE:
                raise
    raise AssertionError


async def _resolve(host: str) -> Addresses:
    if host == "localhost":
        return _LOOPBACKS
    found = await asyncio.get_running_loop().getaddrinfo(
        host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _bind_all(addresses: Addresses, port: int, *, shares_port: bool) -> list[socket.socket]:
    bound: list[socket.socket] = []
    absent: OSError | None = None
    with ExitStack() as stack:
        for family, address in addresses:
            try:
                sock = stack.enter_context(_bind(family, address, port, shares_port=shares_port))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = absent or error
                continue
            port = int(sock.getsockname()[1])
            bound.append(sock)
        if absent is not None and not bound:
            raise absent
        stack.pop_all()
    return bound


def _bind(family: int, address: str, port: int, *, shares_port: bool) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if os.name == "posix":  # elsewhere it would let another process take the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shares_port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
    except BaseException:
        sock.close()
        raise
    return sock


class ConnectionStarter:
    """Starts the protocol of each accepted connection in a task.

    ``make``: creates the protocol. ``handshake_timeout``, ``shutdown_timeout``: of TLS, in seconds.
    """

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None,
        handshake_timeout: float | None,
        shutdown_timeout: float | None,
    ) -> None:
        self._make = make
        self._context = context
        self._handshake_timeout = handshake_timeout
        self._shutdown_timeout = shutdown_timeout
        self._loop = asyncio.get_running_loop()
        self._starting: set[asyncio.Task[None]] = set()

    def start(self, client: socket.socket) -> None:
        task = self._loop.create_task(self._start(client))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self, client: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make,
                client,
                ssl=self._context,
                ssl_handshake_timeout=self._handshake_timeout,
                ssl_shutdown_timeout=self._shutdown_timeout,
            )
        except OSError:  # disconnected, or the TLS handshake failed
            client.close()
