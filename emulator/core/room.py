"""What was found out of texts and the like, kept as long as there is room for all of it."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Roomy(dict[K, T], Generic[K, T]):
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
