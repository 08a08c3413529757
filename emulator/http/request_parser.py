"""Create the parsers of requests: aiohttp's compiled one, and one for methods that it does not know, such as ``BREW``.

A method is any token and case-sensitive (RFC 9110, section 9.1); what follows from an unknown one the vendor decides.
"""

from __future__ import annotations

import re
from asyncio import AbstractEventLoop
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from aiohttp import http_parser
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParser
from multidict import CIMultiDictProxy
from yarl import URL

if TYPE_CHECKING:
    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.streams import StreamReader

UNLIMITED = 2**30  # bytes of a body; more than any that is read
_BEGINNING = re.compile(rb"(?:\r\n)*[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: |\Z)")


class ParsedHead(Protocol):
    """Head of a request; each parser has a class of its own for it."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def url(self) -> URL: ...

    @property
    def headers(self) -> CIMultiDictProxy[str]: ...

    @property
    def version(self) -> tuple[int, int]: ...

    @property
    def should_close(self) -> bool: ...


class HeadParser(Protocol):
    """Parser of the requests of one connection."""

    def feed_data(self, data: bytes) -> tuple[Sequence[tuple[ParsedHead, StreamReader]], bool, bytes]:
        """Return the requests whose heads end in the data, whether another protocol follows, and its data."""


class _AnyMethodParser(http_parser.HttpRequestParserPy):
    """aiohttp's parser in Python, which takes any method; it makes them upper case, which this class undoes."""

    def parse_message(self, lines: list[bytes]) -> RawRequestMessage:
        message = super().parse_message(lines)
        return message._replace(method=lines[0].partition(b" ")[0].decode("ascii"))


def has_unknown_method(data: bytes) -> bool:
    """Return whether data that the compiled parser refuses begins with a method, one that it does not know."""
    return _BEGINNING.match(data) is not None


class _Owner(BaseProtocol):
    """What a parser takes for its connection: it pauses nothing, as the connection bounds bodies itself."""

    def pause_reading(self) -> None: ...

    def resume_reading(self, resume_parser: bool = True) -> None: ...


def create_parser(loop: AbstractEventLoop, *, any_method: bool = False) -> HeadParser:
    """Return the parser of a connection."""
    kind = _AnyMethodParser if any_method else HttpRequestParser
    return cast(HeadParser, kind(_Owner(loop), loop, UNLIMITED, auto_decompress=False))
