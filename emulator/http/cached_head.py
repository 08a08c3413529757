"""Cached request head of the fast path, and the protocols of its connection and handler."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from multidict import CIMultiDict

from emulator.core.http import Request
from emulator.core.redaction.values import redact_request
from emulator.core.vendor import AnyEndpoint
from emulator.handler.call_record import read_traceparent, size_of

Name = tuple[str, str, bytes, bytes]
"""Identity of a head: vendor and session of its port, and its bytes before and after the body length."""


END = b"\r\n\r\n"  # of a head
MAX_DIGITS = 9  # of Content-Length

EncodedResponse = tuple[bytes, bool]
"""Bytes of a response, and whether the connection stays open."""


class Connection(Protocol):
    """Connection that a delayed response is written to."""

    transport: asyncio.Transport | None

    @property
    def writing_paused(self) -> bool:
        """Return whether the transport has paused writing to a slow reader."""

    def end_flow(self, *, whole: bool) -> None:
        """End the response; an incomplete one closes the connection."""


class TimedWriter(Protocol):
    """Response that is written over time."""

    def begin(self, connection: Connection, transport: asyncio.Transport) -> None:
        """Write what is due now, and the rest when it is due."""

    def resume(self) -> None:
        """Continue after the client has read its backlog."""

    def disconnect(self) -> None:
        """Stop writing: the client disconnected."""


class FastAnswers(Protocol):
    """Handler of the requests with a cached head."""

    vendor: str

    def answer(self, head: CachedHead, body: bytes) -> EncodedResponse | TimedWriter | None:
        """Return the response; ``None`` if the general request handler must handle the request.

        Raises:
            EmulatedError: the call is refused; there are no side effects.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Address:
    """Address of the calls of a head; it outlives the scenario in their records.

    Fields:
        traceparent: the client's header.
    """

    vendor: str
    path: str
    session: str
    traceparent: str | None


@dataclass(slots=True, eq=False)
class CachedHead:
    """Request head seen before, with everything derived from it.

    Fields:
        server, active: the server's and the session's active scenario when the head was cached.
        answers: handler of its requests.
        headers: without the session; ``seen``: those that a parser may read.
        is_stateful: the vendor may store documents that change the response.
        place: cache key in :class:`emulator.handler.parse.ParseCache`.
        misses: consecutive requests that the fast path did not handle.
        remaining: bytes after the body length.
        size: bytes of headers and query as the journal counts them.
        address: the part that records keep.
    """

    name: Name
    server: object
    active: object
    answers: FastAnswers
    endpoint: AnyEndpoint
    path: str
    query: Mapping[str, str]
    params: Mapping[str, str]
    headers: Mapping[str, str]
    seen: Mapping[str, str]
    base_url: str
    session: str
    key_suffix: str
    is_stateful: bool
    place: Hashable = None
    misses: int = 0
    remaining: bytes = field(init=False)
    size: int = field(init=False)
    address: Address = field(init=False)
    _redacted: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.remaining = self.name[3] + END
        whole = Request("POST", self.path, headers=self.headers)
        redact_request(whole)
        self._redacted = whole.headers
        self.size = size_of(self.headers) + (size_of(self.query) if self.query else 0)
        self.address = Address(self.answers.vendor, self.path, self.session, read_traceparent(self.headers))

    def measure(self, data: bytes) -> tuple[int, int] | None:
        """Return start and end of the body in ``data``; ``None`` if the head differs."""
        before, rest = self.name[2], self.remaining
        start = len(before)
        stop = data.find(b"\r", start, start + MAX_DIGITS + 1)
        digits = data[start:stop]
        if stop < 0 or not (digits.isdigit() and data.startswith(before) and data.startswith(rest, stop)):
            return None
        begin = stop + len(rest)
        return begin, begin + int(digits)

    def open(self, body: bytes) -> Request:
        """Build a request with this head."""
        request = Request(
            "POST", self.path, self.query, self.headers, body, self.params, self.base_url, "", self.session
        )
        request.key_suffix = self.key_suffix
        return request

    def close(self, request: Request) -> None:
        """Replace the request's headers, which it shares with this head, with a redacted copy for the journal."""
        request.headers = CIMultiDict(self._redacted)
        request.headers["Content-Length"] = str(len(request.body))
