"""``emulator health`` without arguments, a container's probe: find the address in the port file, and ask ``/ready``.

``cli/__init__.py`` calls it first; ``health.py`` has the full command. Imports are most of the cost of such a probe: a
parser and an HTTP client take five times the CPU time.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing it from typing takes as long as the probe itself
if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

PORT_FILE_VARIABLE = "EMULATOR_PORT_FILE"
_READY = b"GET /_emulator/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_TIMEOUT = 2.0  # seconds
_MAX_READ = 4096  # bytes; the status line is among them


def probe(environment: Mapping[str, str]) -> int | None:
    """Probe the emulator of the port file; return 0 if it is ready, 1 if there is none yet.

    ``None``: the result is unclear and the full health check must run.
    """
    path = environment.get(PORT_FILE_VARIABLE)
    if not path:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        if not path.isprintable():
            return None
        print(f"not ready: no emulator has written {path}", file=sys.stderr)
        return 1
    except (OSError, ValueError):
        return None
    address = _find_address(text)
    if address is None or not _is_ready(*address):
        return None
    print("ready")
    return 0


def _find_address(text: str) -> tuple[bool, str, int] | None:
    """Return whether the front port uses TLS, its host and its port."""
    front = text.partition('"front": "')[2].partition('"')[0]
    scheme, _, rest = front.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in ("http", "https") or not (port.isascii() and port.isdecimal()):
        return None
    return scheme == "https", host.strip("[]"), int(port)


def _is_ready(is_tls: bool, host: str, port: int) -> bool:
    from socket import create_connection

    try:
        with create_connection((host, port), _TIMEOUT) as plain:
            if not is_tls:
                return _request_ready(plain)
            from emulator.cli.trust import trust_all
            from emulator.core.hosts import is_loopback

            if not is_loopback(host):
                return False
            with trust_all().wrap_socket(plain, server_hostname=host) as secured:
                return _request_ready(secured)
    except (OSError, ValueError, OverflowError):
        return False


def _request_ready(stream: socket) -> bool:
    stream.sendall(_READY)
    return stream.recv(_MAX_READ).startswith(b"HTTP/1.1 200 ")
