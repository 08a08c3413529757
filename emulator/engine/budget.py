"""How much work one instance may cost, counted in steps so that the same schema always ends the same way."""


class Unsatisfiable(ValueError):
    """No instance of the schema exists, or none was found within the bound; the message says which."""


class Exhausted(ValueError):
    """The bound of steps was reached: whether an instance exists is not known, and no further try is made."""


_UNITS = 50  # of a step; the least that is counted
_DEEPEST = 96  # levels of nesting, of the instance or of references


class Budget:
    """What is left to spend on one instance.

    Args:
        steps: schemas looked at, in building or in checking.
        size: characters of JSON text, roughly.
    """

    __slots__ = ("size", "units")

    def __init__(self, steps: int = 30_000, size: int = 65_536) -> None:
        self.units = steps * _UNITS
        self.size = size

    def spend(self, units: int = _UNITS) -> None:
        """Count one step, or parts of it."""
        self.units -= units
        if self.units < 0:
            raise Exhausted("no instance found within the bound of steps")

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
