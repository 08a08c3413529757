"""How much is kept of what was found out."""

from collections.abc import Callable
from typing import Any
from weakref import ref

import pytest

from emulator.core.cache import Cache, SizedCache, clear_all, lru
from emulator.encoding import sse
from emulator.generation import language
from emulator.protocols.openai.fast_parse import SAMPLINGS


def test_what_is_known_is_not_found_out_again() -> None:
    asked: list[str] = []

    def measure(text: str) -> int:
        asked.append(text)
        return len(text)

    sizes = SizedCache(measure, lambda text, size: size, 10)
    assert [sizes["abc"], sizes["abc"], sizes["de"]] == [3, 3, 2]
    assert (asked, sizes.held) == (["abc", "de"], 5)


def test_everything_is_forgotten_once_there_is_no_room() -> None:
    sizes = SizedCache(str.__len__, lambda text, size: size, 10)
    for text in ("four", "five!", "six"):
        assert sizes[text] == len(text)
    assert (dict(sizes), sizes.held) == ({"six": 3}, 3)
    sizes.charge(8)
    assert (dict(sizes), sizes.held) == ({}, 8)


def test_everything_that_is_remembered_is_forgotten_together() -> None:
    asked: list[int] = []

    @lru(2)
    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    sizes, names = SizedCache(str.__len__, lambda text, size: size, 10), Cache[str, str]()
    names["a"] = "b"
    assert (double(1), double(1), sizes["abc"]) == (2, 2, 3)
    clear_all()
    assert (dict(sizes), sizes.held, dict(names)) == ({}, 0, {})
    assert (double(1), sizes["abc"], sizes.held) == (2, 3, 3)
    assert asked == [1, 1]


def test_of_results_those_that_were_asked_for_last_are_remembered() -> None:
    asked: list[int] = []

    @lru(2)
    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    assert [double(number) for number in (1, 2, 1, 3, 1, 2)] == [2, 4, 2, 6, 2, 4]
    assert asked == [1, 2, 3, 2]


def test_a_memory_that_nobody_has_any_more_is_gone() -> None:
    memory = Cache[str, str]()
    seen = ref(memory)
    del memory
    assert seen() is None
    clear_all()


@pytest.mark.parametrize(
    ("find", "key"),
    [
        pytest.param(sse.quote, "twelve", id="texts as JSON"),
        pytest.param(language._tally_of, "twelve", id="what words say of a language"),
        pytest.param(SAMPLINGS.__getitem__, 12, id="usual samplings"),
    ],
)
def test_small_things_that_nobody_counts_are_forgotten_too(find: Callable[[Any], object], key: object) -> None:
    known: Cache[Any, object] = find.__self__  # type: ignore[attr-defined]  # a method of it
    found = find(key)
    assert known
    clear_all()
    assert not known
    assert found == find(key)
