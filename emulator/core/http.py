"""One HTTP exchange, free of any web framework."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import IntFlag
from typing import TypeVar, overload

from emulator.core.cost_limits import DEFAULT, INLINE_BYTES
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, check_json, parse_json

Headers = tuple[tuple[str, str], ...]
D = TypeVar("D")


class _Nothing(dict[str, str]):
    """An empty mapping that all may share; a dataclass takes no other for a default."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dictionary has none


NOTHING: Mapping[str, str] = _Nothing()
UNNAMED = bytes(16)
"""The key of a request that has none yet."""
LONGEST_PATH = 1024
"""Characters of a path that are remembered when all else of a request is forgotten."""


class _Unread:
    """In place of a body that nobody has parsed yet."""


_UNREAD = _Unread()


@dataclass(slots=True, eq=False)
class Request:
    """One HTTP request, free of any web framework.

    Fields:
        path: decoded, on the vendor's own port (no front prefix), without the query.
        query: first value of each key, decoded.
        headers: looked up case-insensitively.
        params: what the endpoint's path pattern caught.
        base_url: where the client reached the vendor, without a trailing slash.
        principal: who asks, once authenticated.
        key: identity and attempt of the request; every id in the answer is drawn from it.
        attempt: how often an equal request came before.
        documents: what the vendor keeps for the session, if it keeps anything.
        unread_collection: the shelf where that would be, taken to be nothing; whoever counts the request finds out.
        most_values, most_text: that a body of JSON may have; the latter in bytes.
        key_suffix: what a key ends in that is handed out, so that calls with it come back to where it is from.
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
    key: bytes = UNNAMED
    attempt: int = 0
    documents: Mapping[str, JSON] = NOTHING
    unread_collection: str = ""
    most_values: int = DEFAULT.values
    most_text: int = DEFAULT.text
    key_suffix: str = ""
    _json: JSON | _Unread | ValueError = _UNREAD

    @property
    def has_key(self) -> bool:
        """It has its key."""
        return self.key != UNNAMED

    def json(self) -> JSON:
        """The body parsed as JSON, once.

        Raises:
            ValueError: the body is not JSON.
        """
        value = self._json
        if isinstance(value, _Unread):
            value = self._json = self._read()
        if isinstance(value, ValueError):
            raise copy(value)  # one that is raised holds on to the request, and the request would to it
        return value

    def _read(self) -> JSON | ValueError:
        try:
            if len(self.body) > INLINE_BYTES:
                check_json(self.body, self.most_values, self.most_text)
            return parse_json(self.body)
        except ValueError as error:
            error.__traceback__ = error.__context__ = error.__cause__ = None
            return error

    def forget_json(self) -> None:
        """Keep only the bytes of the body."""
        self._json = _UNREAD

    def forget(self) -> None:
        """Keep only what tells where the request went, the beginning of a long path, and who made it."""
        self.path = self.path[:LONGEST_PATH]
        self.body = b""
        self.query = self.headers = self.documents = NOTHING
        self._json = _UNREAD

    def limited_to(self, names: frozenset[str]) -> _Limits:
        """Meanwhile only these headers are there to be seen, in lower case; what else a client sends has no say."""
        return _Limits(self, names)

    @property
    def all_headers(self) -> Mapping[str, str]:
        """Every header, even while only some are to be seen: for what an answer repeats, not for how it is found."""
        return self.headers.whole if isinstance(self.headers, _Limited) else self.headers


class _Limited(Mapping[str, str]):
    """Some of a request's headers."""

    __slots__ = ("_names", "whole")

    def __init__(self, whole: Mapping[str, str], names: frozenset[str]) -> None:
        self.whole = whole
        self._names = names

    def __getitem__(self, name: str) -> str:
        if name.lower() not in self._names:
            raise KeyError(name)
        return self.whole[name]

    @overload
    def get(self, name: str, /) -> str | None: ...

    @overload
    def get(self, name: str, default: str, /) -> str: ...

    @overload
    def get(self, name: str, default: D, /) -> str | D: ...

    def get(self, name: str, default: D | None = None, /) -> str | D | None:
        """As every mapping has it, without the exception that would cost most."""
        return self.whole.get(name, default) if name.lower() in self._names else default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._names and name in self.whole

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.whole if name.lower() in self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def limit_headers(headers: Mapping[str, str], names: frozenset[str]) -> Mapping[str, str]:
    """Of some headers only these, in lower case, as :meth:`Request.limited_to` shows them."""
    return _Limited(headers, names)


