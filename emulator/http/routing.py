"""Route a request path to an endpoint of a vendor's table, for the handler and for explanations."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.vendor import AnyEndpoint, MethodNotAllowedError

_PARAMETER = re.compile(r"\{(\w+)(:path)?\}")
_NO_PARAMS: Mapping[str, str] = {}
_Rows = dict[str, AnyEndpoint]


class Router:
    """Router over a vendor's endpoints: literal paths by dictionary, patterns in order, compiled on first use."""

    def __init__(self, endpoints: Iterable[AnyEndpoint]) -> None:
        self._literal: dict[str, _Rows] = defaultdict(dict)
        self._others: dict[str, _Rows] = defaultdict(dict)
        for endpoint in endpoints:
            rows = self._others if "{" in endpoint.path else self._literal
            rows[endpoint.path][endpoint.method] = endpoint

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], _Rows]]:
        return [(_compile(path), rows) for path, rows in self._others.items()]

    def resolve(self, method: str, path: str) -> tuple[AnyEndpoint, Mapping[str, str]]:
        """Return the endpoint and its path parameters.

        Raises:
            EmulatedError: ``NOT_FOUND``, or a :class:`MethodNotAllowedError`.
        """
        rows = self._literal.get(path)
        if rows is not None and (endpoint := rows.get(method) or rows.get("*")) is not None:
            return endpoint, _NO_PARAMS
        found: list[tuple[AnyEndpoint, Mapping[str, str]]] = [(row, _NO_PARAMS) for row in (rows or {}).values()]
        for pattern, candidates in self._patterns:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            endpoint = candidates.get(method) or candidates.get("*")
            if endpoint is not None:
                return endpoint, match.groupdict()
            found += [(row, match.groupdict()) for row in candidates.values()]
        if found:
            raise MethodNotAllowedError(path, found)
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": path})


def _compile(path: str) -> re.Pattern[str]:
    parts = []
    position = 0
    for match in _PARAMETER.finditer(path):
        parts.append(re.escape(path[position : match.start()]))
        parts.append(f"(?P<{match[1]}>.+)" if match[2] else f"(?P<{match[1]}>[^/]+)")
        position = match.end()
    parts.append(re.escape(path[position:]))
    return re.compile("".join(parts), re.DOTALL)
