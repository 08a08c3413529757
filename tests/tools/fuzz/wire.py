"""Strict client: it reads each response exactly as its head declares."""

import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = re.compile(rb"HTTP/1\.[01] ([2-5]\d\d) [^\r\n]*\r\n(?:[!-9;-~]+:[^\r\n\0]*\r\n)*\r\n")
_PATIENCE = 20.0  # seconds for a response to a request with a declared length
_GLANCE = 0.01  # seconds for one to a request that may not, once it is looked at


class Desynchronised(Exception):
    """What came is not the answer that should have come."""


class Lost(Exception):
    """The connection ended before the answer did."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def closes(self) -> bool:
        return b"\r\nconnection: close\r\n" in self.head.lower() or self.head.startswith(b"HTTP/1.0")


class Connection:
    """One connection, and what was read of it ahead."""

    def __init__(
        self, address: tuple[str, int], context: ssl.SSLContext | None = None, patience: float = _PATIENCE
    ) -> None:
        plain = socket.create_connection(address, timeout=patience)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket: socket.socket = plain if context is None else context.wrap_socket(plain)
        self._ahead = bytearray()

    def send(self, requests: Sequence[bytes]) -> None:
        try:
            self._socket.sendall(b"".join(requests))
        except OSError as error:
            raise Lost(str(error)) from None

    def read(self, *, is_head: bool = False) -> Answer:
        """The next answer.

        Raises:
            Desynchronised: something else came.
            Lost: the connection ended before.
            TimeoutError: nothing came.
        """
        while (end := self._ahead.find(b"\r\n\r\n")) < 0:
            if len(self._ahead) > 2**20:
                raise Desynchronised(bytes(self._ahead[:200]))
            self._receive()
        head = self._take(end + 4)
        found = _HEAD.fullmatch(head)
        if found is None:
            raise Desynchronised(head[:500])
        status = int(found[1])
        body = b"" if is_head or status in (204, 304) else self._read_body(head.lower())
        return Answer(status, head, body)

    def glance(self) -> bytes:
        """What comes soon, if anything."""
        self._socket.settimeout(_GLANCE)
        try:
            while len(self._ahead) < 2**20:
                self._receive()
        except (Lost, TimeoutError):
            pass
        return bytes(self._ahead)

    def close(self) -> None:
        self._socket.close()

    def _read_body(self, head: bytes) -> bytes:
        if b"\r\ntransfer-encoding: chunked\r\n" not in head:
            found = re.findall(rb"\r\ncontent-length: (\d+)(?=\r\n)", head)
            if len(found) != 1:
                raise Desynchronised(head[:500])
            return self._take(int(found[0]))
        if b"\r\ncontent-length:" in head:
            raise Desynchronised(head[:500])
        body = bytearray()
        while size := self._read_size():
            body += self._take(size)
            self._expect(b"\r\n")
        while (line := self._read_line()) != b"\r\n":
            if b": " not in line:
                raise Desynchronised(line[:200])
        return bytes(body)

    def _read_size(self) -> int:
        line = self._read_line()
        if re.fullmatch(rb"[0-9a-f]+\r\n", line) is None:
            raise Desynchronised(line[:200])
        return int(line, 16)

    def _read_line(self) -> bytes:
        while (end := self._ahead.find(b"\r\n")) < 0:
            self._receive()
        return self._take(end + 2)

    def _expect(self, data: bytes) -> None:
        found = self._take(len(data))
        if found != data:
            raise Desynchronised(found)

    def _take(self, count: int) -> bytes:
        while len(self._ahead) < count:
            self._receive()
        data = bytes(self._ahead[:count])
        del self._ahead[:count]
        return data

    def _receive(self) -> None:
        try:
            data = self._socket.recv(2**18)
        except ConnectionError as error:
            raise Lost(str(error)) from None
        if not data:
            raise Lost("end of file")
        self._ahead += data
