"""Bounded caches: what they keep, what clears them, what they count."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from emulator.core import cache
from emulator.core.cache import Cache, SizedCache, clear_all, clear_scenario_caches, lru, scenario_lru
from emulator.encoding import sse
from emulator.generation import language
from tests.conftest import Start
from tests.handler.toy import TOY


def test_sized_cache_computes_each_value_once() -> None:
    computed: list[str] = []

    def measure(text: str) -> int:
        computed.append(text)
        return len(text)

    sizes = SizedCache(measure, lambda text, size: size, 10)
    assert [sizes["abc"], sizes["abc"], sizes["de"]] == [3, 3, 2]
    assert (computed, sizes.size) == (["abc", "de"], 5)


def test_sized_cache_empties_beyond_maximum() -> None:
    sizes = SizedCache(str.__len__, lambda text, size: size, 10)
    for text in ("four", "five!", "six"):
        assert sizes[text] == len(text)
    assert (dict(sizes), sizes.size) == ({"six": 3}, 3)
    sizes.charge(8)
    assert (dict(sizes), sizes.size) == ({}, 8)


def test_clear_all_empties_every_cache() -> None:
    computed: list[int] = []

    @lru(2)
    def double(number: int) -> int:
        computed.append(number)
        return 2 * number

    sizes, names = SizedCache(str.__len__, lambda text, size: size, 10), Cache[str, str]()
    names["a"] = "b"
    assert (double(1), double(1), sizes["abc"]) == (2, 2, 3)
    clear_all()
    assert (dict(sizes), sizes.size, dict(names)) == ({}, 0, {})
    assert (double(1), sizes["abc"], sizes.size) == (2, 3, 3)
    assert computed == [1, 1]


def test_lru_keeps_most_recently_used_results() -> None:
    computed: list[int] = []

    @lru(2)
    def double(number: int) -> int:
        computed.append(number)
        return 2 * number

    assert [double(number) for number in (1, 2, 1, 3, 1, 2)] == [2, 4, 2, 6, 2, 4]
    assert computed == [1, 2, 3, 2]


def test_unreferenced_cache_is_collected() -> None:
    names = Cache[str, str]()
    gone = weakref.ref(names)
    del names
    assert gone() is None
    clear_all()


@pytest.mark.parametrize(
    ("find", "key"),
    [
        pytest.param(sse.encode_string, "twelve", id="texts as JSON"),
        pytest.param(language._tally_of, "twelve", id="languages of words"),
    ],
)
def test_clear_all_empties_caches_without_counters(find: Callable[[Any], object], key: object) -> None:
    entries: Cache[Any, object] = find.__self__  # type: ignore[attr-defined]  # a method of the cache
    found = find(key)
    assert entries
    clear_all()
    assert not entries
    assert found == find(key)


class _Scenario:
    """Part of an active scenario."""


def test_cleared_scenario_caches_release_scenario() -> None:
    computed: list[_Scenario] = []

    @scenario_lru
    def find(scenario: _Scenario) -> int:
        computed.append(scenario)
        return len(computed)

    scenario = _Scenario()
    assert [find(scenario), find(scenario)] == [1, 1]
    computed.clear()
    gone = weakref.ref(scenario)
    del scenario
    gc.collect()
    assert gone() is not None
    clear_scenario_caches()
    gc.collect()
    assert gone() is None


async def test_scenario_change_clears_scenario_caches(start: Start) -> None:
    running = await start(vendors=[TOY])
    computed: list[str] = []

    @scenario_lru
    def find(name: str) -> int:
        computed.append(name)
        return len(computed)

    counts = [find("a")]
    for method, path in (
        ("PUT", "scenario"),
        ("POST", "reset"),
        ("PUT", "scenario?session=s"),
        ("DELETE", "sessions/s"),
    ):
        await running.ask("front", f"/_emulator/{path}", b"version: 1\n" if method == "PUT" else None, method=method)
        counts.append(find("a"))
    assert counts == [1, 2, 3, 4, 5]


def test_stats_are_reported_by_name_and_survive_clearing() -> None:
    stats = cache.create_stats("counted by a test")

    @lru(2, stats="a function of a test")
    def double(number: int) -> int:
        return 2 * number

    try:
        stats.hits += 2
        stats.misses += 1
        assert [double(number) for number in (1, 1, 1, 2)] == [2, 2, 2, 4]
        reported = cache.read_stats()
        assert (reported["counted by a test"], reported["a function of a test"]) == ((2, 1), (2, 2))
        assert list(reported) == sorted(reported)
        clear_all()
        assert [double(number) for number in (1, 1)] == [2, 2]
        assert cache.read_stats()["a function of a test"] == (3, 3)
    finally:
        for name in ("counted by a test", "a function of a test"):
            del cache._stats[name]
