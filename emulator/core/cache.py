"""Bounded process-wide caches, the events that clear them, and their hit and miss counters.

- :func:`lru` and :class:`Cache` with its subclasses: pure functions of their keys; :func:`clear_all` empties them.
- :func:`scenario_lru`: results that belong to a scenario; :func:`clear_scenario_caches` drops them when it is replaced.
- :class:`CacheStats`: counters that the metrics page exports by cache name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from typing import ClassVar, Generic, NamedTuple, ParamSpec, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
P = ParamSpec("P")

_SCENARIO_RESULTS = 1024  # of one function

_clear_callbacks: list[Callable[[], None]] = []
_scenario_clear_callbacks: list[Callable[[], None]] = []
_instances: WeakValueDictionary[int, Cache[str, object]] = WeakValueDictionary()


def lru(maxsize: int, stats: str = "") -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Decorate a pure function with an LRU cache of ``maxsize`` results that :func:`clear_all` empties.

    ``stats``: name under which :func:`read_stats` reports hits and misses; empty: unreported.
    """

    def wrap(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        cached = lru_cache(maxsize=maxsize)(function)
        clear_with_all(_count_hits(stats, cached) if stats else cached.cache_clear)
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


class BoundedCache(Cache[K, T]):
    """Cache that empties itself when a further entry would exceed the maximum of its class."""

    max_entries: ClassVar[int]

    def keep(self, key: K, value: T) -> T:
        """Store a value and return it."""
        if len(self) >= self.max_entries:
            self.clear()
        self[key] = value
        return value


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

    def counts(self) -> CacheCounts:
        return CacheCounts(self.hits, self.misses)


class CacheCounts(NamedTuple):
    """Hits and misses of a cache."""

    hits: int
    misses: int


_stats: dict[str, Callable[[], CacheCounts]] = {}


def create_stats(name: str) -> CacheStats:
    """Return new counters that :func:`read_stats` reports under ``name``."""
    stats = CacheStats()
    _stats[name] = stats.counts
    return stats


def _count_hits(name: str, cached: _lru_cache_wrapper[T]) -> Callable[[], None]:
    """Report the counters of a function's cache; return a function that clears the cache and keeps the counters."""
    before = CacheCounts(0, 0)  # clearing the cache resets its own counters

    def count() -> CacheCounts:
        info = cached.cache_info()
        return CacheCounts(before.hits + info.hits, before.misses + info.misses)

    def clear() -> None:
        nonlocal before
        before = count()
        cached.cache_clear()

    _stats[name] = count
    return clear


def read_stats() -> Mapping[str, CacheCounts]:
    """Return the counters of all named caches, sorted by name."""
    return {name: count() for name, count in sorted(_stats.items())}