class _Limits:
    """The time in which a request shows some of its headers."""

    __slots__ = ("_names", "_request")

    def __init__(self, request: Request, names: frozenset[str]) -> None:
        self._request = request
        self._names = names

    def __enter__(self) -> None:
        self._request.headers = _Limited(self._request.headers, self._names)

    def __exit__(self, *exception: object) -> None:
        self._request.headers = self._request.all_headers


DROPPED = 0  # in place of a status: the connection ends without a word


@fast_dataclass(frozen=True, slots=True, eq=False)
class Response:
    """One whole HTTP answer; ``chunked`` sends it as a stream of one chunk, without a length.

    ``close`` ends the connection after it; a ``status`` of :data:`DROPPED` ends it in place of an answer.
    """

    status: int
    body: bytes = b""
    headers: Headers = (("Content-Type", "application/json"),)
    chunked: bool = False
    close: bool = False


class Mark(IntFlag):
    """What an event of a stream means, beside the tokens it brings."""

    PLAIN = 0
    FINISH = 1  # it says why the answer, or one of its choices, ends
    USAGE = 2  # it has the final token counts
    DONE = 4  # it says that the stream is over
    JOINED = 8  # it goes out in one write with the next


Event = tuple[float, bytes, int, Mark]
"""One event of a stream: ``(due, data, tokens, mark)``. A tuple, as objects with names cost five times as much.

``due``: seconds after admission. ``data``: the event's bytes, framing included. ``tokens``: how many tokens of the
answer the client has once it has read the event; one that brings none may say 0.
"""


Batch = tuple[Sequence[bytes], int, int]
"""Events that go out in one write: pieces, size, count. Each is a chunk of its own; the size is without framing."""


class BatchedEvents:
    """Events that are known before the first of them is due, so that many can be made at once."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Event]:
        raise NotImplementedError

    def batches(self) -> Iterator[Batch] | None:
        """The same events as they are written if nothing delays any of them; ``None`` if something does."""
        raise NotImplementedError


@fast_dataclass(frozen=True, slots=True, eq=False)
class StreamingResponse:
    """A streamed answer: its head and its events, in the order in which they are due."""

    events: Iterable[Event]
    headers: Headers = (("Content-Type", "text/event-stream"),)
    status: int = 200


Path = tuple[str, ...]


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldNames:
    """What members of a vendor's JSON answers mean; list indexes are no part of a path.

    Fields:
        text: names of members whose strings are what the model said.
        usage: token counts; how their paths end.
        finish: why an answer ends; how their paths end.
        id: the answer's own id, not that of a part of it; whole paths.
        generated: counts of the answer's tokens; names.
        counts: other counts of tokens; names.
    """

    text: frozenset[str] = frozenset()
    usage: tuple[Path, ...] = ()
    finish: tuple[Path, ...] = ()
    id: tuple[Path, ...] = ()
    generated: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    def __or__(self, other: FieldNames) -> FieldNames:
        return FieldNames(
            text=self.text | other.text,
            usage=(*self.usage, *other.usage),
            finish=(*self.finish, *other.finish),
            id=(*self.id, *other.id),
            generated=(*self.generated, *other.generated),
            counts=(*self.counts, *other.counts),
        )


NO_FIELDS = FieldNames()
