"""How often what was remembered was wanted again: whoever remembers counts, and metrics tell it when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


class _Clearable(_Cache, Protocol):
    def cache_clear(self) -> None: ...


class _Watched:
    """A function's cache, which counts from nought again once it is cleared, and what it had counted before."""

    def __init__(self, cache: _Clearable) -> None:
        self._cache = cache
        self._before = Counted(0, 0)

    def cache_info(self) -> Counted:
        info, before = self._cache.cache_info(), self._before
        return Counted(before.hits + info.hits, before.misses + info.misses)

    def clear(self) -> None:
        self._before = self.cache_info()
        self._cache.cache_clear()


_caches: dict[str, _Cache] = {}


def keep_tally(name: str) -> Tally:
    """A tally that is told under a name."""
    tally = _caches[name] = Tally()
    return tally


def watch_cache(name: str, cache: _Clearable) -> Callable[[], None]:
    """Tell of a cache that counts by itself; how to clear it without losing count."""
    watched = _caches[name] = _Watched(cache)
    return watched.clear


def read_tallies() -> Mapping[str, Counted]:
    """All of them, by name."""
    found = {name: cache.cache_info() for name, cache in sorted(_caches.items())}
    return {name: Counted(info.hits, info.misses) for name, info in found.items()}
