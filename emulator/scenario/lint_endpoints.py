"""Rules about endpoints that no vendor has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from enum import Enum

from emulator.scenario.comparisons import compile_names
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.mistakes import Row, nearest
from emulator.scenario.schema import Rule

Routes = Mapping[str, Collection[str]]
"""Paths by vendor, such as ``/serving-endpoints/{name}/invocations``; ``{rest:path}`` also spans slashes."""


class _Wild(Enum):
    ONE = "a character that is no slash"
    MANY = "any number of them"
    SOME = "a character"
    ANY = "any number of characters"


Pattern = tuple[str | _Wild, ...]
_REPEATED: tuple[Pattern, ...] = ((_Wild.MANY,), (_Wild.ANY,))
_ANYTHING = (_Wild.SOME, _Wild.ANY)
_CATCH_ALL = re.compile(r"[^{]*\{\w+:path\}")
_PARAMETER = re.compile(r"(\{\w+(?::path)?\})")


def find_unknown_endpoints(loaded: LoadedScenario, routes: Routes) -> Iterator[Row]:
    """Warnings about rules whose ``endpoint`` is no path of the vendors they are about."""
    for position, rule in enumerate(loaded.scenario.rules):
        wanted = rule.when.endpoint
        paths = _list_paths(rule, routes)
        if wanted is None or not paths or any(_meets(glob, path) for glob in wanted for path in paths):
            continue
        close = nearest(wanted[0], paths)
        hint = f"; did you mean {close}?" if close else ""
        message = f"no vendor the rule is about has the endpoint {', '.join(wanted)}{hint}"
        yield loaded.row(("rules", position, "when", "endpoint"), message)


def _list_paths(rule: Rule, routes: Routes) -> list[str]:
    """What can be named; not the places where a vendor looks at any path at all, to refuse most."""
    is_vendor = compile_names(rule.when.vendor or ("*",))
    named = [path for vendor, paths in routes.items() if is_vendor(vendor) for path in paths]
    return [path for path in named if not _CATCH_ALL.fullmatch(path)]


def _meets(glob: str, route: str) -> bool:
    """Some path is meant by both."""
    return _overlap(_read_glob(glob), _read_route(route))


def _read_glob(glob: str) -> Pattern:
    return tuple(_Wild.ANY if character == "*" else character for character in glob)


def _read_route(route: str) -> Pattern:
    pattern: list[str | _Wild] = []
    for part in _PARAMETER.split(route):
        if _PARAMETER.fullmatch(part):
            pattern += [_Wild.SOME, _Wild.ANY] if part.endswith(":path}") else [_Wild.ONE, _Wild.MANY]
        else:
            pattern += part
    return tuple(pattern)


def _overlap(left: Pattern, right: Pattern) -> bool:
    """Whether one text fits both patterns."""
    seen: set[tuple[int, int]] = set()
    ahead = [(0, 0)]
    while ahead:
        place = i, j = ahead.pop()
        if place in seen:
            continue
        seen.add(place)
        if i == len(left) and j == len(right):
            return True
        one, other = left[i : i + 1], right[j : j + 1]
        if one in _REPEATED:
            ahead.append((i + 1, j))
        if other in _REPEATED:
            ahead.append((i, j + 1))
        if one and other and _share(*one, *other):
            ahead.append((i + (one not in _REPEATED), j + (other not in _REPEATED)))
    return False


def _share(one: str | _Wild, other: str | _Wild) -> bool:
    """Whether some character is meant by both."""
    if one in _ANYTHING or other in _ANYTHING:
        return True
    if isinstance(one, _Wild):
        return isinstance(other, _Wild) or other != "/"
    return one != "/" if isinstance(other, _Wild) else one == other
