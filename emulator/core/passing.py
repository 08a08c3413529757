"""What was found out once of a scenario at work, and is forgotten with it.

A cache that went on would hold on to each scenario there ever was, until it is full of what nobody asks for.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_MOST = 1024  # results of one function

_clears: list[Callable[[], None]] = []


def remember_meanwhile(find: Callable[P, T]) -> Callable[P, T]:
    """Remember what a function finds, until another scenario is at work."""
    remembered = lru_cache(maxsize=_MOST)(find)
    forget_with_world(remembered.cache_clear)
    return remembered  # type: ignore[return-value]  # a cache takes whatever is hashable


def forget_with_world(clear: Callable[[], None]) -> None:
    """Have this called once another scenario is at work."""
    _clears.append(clear)


def forget_worlds() -> None:
    """Another scenario is at work, the server's or a session's; what still is at work is soon found out again."""
    for clear in _clears:
        clear()
