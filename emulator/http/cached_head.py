"""Heads of requests that have come before, and what was found out about each."""

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
"""A head: whose port it came to, vendor and session, and its bytes before and after the length of the body."""


END = b"\r\n\r\n"  # of a head
MOST_DIGITS = 9  # of the length of a body

Written = tuple[bytes, bool]
"""An answer as it is written, and whether the connection goes on."""


class Connection(Protocol):
    """The connection that an answer goes out on."""

    transport: asyncio.Transport | None

    @property
    def writing_paused(self) -> bool:
        """The client reads too slowly."""

    def end_flow(self, *, whole: bool) -> None:
        """The answer is over; unless it is whole, so is the connection."""


class DelayedWriter(Protocol):
    """An answer that takes its time."""

    def begin(self, carrier: Connection, transport: asyncio.Transport) -> None:
        """Write what is due, and the rest when it is."""

    def resume(self) -> None:
        """The client has read what was sent."""

    def disconnect(self) -> None:
        """The client has left."""


class FastAnswers(Protocol):
    """Whoever answers on the short road."""

    vendor: str

    def answer(self, head: CachedHead, body: bytes) -> Written | DelayedWriter | None:
        """The answer; ``None``: it takes the long road.

        Raises:
            EmulatedError: the call is refused; nothing has happened.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Address:
    """Where the calls of a head went, for whoever remembers one that is over.

    Fields:
        traceparent: what the client says of its trace.
    """

    vendor: str
    path: str
    session: str
    traceparent: str | None


@dataclass(slots=True, eq=False)
class CachedHead:
    """A head that has come before.

    Fields:
        server, active: the scenarios under which it came, the server's and its session's.
        answers: who answers.
        headers: without the session; ``seen``: of them what a parser sees.
        is_stateful: the vendor may keep documents that have a say.
        place: as :class:`emulator.handler.parse.ParseCache` has it.
        misses: calls in a row that the short road was not for.
        remaining: its bytes after the length of the body.
        size: bytes of headers and query as the journal counts them.
        address: what of it outlives the scenarios.
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
    _kept: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.remaining = self.name[3] + END
        whole = Request("POST", self.path, headers=self.headers)
        redact_request(whole)
        self._kept = whole.headers
        self.size = size_of(self.headers) + (size_of(self.query) if self.query else 0)
        self.address = Address(self.answers.vendor, self.path, self.session, read_traceparent(self.headers))

    def measure(self, data: bytes) -> tuple[int, int] | None:
        """Where the body of a request with this head begins and ends; ``None``: it has another head."""
        before, rest = self.name[2], self.remaining
        start = len(before)
        stop = data.find(b"\r", start, start + MOST_DIGITS + 1)
        digits = data[start:stop]
        if stop < 0 or not (digits.isdigit() and data.startswith(before) and data.startswith(rest, stop)):
            return None
        begin = stop + len(rest)
        return begin, begin + int(digits)

    def open(self, body: bytes) -> Request:
        """A request with this head."""
        wire = Request("POST", self.path, self.query, self.headers, body, self.params, self.base_url, "", self.session)
        wire.key_suffix = self.key_suffix
        return wire

    def close(self, wire: Request) -> None:
        """Leave of a request's headers what may be kept, and what is its own: the head is that of another."""
        wire.headers = CIMultiDict(self._kept)
        wire.headers["Content-Length"] = str(len(wire.body))
