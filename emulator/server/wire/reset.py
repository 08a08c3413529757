"""A connection that ends with a TCP reset, once all that was said before has arrived."""

import asyncio
import os
import socket
import struct

_POLL = 0.001  # real seconds; how far the kernel has come, no event tells
_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)  # on, for no time: closing resets


async def reset(transport: asyncio.Transport) -> None:
    """Wait until the client's machine has every byte, then send RST; return if the client leaves first."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    quiet = 0
    while quiet < 2 and not transport.is_closing():  # twice: below TLS lies a second buffer, emptied in between
        quiet = 0 if transport.get_write_buffer_size() or _count_unacknowledged(sock) else quiet + 1
        if quiet < 2:
            await asyncio.sleep(_POLL)
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    transport.abort()


def _count_unacknowledged(sock: socket.socket | None) -> int:
    """Bytes in the kernel that the other side has not acknowledged; 0 where the system does not tell."""
    try:
        import fcntl
        import termios
    except ImportError:
        return 0
    if sock is None:
        return 0
    try:
        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0])
    except OSError:
        return 0
