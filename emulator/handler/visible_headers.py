"""Limit the headers of a request to those that its vendor's parser may read."""

from collections.abc import Mapping

from multidict import CIMultiDict

from emulator.core.http import Request


class LimitedHeaders(CIMultiDict[str]):
    """Headers of a request that its vendor's parser may read: those with the given names (lower case); ``whole``: all.

    Requests that differ in other headers alone share a cached parse result.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: Mapping[str, str], names: frozenset[str]) -> None:
        super().__init__([(name, value) for name, value in whole.items() if name.lower() in names])
        self.whole = whole


class HeaderScope:
    """Context manager in which only the named headers (lower case) of a request are visible."""

    __slots__ = ("_names", "_request")

    def __init__(self, request: Request, names: frozenset[str]) -> None:
        self._request = request
        self._names = names

    def __enter__(self) -> None:
        self._request.headers = LimitedHeaders(self._request.headers, self._names)

    def __exit__(self, *exception: object) -> None:
        self._request.headers = self._request.all_headers
