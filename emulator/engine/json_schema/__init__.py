"""An instance of a JSON Schema: made from the schema, checked against it, the same for the same key."""

from __future__ import annotations

from emulator.core.json import JSON
from emulator.core.seed import derive
from emulator.engine.json_schema.bounds import Budget, Exhausted, Unsatisfiable
from emulator.engine.json_schema.build import Builder, Place
from emulator.engine.json_schema.check import Checker
from emulator.engine.json_schema.regex import BadPattern
from emulator.engine.json_schema.resolve import Node, root_node
from emulator.engine.json_schema.style import STYLES, Mode

__all__ = ["Mode", "Unsatisfiable", "generate", "is_instance"]


def generate(schema: JSON, key: bytes, *, mode: Mode = "typical", steps: int = 30_000, size: int = 65_536) -> JSON:
    """An instance of ``schema``, drawn by ``key``.

    Args:
        mode: ``typical`` reads like data, ``minimal`` has only what is required, ``boundary`` goes to the bounds,
            ``adversarial`` is valid and yet trips careless readers.
        steps: schemas looked at before giving up; the same on every machine.
        size: most characters of the instance's JSON text, roughly.

    Raises:
        Unsatisfiable: there is no instance, or none was found within the bounds.
    """
    try:
        root = root_node(schema)
        value = _build(root, key, mode, Budget(steps, size))
    except BadPattern as error:
        raise Unsatisfiable(str(error)) from None
    except RecursionError:
        raise Exhausted("no instance found within the bound of depth") from None
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, Unsatisfiable):
            raise
        raise Unsatisfiable(f"not a JSON Schema: {error}") from None
    return value


def _build(root: Node, key: bytes, mode: Mode, budget: Budget) -> JSON:
    """Formats are met as far as possible: enumerated values need not be of theirs."""
    checker = Checker(budget)
    for assert_formats in (True, False):
        checker.assert_formats = assert_formats
        builder = Builder(root, STYLES[mode], budget, checker)
        try:
            value = builder.solve((root,), Place(derive(key, mode)))
        except Exhausted:
            raise
        except Unsatisfiable:
            if assert_formats:
                continue
            raise
        if checker.valid(root, value):
            return value
    raise Unsatisfiable("no instance found that meets all that is asked")


def is_instance(schema: JSON, value: JSON, *, steps: int = 1_000_000) -> bool:
    """Whether ``value`` is an instance of ``schema``, formats included."""
    return Checker(Budget(steps)).valid(root_node(schema), value)
