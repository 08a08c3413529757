"""Generate and validate instances of JSON Schemas, deterministically by key.

Structured answers, tool arguments and ``emulator instance`` come from here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from emulator.core.json import JSON
from emulator.core.rng import derive_key
from emulator.generation.json_schema.build import Builder
from emulator.generation.json_schema.invalid import Invalid, break_one
from emulator.generation.json_schema.resolve import Node, root_node
from emulator.generation.json_schema.shape import STYLES, Mode, Position
from emulator.generation.json_schema.subschemas import NotASchema
from emulator.generation.json_schema.validator import Checker
from emulator.generation.regex.parse import BadPattern
from emulator.generation.step_budget import Exhausted, StepBudget, Unsatisfiable

__all__ = ["Invalid", "Mode", "Unsatisfiable", "generate", "generate_invalid", "is_instance"]

_MAX_STEPS = 6_000  # maximum of schemas visited, about ten microseconds each


def generate(schema: JSON, key: bytes, *, mode: Mode = "typical") -> JSON:
    """Generate an instance of ``schema``, drawn by ``key``.

    Args:
        mode: ``typical`` resembles real data, ``minimal`` has only required parts, ``boundary`` uses extreme values,
            ``adversarial`` is valid but hard to parse naively; ``invalid`` breaks exactly one rule.

    Raises:
        Unsatisfiable: there is no instance, or none was found within the budget.
    """
    if mode == "invalid":
        return generate_invalid(schema, key).instance
    with _refusing():
        return _build(root_node(schema), key, mode, StepBudget(_MAX_STEPS))[1]


def generate_invalid(schema: JSON, key: bytes) -> Invalid:
    """Generate an instance that breaks exactly one rule; return it with the rule's keyword and location.

    Raises:
        Unsatisfiable: none was found, such as when every value is an instance.
    """
    with _refusing():
        budget, root = StepBudget(_MAX_STEPS), root_node(schema)
        for attempt, mode in enumerate(_BROKEN):
            builder, instance = _build(root, derive_key(key, attempt), mode, budget)
            try:
                return break_one(builder, instance, key)
            except Unsatisfiable:
                continue
        raise Unsatisfiable("no instance found that breaks just one rule")


_BROKEN: tuple[Mode, ...] = ("typical", "minimal", "typical", "adversarial")


def is_instance(schema: JSON, value: JSON) -> bool:
    """Return whether ``value`` is an instance of ``schema``, formats included.

    Raises:
        Unsatisfiable: the schema is invalid, or validation exceeds the budget.
    """
    with _refusing():
        return Checker(StepBudget(4 * _MAX_STEPS)).valid(root_node(schema), value)


def _build(root: Node, key: bytes, mode: Mode, budget: StepBudget) -> tuple[Builder, JSON]:
    """Build an instance; where none satisfies its formats too, as with enumerated values, ignore formats."""
    reason = "no instance found that meets all that is asked"  # its text: the error would keep this frame alive
    checker = Checker(budget)
    for assert_formats in (True, False):
        checker.assert_formats = assert_formats
        builder = Builder(root, STYLES[mode], budget, checker)
        try:
            value = builder.solve((root,), Position(derive_key(key, mode)))
        except Unsatisfiable as error:
            reason = str(error)
            continue
        if checker.valid(root, value):
            return builder, value
    raise Unsatisfiable(reason)


@contextmanager
def _refusing() -> Iterator[None]:
    """Convert every error about a schema to :class:`Unsatisfiable`; any other exception is an internal error."""
    try:
        yield
    except RecursionError:
        raise Unsatisfiable("no instance found within the bound of depth") from None
    except (NotASchema, BadPattern, Exhausted) as error:
        raise Unsatisfiable(str(error)) from None
