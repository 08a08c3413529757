"""Chat requests of Databricks as bytes, and connections to send them on."""

import asyncio
import json
import socket
from urllib.parse import urlsplit

from emulator.http.connection import RequestHead
from tests.http_client import Running

CHAT = "/serving-endpoints/chat/completions"
HEAD = f"POST {CHAT} HTTP/1.1\r\nAuthorization: Bearer key-of-mine\r\n"
MODEL = "databricks-meta-llama-3-3-70b-instruct"


def chat(text: str = "What is a tide?", **more: object) -> bytes:
    """Return the body of a chat request."""
    return json.dumps({"model": MODEL, "messages": [{"role": "user", "content": text}], **more}).encode()


def frame_request(body: bytes, head: str = HEAD) -> bytes:
    """Return a request with this body."""
    return f"{head}Host: databricks\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def connect(
    running: Running, vendor: str = "databricks", room: int | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a vendor's port; ``room``: bytes of the client's receive buffer, whose reader then reads on demand."""
    url = urlsplit(running.urls[vendor])
    sock = socket.socket()
    sock.setblocking(False)
    if room is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    await asyncio.get_running_loop().sock_connect(sock, (url.hostname, url.port))
    return await asyncio.open_connection(sock=sock, limit=2**16 if room is None else 1024)


def find_heads(running: Running, vendor: str = "databricks") -> dict[bytes, RequestHead]:
    """Return the heads that a vendor's port remembers."""
    assert running.listeners is not None
    port = urlsplit(running.urls[vendor]).port
    (found,) = [sock.web.heads for sock in running.listeners._sockets if sock.port == port]
    return found
