"""How often what was remembered was wanted again: whoever remembers counts, and metrics tell it when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class Tally:
    """Of all caches of this process that remember the same; to count costs some ten nanoseconds."""

    __slots__ = ("hits", "misses")

    def __init__(self) -> None:
        self.hits = self.misses = 0

    def cache_info(self) -> Tally:
        return self


class Counted(NamedTuple):
    """What a cache found, and what it had to find out."""

    hits: int
    misses: int


class _Info(Protocol):
    @property
    def hits(self) -> int: ...

    @property
    def misses(self) -> int: ...


class _Cache(Protocol):
    """A tally, or a function behind :func:`functools.lru_cache`, which counts by itself."""

    def cache_info(self) -> _Info: ...


_caches: dict[str, _Cache] = {}


def keep_tally(name: str) -> Tally:
    """A tally that is told under a name."""
    tally = _caches[name] = Tally()
    return tally


def watch_cache(name: str, cache: _Cache) -> None:
    """Tell of a cache that counts by itself."""
    _caches[name] = cache


def read_tallies() -> Mapping[str, Counted]:
    """All of them, by name."""
    found = {name: cache.cache_info() for name, cache in sorted(_caches.items())}
    return {name: Counted(info.hits, info.misses) for name, info in found.items()}
