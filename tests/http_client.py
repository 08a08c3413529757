"""Raw HTTP for tests: what went over the socket, byte for byte."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from emulator.http.connection import Connection
from emulator.http.listeners import Listeners
from emulator.journal.journal import Journal
from emulator.serve.application import Application
from tests.untyped_json import JSON


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One response: ``head`` and ``body`` as received; ``body`` without chunk framing."""

    head: bytes
    body: bytes
    chunks: tuple[bytes, ...] = ()

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Names and values in the order and case of the wire."""
        lines = self.head.decode().split("\r\n")[1:]
        return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def json(self) -> JSON:
        return json.loads(self.body)

    def events(self) -> list[JSON]:
        """Parsed ``data:`` lines; ``[DONE]`` stays a string."""
        lines = [line[5:].strip() for line in self.body.decode().split("\n") if line.startswith("data:")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]


OBSERVERS: list[Callable[[str, bytes, bytes, Answer], None]] = []
"""Called with vendor, head and body of each request of :class:`Running`, and its answer."""

JOURNAL_OBSERVERS: list[Callable[[Journal], None]] = []
"""Called with the journal of each emulator that ends on a thread of its own: clients of others asked it."""


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """An emulator that listens; ``urls``: base URL by vendor, and ``front``."""

    built: Application
    urls: Mapping[str, str]
    certificate: Path | None = None
    listeners: Listeners | None = field(default=None, kw_only=True)

    def front(self, vendor: str) -> str:
        """The vendor's base URL on the front port."""
        return f"{self.urls['front']}/{vendor}"

    def key(self, key: str) -> str:
        """A credential as a client of this emulator sends it."""
        return key

    @property
    def clients(self) -> list[Connection]:
        """Open connections."""
        return [] if self.listeners is None else self.listeners.clients()

    async def ask(
        self,
        vendor: str,
        target: str,
        body: JSON | bytes | None = None,
        *,
        method: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on the vendor's own port: POST with a body (JSON unless bytes), else GET."""
        payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        lines = {**kind, **(headers or {})}
        verb = method or ("GET" if body is None else "POST")
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return await self.send(vendor, f"{verb} {target} HTTP/1.1\r\n{head}".encode(), payload)

    async def connect(self, vendor: str, limit: int = 2**16) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection to the vendor's own port, or to the front."""
        url = urlsplit(self.urls[vendor])
        return await asyncio.open_connection(url.hostname, url.port, limit=limit)

    async def send(self, vendor: str, head: bytes, body: bytes = b"") -> Answer:
        """A head (without Host, Content-Length and the blank line) and a body, as they are."""
        reader, writer = await self.connect(vendor, limit=2**26)
        try:
            length = f"Content-Length: {len(body)}\r\n" if body else ""
            writer.write(head + f"Host: {urlsplit(self.urls[vendor]).netloc}\r\n{length}\r\n".encode() + body)
            await writer.drain()
            answer = await read_answer(reader)
            for observe in OBSERVERS:
                observe(vendor, head, body, answer)
            return answer
        finally:
            writer.close()
            await writer.wait_closed()


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """One response.

    Raises:
        asyncio.IncompleteReadError: the connection ended before the answer did.
    """
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
    fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
    if fields.get(b"transfer-encoding") == b"chunked":
        chunks = []
        while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
            chunks.append(await reader.readexactly(size))
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass  # a trailer
        return Answer(head, b"".join(chunks), tuple(chunks))
    if b"content-length" in fields:
        return Answer(head, await reader.readexactly(int(fields[b"content-length"])))
    return Answer(head, await reader.read())


async def read_until_reset(
    running: Running, vendor: str, target: str, body: JSON, headers: Mapping[str, str]
) -> tuple[bytes, bool]:
    """The body of an answer as far as it comes, without chunk framing, and whether a reset ended it."""
    reader, writer = await running.connect(vendor)
    payload = json.dumps(body).encode()
    lines = {"Host": "x", "Content-Type": "application/json", "Connection": "close", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"POST {target} HTTP/1.1\r\n{head}Content-Length: {len(payload)}\r\n\r\n".encode() + payload)
    data = b""
    was_reset = False
    try:
        while part := await reader.read(65536):
            data += part
    except ConnectionResetError:
        was_reset = True
    writer.close()
    head_sent, _, rest = data.partition(b"\r\n\r\n")
    return (_unchunk(rest) if b"chunked" in head_sent else rest), was_reset


def _unchunk(data: bytes) -> bytes:
    """The bytes of all chunks, the last of which may be cut."""
    body = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        body += rest[:length]
        data = rest[length + 2 :]
    return body
