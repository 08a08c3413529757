"""Windows' event loops on Linux: asyncio's Proactor over a simulated completion port, and a bare selector loop.

``asyncio.proactor_events`` is pure Python and comes with every Python: transports, accept loop and self-pipe are those
that run on Windows. Only the completion port beneath them is replaced, by epoll.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import selectors
import socket
import struct
import sys
from asyncio import proactor_events, selector_events
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_READ, _WRITE = 0, 1
_MASKS = ((selectors.EVENT_READ, _READ), (selectors.EVENT_WRITE, _WRITE))
_MIN_SEND_BUFFER = 4608  # bytes that Linux makes of a send buffer of 0
_POLL = 0.001  # seconds until the port looks again for an acknowledgement
_TIOCOUTQ = 0x5411  # from asm-generic/ioctls.h
_CONTROL = importlib.import_module("fcntl").ioctl if sys.platform == "linux" else None  # the simulation hides it later
NETNAME_DELETED = 64  # ERROR_NETNAME_DELETED: the client has reset the connection before it was accepted

Operation = tuple["asyncio.Future[Any]", Callable[[], Any]]


def count_unacknowledged(sock: socket.socket, control: Callable[..., bytes] | None = None) -> int:
    """Return the bytes in the kernel that the peer has not acknowledged; ``control``: the system's own ioctl."""
    ask = control or _CONTROL
    assert ask is not None
    return int(struct.unpack("i", ask(sock.fileno(), _TIOCOUTQ, bytes(4)))[0])


class CompletionPort:
    """Completion port over epoll: each operation is tried at once, then whenever its socket is ready.

    ``accept_errors``: errors that the next accepts end with.
    """

    def __init__(self) -> None:
        self._selector = selectors.EpollSelector()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queues: dict[int, tuple[list[Operation], list[Operation]]] = {}
        self.accept_errors: list[OSError] = []

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _begin(
        self, sock: socket.socket, way: int, attempt: Callable[[], Any], *, at_once: bool = True
    ) -> asyncio.Future[Any]:
        assert self._loop is not None
        future: asyncio.Future[Any] = self._loop.create_future()
        number = sock.fileno()
        if number == -1:
            future.set_exception(OSError(errno.ENOTSOCK, "not a socket"))
            return future
        sock.setblocking(False)
        if not (at_once and _try(future, attempt)):
            self._queues.setdefault(number, ([], []))[way].append((future, attempt))
            self._register(number)
        return future

    def _register(self, number: int) -> None:
        queues = self._queues[number]
        for queue in queues:
            queue[:] = [operation for operation in queue if not operation[0].done()]
        mask = sum(bit for bit, way in _MASKS if queues[way])
        with suppress(OSError, KeyError, ValueError):  # epoll forgets a descriptor that was closed
            self._selector.unregister(number)
        try:
            if mask:
                self._selector.register(number, mask)
            else:
                del self._queues[number]
        except (OSError, KeyError, ValueError):
            self._queues.pop(number, None)

    def select(self, timeout: float | None = None) -> list[object]:
        """Wait for sockets and complete their operations."""
        for key, mask in self._selector.select(timeout):
            for bit, way in _MASKS:
                for future, attempt in [*self._queues[key.fd][way]] if mask & bit else ():
                    if not future.done() and not _try(future, attempt):
                        break
            self._register(key.fd)
        return []

    def recv(self, sock: socket.socket, size: int, flags: int = 0) -> asyncio.Future[bytes]:
        return self._begin(sock, _READ, lambda: sock.recv(size, flags))

    def recv_into(self, sock: socket.socket, buffer: bytearray, flags: int = 0) -> asyncio.Future[int]:
        return self._begin(sock, _READ, lambda: sock.recv_into(buffer, 0, flags))

    def send(self, sock: socket.socket, data: bytes, flags: int = 0) -> asyncio.Future[int]:
        """Send all of the data; without a send buffer this ends once the peer has acknowledged it, as on Windows."""
        left = memoryview(bytes(data))

        def attempt() -> int:
            nonlocal left
            while left:
                left = left[sock.send(left, flags) :]
            return len(data)

        sent = self._begin(sock, _WRITE, attempt)
        if sock.fileno() == -1 or sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > _MIN_SEND_BUFFER:
            return sent
        assert self._loop is not None
        return asyncio.ensure_future(_acknowledged(sock, sent), loop=self._loop)

    def connect(self, sock: socket.socket, address: Any) -> asyncio.Future[None]:
        sock.setblocking(False)
        error = sock.connect_ex(address)
        if error not in (0, errno.EINPROGRESS):
            raise OSError(error, "refused")

        def attempt() -> None:
            failed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failed:
                raise OSError(failed, "refused")

        return self._begin(sock, _WRITE, attempt, at_once=False)

    def accept(self, sock: socket.socket) -> asyncio.Future[Any]:
        def attempt() -> Any:
            accepted = sock.accept()
            if self.accept_errors:
                accepted[0].close()
                raise self.accept_errors.pop(0)
            return accepted

        return self._begin(sock, _READ, attempt, at_once=False)

    def _stop_serving(self, sock: socket.socket) -> None:
        for queue in self._queues.get(sock.fileno(), ()):
            for future, _ in queue:
                future.cancel()

    def close(self) -> None:
        self._selector.close()


async def _acknowledged(sock: socket.socket, sent: asyncio.Future[int]) -> int:
    size = await sent
    while sock.fileno() != -1 and count_unacknowledged(sock):
        await asyncio.sleep(_POLL)
    return size


def _try(future: asyncio.Future[Any], attempt: Callable[[], Any]) -> bool:
    """Complete an operation; return false if it would block."""
    try:
        future.set_result(attempt())
    except (BlockingIOError, InterruptedError):
        return False
    except OSError as error:
        future.set_exception(error)
    return True


class ProactorLoop(proactor_events.BaseProactorEventLoop):
    """Proactor loop; its methods are those of ``asyncio.windows_events.ProactorEventLoop``."""

    def __init__(self) -> None:
        self._self_reading_future: asyncio.Future[Any] | None = None
        self.port = CompletionPort()
        super().__init__(self.port)

    def run_forever(self) -> None:
        try:
            self.call_soon(self._loop_self_reading)  # type: ignore[attr-defined]  # not among typeshed's names
            super().run_forever()
        finally:
            if self._self_reading_future is not None:
                self._self_reading_future.cancel()
                self._self_reading_future = None


class SelectorLoop(selector_events.BaseSelectorEventLoop):
    """Selector loop without signal handlers, Unix sockets and subprocesses, as Windows' own."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"proactor": ProactorLoop, "selector": SelectorLoop}
