"""How much work one instance may cost, counted in steps so that the same schema always ends the same way."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module


class Unsatisfiable(ValueError):
    """No instance of the schema exists, or none was found within the bound; the message says which."""


class Exhausted(ValueError):
    """The bound of steps was reached: whether an instance exists is not known, and no further try is made."""


class TooLong(Exception):
    """It takes longer than a quick try may; the same again without haste gives what there is."""


_QUICK = 300  # steps of a quick try, some milliseconds
_READING = 25  # units a character of a pattern
_UNITS = 50  # of a step; the least that is counted
_DEEPEST = 96  # levels of nesting, of the instance or of references


_hurried: ContextVar[bool] = ContextVar("hurried", default=False)


@contextmanager
def quick() -> Iterator[None]:
    """Meanwhile what takes long is given up by :class:`TooLong`, whatever would come of it."""
    token = _hurried.set(True)
    try:
        yield
    finally:
        _hurried.reset(token)


_loaded: set[str] = set()


def load(module: str) -> None:
    """Import what is slow to import, before it is first wanted.

    Raises:
        TooLong: it is not imported yet, and this is a quick try.
    """
    if module not in _loaded:
        if _hurried.get():
            raise TooLong()
        import_module(module)
        _loaded.add(module)


class Budget:
    """What is left to spend on one instance.

    Args:
        steps: schemas looked at, in building or in checking.
        size: characters of JSON text, roughly.
    """

    __slots__ = ("_floor", "_once", "size", "units")

    def __init__(self, steps: int = 30_000, size: int = 65_536) -> None:
        self.units = steps * _UNITS
        self.size = size
        self._floor = max(0, self.units - _QUICK * _UNITS) if _hurried.get() else 0
        self._once: set[str] = set()

    def spend(self, units: int = _UNITS) -> None:
        """Count one step, or parts of it."""
        self.units -= units
        if self.units < self._floor:
            raise Exhausted("no instance found within the bound of steps") if self.units < 0 else TooLong()

    def spend_once(self, pattern: str) -> None:
        """Count what it takes to read a pattern, the first time it is needed."""
        if pattern not in self._once:
            self._once.add(pattern)
            self.spend(_READING * len(pattern))

    def fill(self, size: int) -> None:
        """Count ``size`` more characters of the instance, before they are made.

        Raises:
            Unsatisfiable: there is no room for them; something smaller may still do.
        """
        if size > self.size:
            raise Unsatisfiable("no instance found within the bound of size")
        self.size -= size

    def descend(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise Unsatisfiable("no instance found within the bound of depth")
