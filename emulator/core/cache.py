"""Bounded caches that are cleared together, and their hit counters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from typing import Generic, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_clears: list[Callable[[], None]] = []
_memories: WeakValueDictionary[int, Cache[str, object]] = WeakValueDictionary()


def lru(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Remember so many results of a function, those that were asked for last."""

    def wrap(find: Callable[..., T]) -> _lru_cache_wrapper[T]:
        remembered = lru_cache(maxsize=most)(find)
        clear_with_all(remembered.cache_clear)
        return remembered

    return wrap


def clear_with_all(clear: Callable[[], None]) -> None:
    """Have this called whenever everything is forgotten."""
    _clears.append(clear)


def clear_all() -> None:
    """Nobody waits, and it is soon found out again."""
    for clear in _clears:
        clear()
    for memory in [*_memories.values()]:
        memory.clear()


class Cache(dict[K, T], Generic[K, T]):
    """What can be found out again."""

    def __init__(self) -> None:
        super().__init__()
        _memories[id(self)] = self  # type: ignore[assignment]  # whatever it remembers


class SizedCache(Cache[K, T]):
    """Finds out a value when it is first asked for; forgets everything once it holds more than it may.

    ``weigh``: the room that a key and its value take, in whatever unit ``most`` has.
    """

    def __init__(self, find: Callable[[K], T], weigh: Callable[[K, T], int], most: int) -> None:
        super().__init__()
        self._find = find
        self._weigh = weigh
        self._most = most
        self.held = 0

    def __missing__(self, key: K) -> T:
        value = self._find(key)
        self.charge(self._weigh(key, value))
        self[key] = value
        return value

    def charge(self, room: int) -> None:
        """Some value takes so much more."""
        self.held += room
        if self.held > self._most:
            self.clear()
            self.held = room

    def clear(self) -> None:
        super().clear()
        self.held = 0


P = ParamSpec("P")
_MOST = 1024  # results of one function

_clears_passing: list[Callable[[], None]] = []


def scenario_lru(find: Callable[P, T]) -> Callable[P, T]:
    """Remember what a function finds, until another scenario is at work."""
    remembered = lru_cache(maxsize=_MOST)(find)
    clear_with_scenario(remembered.cache_clear)
    return remembered  # type: ignore[return-value]  # a cache takes whatever is hashable


def clear_with_scenario(clear: Callable[[], None]) -> None:
    """Have this called once another scenario is at work."""
    _clears_passing.append(clear)


def clear_scenario_caches() -> None:
    """Another scenario is at work, the server's or a session's; what still is at work is soon found out again."""
    for clear in _clears_passing:
        clear()


class CacheStats:
    """Of all caches of this process that remember the same; to count costs some ten nanoseconds."""

    __slots__ = ("hits", "misses")

    def __init__(self) -> None:
        self.hits = self.misses = 0

    def cache_info(self) -> CacheStats:
        return self


class CacheCounts(NamedTuple):
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
        self._before = CacheCounts(0, 0)

    def cache_info(self) -> CacheCounts:
        info, before = self._cache.cache_info(), self._before
        return CacheCounts(before.hits + info.hits, before.misses + info.misses)

    def clear(self) -> None:
        self._before = self.cache_info()
        self._cache.cache_clear()


_caches: dict[str, _Cache] = {}


def create_stats(name: str) -> CacheStats:
    """A tally that is told under a name."""
    tally = _caches[name] = CacheStats()
    return tally


def watch_cache(name: str, cache: _Clearable) -> Callable[[], None]:
    """Tell of a cache that counts by itself; how to clear it without losing count."""
    watched = _caches[name] = _Watched(cache)
    return watched.clear


def read_stats() -> Mapping[str, CacheCounts]:
    """All of them, by name."""
    found = {name: cache.cache_info() for name, cache in sorted(_caches.items())}
    return {name: CacheCounts(info.hits, info.misses) for name, info in found.items()}
