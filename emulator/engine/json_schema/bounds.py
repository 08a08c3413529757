"""How much work one instance may cost, counted in steps so that the same schema always ends the same way."""

from dataclasses import dataclass


class Unsatisfiable(ValueError):
    """No instance of the schema exists, or none was found within the bound; the message says which."""


class Exhausted(Unsatisfiable):
    """The bound was reached: whether an instance exists is not known."""


@dataclass(slots=True)
class Budget:
    """What is left to spend on one instance.

    Fields:
        steps: schemas looked at, in building or in checking.
        size: characters of JSON text, roughly.
        depth: most levels of nesting, of the instance or of references.
    """

    steps: int = 30_000
    size: int = 65_536
    depth: int = 96

    def spend(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Exhausted("no instance found within the bound of steps")

    def fill(self, size: int) -> None:
        """Count ``size`` more characters of the instance, before they are made."""
        self.size -= size
        if self.size < 0:
            raise Exhausted("no instance found within the bound of size")

    def descend(self, depth: int) -> None:
        if depth > self.depth:
            raise Exhausted("no instance found within the bound of depth")
