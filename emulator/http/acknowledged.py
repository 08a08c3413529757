"""Count the bytes of a connection that the client's machine has not acknowledged, which a reset would discard.

``writer.py`` waits until there are none before it resets a connection.
"""

import asyncio
import socket
import struct
import sys

from emulator.http.proactor import is_proactor

_SO_NWRITE = 0x1024  # macOS, sys/socket.h: "APPLE: Get number of bytes currently in send socket buffer"


def count_unsent(transport: asyncio.Transport) -> int:
    """Return the number of bytes that wait in this process; under TLS a Proactor loop's socket has its own buffer."""
    size = transport.get_write_buffer_size()
    beneath = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    return size if beneath is None else size + int(beneath.get_write_buffer_size())


def count_unacknowledged(sock: socket.socket | None) -> int:
    """Return the number of these bytes; 0 where the system cannot report it."""
    if sock is None:
        return 0
    try:
        if sys.platform == "darwin":
            return sock.getsockopt(socket.SOL_SOCKET, _SO_NWRITE)
        import fcntl
        import termios

        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0])
    except (ImportError, OSError):
        return 0


def send_unbuffered(transport: asyncio.BaseTransport) -> None:
    """Have the system keep no bytes of this connection on Windows, which cannot report them.

    A send then ends once its bytes are acknowledged, so that the transport's own buffer has all the others. Source:
    Microsoft, "SO_SNDBUF" of SOL_SOCKET socket options. Seen in a simulation alone.
    """
    if not is_proactor(asyncio.get_running_loop()):
        return
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 0)
