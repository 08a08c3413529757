"""What caches found and missed."""

from functools import lru_cache

from emulator.core import cache


def test_what_is_counted_is_told_by_name() -> None:
    kept = cache.create_stats("kept by a test")

    @lru_cache(maxsize=2)
    def double(number: int) -> int:
        return 2 * number

    clear = cache.watch_cache("a function of a test", double)
    try:
        kept.hits += 2
        kept.misses += 1
        assert [double(number) for number in (1, 1, 1, 2)] == [2, 2, 2, 4]
        told = cache.read_stats()
        assert (told["kept by a test"], told["a function of a test"]) == ((2, 1), (2, 2))
        assert list(told) == sorted(told)
        clear()
        assert [double(number) for number in (1, 1)] == [2, 2]
        assert cache.read_stats()["a function of a test"] == (3, 3)  # what it counted before is not lost
    finally:
        for name in ("kept by a test", "a function of a test"):
            del cache._caches[name]
