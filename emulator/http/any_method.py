"""Parse requests whose method is none that aiohttp's compiled parser knows, such as ``BREW``; only these come here.

A method is any token and case-sensitive (RFC 9110, section 9.1); what follows from an unknown one the vendor decides.
"""

from __future__ import annotations

import re
from asyncio import AbstractEventLoop
from typing import TYPE_CHECKING

from aiohttp import http_parser
from aiohttp.base_protocol import BaseProtocol

if TYPE_CHECKING:
    from aiohttp.http import HttpRequestParser, RawRequestMessage

_BEGINNING = re.compile(rb"(?:\r\n)*[!#$%&'*+.^_`|~0-9A-Za-z-]+(?: |\Z)")


class _AnyMethodParser(http_parser.HttpRequestParserPy):
    """aiohttp's parser in Python, which takes any method; it makes them upper case, which this class undoes."""

    def parse_message(self, lines: list[bytes]) -> RawRequestMessage:
        message = super().parse_message(lines)
        return message._replace(method=lines[0].partition(b" ")[0].decode("ascii"))


def has_unknown_method(data: bytes) -> bool:
    """Return whether data that the compiled parser refuses begins with a method, one that it does not know."""
    return _BEGINNING.match(data) is not None


def create_parser(protocol: BaseProtocol, loop: AbstractEventLoop, limit: int) -> HttpRequestParser:
    """Return a parser of requests with any method.

    Args:
        limit: bytes of a body beyond which the parser pauses the connection.
    """
    return _AnyMethodParser(protocol, loop, limit, auto_decompress=False)
