"""Redis and Valkey servers of the tests' own, where the system has them."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_connection, socket

KINDS = {"redis": "redis-server", "valkey": "valkey-server"}


def find_server(kind: str) -> str | None:
    return shutil.which(KINDS[kind])


@contextmanager
def running(kind: str, folder: Path, port: int = 0) -> Iterator[str]:
    """A server that keeps nothing on disk; yields its URL."""
    program = find_server(kind)
    assert program is not None
    port = port or free_port()
    quiet = ("--save", "", "--appendonly", "no", "--loglevel", "warning", "--bind", "127.0.0.1")
    process = subprocess.Popen([program, "--port", str(port), "--dir", str(folder), *quiet], stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait(port: int) -> None:
    """Wait until the server answers; its port takes connections before that, and a store awaits no answer for long."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with suppress(OSError), create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"PING\r\n")
            if connection.recv(7) == b"+PONG\r\n":
                return
    raise TimeoutError(f"no server answers on {port}")
