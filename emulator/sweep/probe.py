"""Find which cells give a client the same bytes."""

from __future__ import annotations

import socket
from hashlib import blake2b
from urllib.parse import urlsplit

from emulator.client import EmulatorClient
from emulator.control.models import RequestDetail
from emulator.core.json import dump_text

_SILENCE = 0.3  # real seconds without a byte until a connection counts as hanging
_OWN = frozenset({"content-length", "connection", "host", "transfer-encoding", "accept-encoding"})


def find_signature(client: EmulatorClient, vendor: str, sample: RequestDetail) -> bytes:
    """Send a recorded request again; return a hash of the bytes of the response and of how it ended."""
    url = urlsplit(client.url(vendor))
    body = sample.request.body
    raw = sample.request.raw or (body if isinstance(body, str) else "" if body is None else dump_text(body))
    data = raw.encode()
    lines = [f"{name}: {value}" for name, value in sample.request.headers.items() if name.lower() not in _OWN]
    head = [f"{sample.method} {sample.path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(data)}"]
    found = blake2b(digest_size=16)
    with socket.create_connection((url.hostname or "", url.port or 80), timeout=_SILENCE) as connection:
        connection.sendall("\r\n".join([*head, *lines, "", ""]).encode() + data)
        try:
            while piece := connection.recv(65536):
                found.update(piece)
            found.update(b"closed")
        except TimeoutError:
            found.update(b"open")
        except ConnectionError:
            found.update(b"reset")
    return found.digest()
