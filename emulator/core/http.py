"""HTTP request and response models without a web framework, including streamed responses.

Vendors take and return these; ``http/`` reads them from and writes them to connections.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from enum import IntFlag

from emulator.core.cost_limits import DEFAULT_BOUNDS, INLINE_BYTES
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, check_json, parse_json

Headers = tuple[tuple[str, str], ...]


class _Empty(dict[str, str]):
    """Shared empty mapping; hashable, because a dataclass rejects unhashable defaults."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # ``dict`` sets it to ``None``


NOTHING: Mapping[str, str] = _Empty()
NO_KEY = bytes(16)
"""Key of a request before a key is assigned."""
MAX_PATH = 1024
"""Maximum characters of a path that the journal keeps after it evicted the payload of a request."""


_PAIR = 2 * 49  # bytes of two str objects without their characters


def size_of(pairs: Mapping[str, str]) -> int:
    """Return the bytes of names and values; both are chosen by the client."""
    return _PAIR * len(pairs) + sum(map(len, pairs.keys())) + sum(map(len, pairs.values()))


class _Unparsed:
    """Placeholder of a body that is not parsed yet."""


_UNPARSED = _Unparsed()
_UNREAD = _Unparsed, ValueError


@fast_dataclass(slots=True, eq=False)
class Request:
    """HTTP request to a vendor endpoint.

    Fields:
        path: decoded, without the query and the vendor prefix of a shared port.
        query: first value of each key, decoded.
        headers: looked up case-insensitively.
        params: parameters from the endpoint's path pattern.
        base_url: URL of the vendor as the client reached it, without a trailing slash.
        principal: identity of the authenticated caller.
        key: 16 bytes derived from fingerprint and attempt; every id in the response is drawn from it.
        attempt: number of equal requests before this one, from 0.
        documents: stored documents of the session, for a vendor that stores any.
        unread_collection: collection that is assumed empty instead of read; the store raises
            :class:`~emulator.core.storage.DocumentsError` on counting the request if it is not.
        max_values: maximum number of values in a JSON body.
        max_text: maximum bytes of the texts in a JSON body.
        head_size: bytes of headers and query as the journal counts them.
        key_suffix: suffix of API keys that the vendor hands out; it routes later requests to the same session.
    """

    method: str
    path: str
    query: Mapping[str, str] = NOTHING
    headers: Mapping[str, str] = NOTHING
    body: bytes = b""
    params: Mapping[str, str] = NOTHING
    base_url: str = ""
    principal: str = ""
    session: str = ""
    key: bytes = NO_KEY
    attempt: int = 0
    documents: Mapping[str, JSON] = NOTHING
    unread_collection: str = ""
    max_values: int = DEFAULT_BOUNDS.values
    max_text: int = DEFAULT_BOUNDS.text
    key_suffix: str = ""
    head_size: int = 0
    _json: JSON | _Unparsed | ValueError = _UNPARSED

    @property
    def has_key(self) -> bool:
        return self.key != NO_KEY

    def json(self) -> JSON:
        """Return the body parsed as JSON; the result is cached.

        Raises:
            ValueError: the body is not JSON.
        """
        value = self._json
        if isinstance(value, _UNREAD):
            if isinstance(value, _Unparsed):
                value = self._json = self._parse()
            if isinstance(value, ValueError):
                raise copy(value)  # the traceback of a raised error refers to the request: storing it makes a cycle
        return value

    def json_members(self) -> Object:
        """Return the members of a body that is a JSON object; any other body has none."""
        try:
            value = self.json()
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def _parse(self) -> JSON | ValueError:
        try:
            if len(self.body) > INLINE_BYTES:
                check_json(self.body, self.max_values, self.max_text)
            return parse_json(self.body)
        except ValueError as error:
            error.__traceback__ = error.__context__ = error.__cause__ = None
            return error

    def drop_parsed(self) -> None:
        """Drop the parsed body and keep its bytes."""
        self._json = _UNPARSED

    def drop_payload(self) -> None:
        """Drop body, query, headers and documents, and the path beyond ``MAX_PATH`` characters."""
        self.path = self.path[:MAX_PATH]
        self.body = b""
        self.query = self.headers = self.documents = NOTHING
        self._json = _UNPARSED

    @property
    def all_headers(self) -> Mapping[str, str]:
        """Every header, also where parsers see some of them alone; for values that a response echoes."""
        whole: Mapping[str, str] = getattr(self.headers, "whole", self.headers)
        return whole


DROPPED = 0  # status that closes the connection without a response


@fast_dataclass(frozen=True, slots=True, eq=False)
class Response:
    """Complete HTTP response.

    Fields:
        status: HTTP status, or :data:`DROPPED` to close the connection instead of responding.
        chunked: send the body as a single chunk, without ``Content-Length``.
        close: close the connection after the response.
    """

    status: int
    body: bytes = b""
    headers: Headers = (("Content-Type", "application/json"),)
    chunked: bool = False
    close: bool = False


class Mark(IntFlag):
    """Role of a stream event, apart from the tokens in it; faults select events by role."""

    PLAIN = 0
    FINISH = 1  # carries the finish reason of the response or of a choice
    USAGE = 2  # carries the final token counts
    DONE = 4  # marks the end of the stream
    JOINED = 8  # is written together with the next event


Event = tuple[float, bytes, int, Mark]
"""Stream event ``(due, data, tokens, mark)``; a tuple, because named objects cost five times as much.

``due``: seconds after admission. ``data``: bytes of the event with its framing. ``tokens``: tokens of the response
that the client has received in total after this event; an event without tokens may give 0.
"""


Batch = tuple[bytes, Sequence[bytes], int, int]
"""Events of one write: ``(joint, pieces, size, count)``; ``joint.join(pieces)`` has each event as an HTTP chunk.

``size`` counts the events alone. The pieces are joined when they are written: until then they take no memory.
"""


class BatchedEvents:
    """Stream events that are all known in advance, so that an undelayed stream is rendered in batches."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Event]:
        raise NotImplementedError

    def batches(self, head: bytes = b"", tail: bytes = b"") -> Iterator[Batch] | None:
        """Return the events in batches, or ``None`` if any event is delayed.

        ``head`` is in front of the first batch, ``tail`` behind the last: to add them later would copy the stream.
        """
        raise NotImplementedError


@fast_dataclass(frozen=True, slots=True, eq=False)
class StreamingResponse:
    """Streamed HTTP response; ``events`` are in the order of their due times."""

    events: Iterable[Event]
    headers: Headers = (("Content-Type", "text/event-stream"),)
    status: int = 200


Path = tuple[str, ...]


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldNames:
    """Location of text, usage, finish reason and ids in a vendor's JSON responses; paths omit list indexes.

    Fields:
        text: names of members with generated text.
        usage: path suffixes of token counts.
        finish: path suffixes of finish reasons.
        id: whole paths of the response's own id.
        generated: names of members that count completion tokens.
        counts: names of members with other token counts.
    """

    text: frozenset[str] = frozenset()
    usage: tuple[Path, ...] = ()
    finish: tuple[Path, ...] = ()
    id: tuple[Path, ...] = ()
    generated: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    def __or__(self, other: "FieldNames") -> "FieldNames":
        return FieldNames(
            text=self.text | other.text,
            usage=(*self.usage, *other.usage),
            finish=(*self.finish, *other.finish),
            id=(*self.id, *other.id),
            generated=(*self.generated, *other.generated),
            counts=(*self.counts, *other.counts),
        )


NO_FIELDS = FieldNames()
