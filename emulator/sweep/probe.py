"""Send a recorded call again in a fresh session, after the calls that it needs, and read the bytes of its answer.

Cells whose bytes are the same need one run of the command between them.
"""

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from emulator.client import EmulatorClient
from emulator.control.models import RequestDetail
from emulator.core.json import JSON, parse_json
from emulator.sweep.calls import CallClass, read_body

_TIMEOUT = 60.0  # real seconds; no answer waits, as the clock is instant and faults that hang are not sent
_OWN = frozenset({"content-length", "connection", "host", "transfer-encoding", "accept-encoding"})
_CHUNK = re.compile(rb"([0-9a-fA-F]+)[^\r\n]*\r\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer as a client's HTTP layer yields it.

    Fields:
        head: status line and headers, without those of the emulator.
        whole: the answer ended as HTTP demands.
        reset: the connection was reset.
    """

    head: bytes
    body: bytes
    whole: bool
    reset: bool

    @property
    def status(self) -> int:
        words = self.head.split(b" ", 2)
        return int(words[1]) if len(words) > 1 else 0


def send_again(client: EmulatorClient, call: CallClass) -> Answer:
    """Send the sample of a class to a fresh session, after the calls that it needs; ids are those of this session."""
    ids: dict[str, str] = {}
    for need in call.needs:
        answer = _send(client, need, ids)
        try:
            given = parse_json(answer.body)
        except ValueError:
            continue
        ids.update(_pair(need.response.body, given))
    return _send(client, call.sample, ids)


def _pair(old: JSON, new: JSON) -> Iterator[tuple[str, str]]:
    """Yield the texts of the recorded answer that are others in the new one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() & new.keys():
            yield from _pair(old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        for one, two in zip(old, new, strict=False):
            yield from _pair(one, two)
    elif isinstance(old, str) and isinstance(new, str) and old != new and len(old) >= len("resp_1"):
        yield old, new


def _send(client: EmulatorClient, call: RequestDetail, ids: dict[str, str]) -> Answer:
    url = urlsplit(client.url(call.vendor or ""))
    data, path = read_body(call), call.path
    for old, new in ids.items():
        data, path = data.replace(old.encode(), new.encode()), path.replace(old, new)
    query = f"?{urlencode(call.request.query)}" if call.request.query else ""
    lines = [f"{name}: {value}" for name, value in call.request.headers.items() if name.lower() not in _OWN]
    head = [f"{call.method} {url.path}{path}{query} HTTP/1.1", f"Host: {url.netloc}", "Connection: close"]
    head.append(f"Content-Length: {len(data)}")
    found, reset = bytearray(), False
    with socket.create_connection((url.hostname or "", url.port or 80), timeout=_TIMEOUT) as connection:
        connection.sendall("\r\n".join([*head, *lines, "", ""]).encode() + data)
        try:
            while piece := connection.recv(65536):
                found += piece
        except ConnectionError:
            reset = True
    return _read(bytes(found), reset)


def _read(data: bytes, reset: bool) -> Answer:
    head, _, body = data.partition(b"\r\n\r\n")
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"x-emulator-")]
    lines = [line.lower() for line in kept]
    if b"transfer-encoding: chunked" in lines:
        body, whole = _join_chunks(body)
    else:
        sizes = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
        whole = bool(head) and (not sizes or len(body) >= sizes[0])
    return Answer(b"\r\n".join(kept), body, whole and not reset, reset)


def _join_chunks(data: bytes) -> tuple[bytes, bool]:
    """Return the body of a chunked answer, and whether its last chunk came."""
    parts: list[bytes] = []
    at = 0
    while found := _CHUNK.match(data, at):
        size = int(found[1], 16)
        if size == 0:
            return b"".join(parts), True
        parts.append(data[found.end() : found.end() + size])
        at = found.end() + size + 2
    return b"".join(parts), False
