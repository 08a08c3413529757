"""When to look for garbage: never where everybody would wait for it."""

import gc
from collections.abc import Callable

_YOUNG = 20_000  # objects that came and stayed until they are looked through, once
_NEVER = 1_000_000  # looking through all takes a second at ten thousand streams: :class:`Garbage` says when
_QUIET, _OVERDUE = 15, 150  # times that objects were looked through since; each stands for twenty thousand


def begin() -> None:
    """What was made before the first request lives as long as the process; what comes is looked at from now on."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)
    gc.enable()


class Garbage:
    """Looks through everything once nobody is being answered, or if that has not been so for very long."""

    def __init__(
        self,
        is_busy: Callable[[], bool],
        count: Callable[[], int] | None = None,
        collect: Callable[[], int] = gc.collect,
    ) -> None:
        self._is_busy = is_busy
        self._count = count or _count
        self._collect = collect

    def tidy(self) -> None:
        """Look through everything, if it is time."""
        if self._count() >= (_OVERDUE if self._is_busy() else _QUIET):
            self._collect()


def _count() -> int:
    """How often those that came were looked through since all were."""
    return gc.get_count()[1]
