"""Bounded process-wide caches, the events that clear them, and their hit and miss counters.

- :func:`lru` and :class:`Cache`, :class:`SizedCache`: pure functions of their keys; :func:`clear_all` empties them.
- :func:`scenario_lru`: results that belong to a scenario; :func:`clear_scenario_caches` drops them when it is replaced.
- :class:`CacheStats`: counters that the metrics page exports by cache name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from typing import Generic, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
P = ParamSpec("P")

_SCENARIO_RESULTS = 1024  # of one function

_clear_callbacks: list[Callable[[], None]] = []
_scenario_clear_callbacks: list[Callable[[], None]] = []
_instances: WeakValueDictionary[int, Cache[str, object]] = WeakValueDictionary()


def lru(maxsize: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Decorate a pure function with an LRU cache of ``maxsize`` results that :func:`clear_all` empties."""

    def wrap(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        cached = lru_cache(maxsize=maxsize)(function)
        clear_with_all(cached.cache_clear)
        return cached

    return wrap


def clear_with_all(clear: Callable[[], None]) -> None:
    """Register a callback for :func:`clear_all`."""
    _clear_callbacks.append(clear)


def clear_all() -> None:
    """Empty every :func:`lru`, every :class:`Cache`, and the caches of registered callbacks."""
    for clear in _clear_callbacks:
        clear()
    for cache in [*_instances.values()]:
        cache.clear()


class Cache(dict[K, T], Generic[K, T]):
    """Dictionary of recomputable values that :func:`clear_all` empties."""

    def __init__(self) -> None:
        super().__init__()
        _instances[id(self)] = self  # type: ignore[assignment]  # of any key and value type


class SizedCache(Cache[K, T]):
    """Cache that computes missing values, and empties itself when their total size exceeds a maximum.

    Args:
        compute: returns the value of a key.
        measure: returns the size of a key with its value, in the unit of ``max_size``.
    """

    def __init__(self, compute: Callable[[K], T], measure: Callable[[K, T], int], max_size: int) -> None:
        super().__init__()
        self._compute = compute
        self._measure = measure
        self._max_size = max_size
        self.size = 0

    def __missing__(self, key: K) -> T:
        value = self._compute(key)
        self.charge(self._measure(key, value))
        self[key] = value
        return value

    def charge(self, size: int) -> None:
        """Add to the total size, for a value that is new or has grown."""
        self.size += size
        if self.size > self._max_size:
            self.clear()
            self.size = size

    def clear(self) -> None:
        super().clear()
        self.size = 0


def scenario_lru(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function with an LRU cache that :func:`clear_scenario_caches` empties."""
    cached = lru_cache(maxsize=_SCENARIO_RESULTS)(function)
    clear_with_scenario(cached.cache_clear)
    return cached  # type: ignore[return-value]  # an LRU cache takes any hashable arguments


def clear_with_scenario(clear: Callable[[], None]) -> None:
    """Register a callback for :func:`clear_scenario_caches`."""
    _scenario_clear_callbacks.append(clear)


def clear_scenario_caches() -> None:
    """Empty every :func:`scenario_lru`; call it when the server or a session changes its scenario.

    Results of the scenarios that stay active are computed again on demand.
    """
    for clear in _scenario_clear_callbacks:
        clear()


class CacheStats:
    """Hit and miss counters that all caches of one name share; a count costs about ten nanoseconds."""

    __slots__ = ("hits", "misses")

    def __init__(self) -> None:
        self.hits = self.misses = 0

    def cache_info(self) -> CacheStats:
        return self


class CacheCounts(NamedTuple):
    """Hits and misses of a cache."""

    hits: int
    misses: int


class _Info(Protocol):
    @property
    def hits(self) -> int: ...

    @property
    def misses(self) -> int: ...


class _Counted(Protocol):
    """:class:`CacheStats`, or a function behind :func:`functools.lru_cache`, which counts by itself."""

    def cache_info(self) -> _Info: ...


class _Clearable(_Counted, Protocol):
    def cache_clear(self) -> None: ...


class _Watched:
    """LRU cache of a function with counters that survive ``cache_clear``, which resets those of ``functools``."""

    def __init__(self, cache: _Clearable) -> None:
        self._cache = cache
        self._before = CacheCounts(0, 0)

    def cache_info(self) -> CacheCounts:
        info, before = self._cache.cache_info(), self._before
        return CacheCounts(before.hits + info.hits, before.misses + info.misses)

    def clear(self) -> None:
        self._before = self.cache_info()
        self._cache.cache_clear()


_stats: dict[str, _Counted] = {}


def create_stats(name: str) -> CacheStats:
    """Return new counters that :func:`read_stats` reports under ``name``."""
    stats = _stats[name] = CacheStats()
    return stats


def watch_cache(name: str, cache: _Clearable) -> Callable[[], None]:
    """Report the counters of an LRU cache under ``name``; return a function that clears the cache and keeps them."""
    watched = _stats[name] = _Watched(cache)
    return watched.clear


def read_stats() -> Mapping[str, CacheCounts]:
    """Return the counters of all named caches, sorted by name."""
    found = {name: cache.cache_info() for name, cache in sorted(_stats.items())}
    return {name: CacheCounts(info.hits, info.misses) for name, info in found.items()}
