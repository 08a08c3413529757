"""Budget of steps and size for one generated JSON instance; counting steps keeps the outcome deterministic.

``json_schema/`` and ``regex/`` take their steps from it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module


class Unsatisfiable(ValueError):
    """No instance of the schema exists, or none was found within the budget; the message states which."""


class Exhausted(ValueError):
    """The budget of steps is spent; it is unknown whether an instance exists."""


class TooLong(Exception):
    """The work takes too long for :func:`quick`; repeat it outside of that context."""


_MAX_QUICK_STEPS = 300  # steps of a quick try, some milliseconds
_READING = 25  # units a character of a pattern
_UNITS = 50  # of a step; the least that is counted
_MAX_DEPTH = 96  # levels of nesting, of the instance or of references


_hurried: ContextVar[bool] = ContextVar("hurried", default=False)


@contextmanager
def quick() -> Iterator[None]:
    """Raise :class:`TooLong` for slow work within the context."""
    token = _hurried.set(True)
    try:
        yield
    finally:
        _hurried.reset(token)


_loaded: set[str] = set()


def load(module: str) -> None:
    """Import a module that is slow to import.

    Raises:
        TooLong: the module is not imported yet, within :func:`quick`.
    """
    if module not in _loaded:
        if _hurried.get():
            raise TooLong()
        import_module(module)
        _loaded.add(module)


class StepBudget:
    """Remaining budget of one instance.

    Args:
        steps: schemas visited, in building or in validating.
        size: characters of JSON text, roughly.
    """

    __slots__ = ("_floor", "_once", "size", "units")

    def __init__(self, steps: int = 30_000, size: int = 65_536) -> None:
        self.units = steps * _UNITS
        self.size = size
        self._floor = max(0, self.units - _MAX_QUICK_STEPS * _UNITS) if _hurried.get() else 0
        self._once: set[str] = set()

    def spend(self, units: int = _UNITS) -> None:
        """Count one step, or a fraction of it."""
        self.units -= units
        if self.units < self._floor:
            raise Exhausted("no instance found within the bound of steps") if self.units < 0 else TooLong()

    def spend_once(self, pattern: str) -> None:
        """Count the cost of parsing a pattern, once per pattern."""
        if pattern not in self._once:
            self._once.add(pattern)
            self.spend(_READING * len(pattern))

    def fill(self, size: int) -> None:
        """Count ``size`` more characters of the instance, before they are generated.

        Raises:
            Unsatisfiable: the size is exceeded; a smaller value may still fit.
        """
        if size > self.size:
            raise Unsatisfiable("no instance found within the bound of size")
        self.size -= size

    def descend(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise Unsatisfiable("no instance found within the bound of depth")
