"""What was found out of texts and the like, kept as long as there is room for all of it.

Everything is forgotten at a quiet moment after another scenario came (:func:`forget_all`): small things that stay keep
the memory around them from being given back, and after a long time they would lie everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import _lru_cache_wrapper, lru_cache
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_clears: list[Callable[[], None]] = []
_memories: WeakValueDictionary[int, Memory[str, object]] = WeakValueDictionary()


def remember(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Remember so many results of a function, those that were asked for last."""

    def wrap(find: Callable[..., T]) -> _lru_cache_wrapper[T]:
        remembered = lru_cache(maxsize=most)(find)
        forget_with_all(remembered.cache_clear)
        return remembered

    return wrap


def forget_with_all(clear: Callable[[], None]) -> None:
    """Have this called whenever everything is forgotten."""
    _clears.append(clear)


def forget_all() -> None:
    """Nobody waits, and it is soon found out again."""
    for clear in _clears:
        clear()
    for memory in [*_memories.values()]:
        memory.clear()


class Memory(dict[K, T], Generic[K, T]):
    """What can be found out again."""

    def __init__(self) -> None:
        super().__init__()
        _memories[id(self)] = self  # type: ignore[assignment]  # whatever it remembers


class Roomy(Memory[K, T]):
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
