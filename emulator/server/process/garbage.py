"""When to look for garbage: never where everybody would wait for it."""

import gc
from collections.abc import Callable

_YOUNG = 20_000  # objects that came and stayed until they are looked through, once
_NEVER = 1_000_000  # looking through all takes a second at ten thousand streams: :class:`Garbage` says when
_QUIET, _OVERDUE = 15, 40  # times that young ones were looked through since


def begin() -> None:
    """What was made before the first request lives as long as the process; what comes is looked at from now on."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)
    gc.enable()


class Garbage:
    """Looks through everything once nobody is being answered, or when as many came as there are, and very many.

    So the work stays in proportion to what is made, and memory to what is in use.
    """

    def __init__(
        self,
        is_busy: Callable[[], bool],
        count: Callable[[], int] | None = None,
        collect: Callable[[], int] | None = None,
    ) -> None:
        self._is_busy = is_busy
        self._count = count or _count
        self._collect = collect or _collect
        self._stayed = 0

    def tidy(self) -> None:
        """Look through everything, if it is time."""
        if self._count() >= (max(_OVERDUE, self._stayed // _YOUNG) if self._is_busy() else _QUIET):
            self._stayed = self._collect()


def _count() -> int:
    """How often those that came were looked through since all were."""
    return gc.get_count()[1]


def _collect() -> int:
    """Look through everything; how many objects stay."""
    gc.collect()
    return len(gc.get_objects(generation=2))
