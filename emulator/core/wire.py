"""One HTTP exchange, free of any web framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from emulator.core.json import JSON, parse_json
from emulator.core.record import record

Headers = tuple[tuple[str, str], ...]
_UNREAD = object()


@dataclass(slots=True, kw_only=True, eq=False)
class WireRequest:
    """One HTTP request, free of any web framework.

    Fields:
        path: decoded, on the vendor's own port (no front prefix), without the query.
        query: first value of each key, decoded.
        headers: looked up case-insensitively.
        params: what the endpoint's path pattern caught.
        base_url: where the client reached the vendor, without a trailing slash.
        principal: who asks, once authenticated.
        key: identity and attempt of the request; every id in the answer is drawn from it.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    params: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""
    principal: str = ""
    session: str = ""
    key: bytes = bytes(16)
    _json: JSON = _UNREAD

    def json(self) -> JSON:
        """The body parsed as JSON, once.

        Raises:
            ValueError: the body is not JSON.
        """
        if self._json is _UNREAD:
            self._json = parse_json(self.body)
        return self._json

    def forget_json(self) -> None:
        """Keep only the bytes of the body."""
        self._json = _UNREAD


DROPPED = 0  # in place of a status: the connection ends without a word


@record(frozen=True, slots=True, eq=False)
class WireResponse:
    """One whole HTTP answer; ``chunked`` sends it as a stream of one chunk, without a length.

    ``close`` ends the connection after it; a ``status`` of :data:`DROPPED` ends it in place of an answer.
    """

    status: int
    body: bytes = b""
    headers: Headers = (("Content-Type", "application/json"),)
    chunked: bool = False
    close: bool = False


@record(frozen=True, slots=True, eq=False)
class WireStream:
    """A streamed answer: its head, and when each event is due (seconds after admission)."""

    events: Iterable[tuple[float, bytes]]
    headers: Headers = (("Content-Type", "text/event-stream"),)
    status: int = 200
