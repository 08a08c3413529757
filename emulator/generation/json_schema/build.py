"""Build an instance of a JSON Schema, by search.

The schema is narrowed until no choice is left, a value is written from it, and the value is validated. Where that fails
the next choice is tried.
"""

from collections.abc import Iterator
from functools import partial
from math import inf

from emulator.core.json import JSON, as_array
from emulator.core.rng import derive_key, draw_integer, draw_uniform
from emulator.generation.json_schema.arrays import write_array
from emulator.generation.json_schema.heights import Heights
from emulator.generation.json_schema.merge import absorb
from emulator.generation.json_schema.negation import negations
from emulator.generation.json_schema.numbers import write_number
from emulator.generation.json_schema.objects import narrow_members, write_object
from emulator.generation.json_schema.resolve import Dialect, Node
from emulator.generation.json_schema.shape import STYLES, TYPES, Position, Shape, Style, Undecided
from emulator.generation.json_schema.strings import write_string
from emulator.generation.json_schema.validator import Checker
from emulator.generation.json_schema.values import described, range_for
from emulator.generation.step_budget import StepBudget, Unsatisfiable

Option = tuple[Node, ...]
_MAX_APART = 200  # branches of ``oneOf`` that are kept apart, at quadratic cost


def options(choice: Undecided, key: bytes, strict: bool) -> list[Option]:
    """Return the options of a choice.

    Args:
        strict: keep the options apart: an option of ``oneOf`` also negates the other branches. Costly, and
            seldom needed, as the branches of most schemas exclude one another.
    """
    keyword, node, name = choice
    if keyword == "dependent":
        return _dependent(name, node, key)
    argument = node.keywords[keyword]
    if keyword == "anyOf":
        return _rotate([(node.below(branch),) for branch in as_array(argument) if branch is not False], key)
    if keyword == "oneOf":
        return _one_of(node, as_array(argument), key, strict)
    if keyword == "not":
        return list(negations(node.below(argument)))
    return _conditional(node, argument, key)


def _rotate(found: list[Option], key: bytes) -> list[Option]:
    """Return the options rotated to begin at a drawn one."""
    if len(found) < 2:
        return found
    first = draw_integer(key, len(found), "branch")
    return found[first:] + found[:first]


def _one_of(node: Node, branches: list[JSON], key: bytes, strict: bool) -> list[Option]:
    found: list[Option] = []
    for index, branch in enumerate(branches):
        if branch is False:
            continue
        option: Option = (node.below(branch),)
        if strict and len(branches) <= _MAX_APART:
            others = branches[:index] + branches[index + 1 :]
            option += (node.below({"not": {"anyOf": others}}),)
        found.append(option)
    return _rotate(found, key)


def _conditional(node: Node, condition: JSON, key: bytes) -> list[Option]:
    schema = node.keywords
    if node.dialect <= Dialect.DRAFT_6 or not ("then" in schema or "else" in schema):
        return [()]
    met = (node.below(condition), node.below(schema.get("then", True)))
    unmet = (node.below({"not": condition}), node.below(schema.get("else", True)))
    return _rotate([met, unmet], key)


def _dependent(name: str, below: Node, key: bytes) -> list[Option]:
    """Return two options: omit the property, or include it and satisfy the schema."""
    absent = (below._replace(schema={"properties": {name: False}}),)
    present = (below._replace(schema={"required": [name]}), below)
    return [present, absent] if derive_key(key, name)[0] % 2 else [absent, present]


_MAX_FAILURES = 4  # failures after which branches are kept apart
_RETRIES = 3
_DEEP = 4  # levels; from twice as many on, a value of any type is a scalar


class Builder:
    """Builder of one instance of ``root``: a :class:`~emulator.generation.json_schema.shape.Solver`.

    Attributes:
        members: number of values begun so far; beyond the style's maximum only required parts are built.
        reason: why the first value could not be built, for the message if none can.
    """

    def __init__(self, root: Node, style: Style, budget: StepBudget, checker: Checker) -> None:
        self.root = root
        self.style = style
        self.budget = budget
        self.checker = checker
        self.heights = Heights(budget)
        self.members = 0
        self.reason = ""

    def frugal(self, place: Position) -> bool:
        return place.spare or place.depth > self.style.deepest or self.members > self.style.members

    def solve(self, nodes: tuple[Node, ...], place: Position) -> JSON:
        self.members += 1
        self.budget.descend(place.depth)
        if self.heights.of(nodes) == inf:
            raise Unsatisfiable("every instance would be endless")
        shape = Shape()
        for node in nodes:
            absorb(shape, node, self.budget)
        for strict in (False, True):
            failures = 0
            lax = False
            for settled in self._settled(shape, place, strict):
                for value in self._values(settled, nodes, place):
                    return value
                lax = lax or settled.lax
                failures += 1
                if failures >= _MAX_FAILURES and not strict:
                    break
            if not lax and failures < _MAX_FAILURES:
                break
        raise Unsatisfiable(self.reason or _refusal(place))

    def _settled(self, shape: Shape, place: Position, strict: bool) -> Iterator[Shape]:
        """Yield shapes in which every choice is decided; ``strict``: a branch of ``oneOf`` excludes its siblings."""
        self.budget.spend()
        if shape.empty:
            return
        if shape.values is not None or not shape.choices:
            yield shape
            return
        index = next((i for i, choice in enumerate(shape.choices) if choice.keyword == "not"), 0)
        choice = shape.choices[index]
        found = options(choice, derive_key(place.key, len(shape.seen)), strict)
        if len(found) > 1 and self.frugal(place):
            found.sort(key=self.heights.of)
        for option in found:
            narrowed = shape.copy()
            del narrowed.choices[index]
            narrowed.lax = narrowed.lax or (choice.keyword == "oneOf" and not strict)
            for node in option:
                absorb(narrowed, node, self.budget)
            if narrowed.choices:
                narrow_members(narrowed, self.budget)
            yield from self._settled(narrowed, place, strict)

    def _values(self, shape: Shape, nodes: tuple[Node, ...], place: Position) -> Iterator[JSON]:
        """Yield instances of the nodes that have the shape."""
        if shape.values is not None:
            yield from self._listed(shape.values, nodes, place)
            return
        if self.style.hints:
            yield from self._hinted(shape, nodes, place)
        yield from self._written(shape, nodes, place)

    def _written(self, shape: Shape, nodes: tuple[Node, ...], place: Position) -> Iterator[JSON]:
        """Yield values generated for the shape; several attempts per type where a value may fail validation."""
        for kind in self._kinds(shape, place):
            attempts = (_RETRIES + 16 * bool(shape.exclusions)) if shape.delicate else 1
            for attempt in range(attempts):
                size = self.budget.size
                at = (
                    place._replace(key=derive_key(place.key, attempt), spare=attempt == attempts - 1)
                    if attempt
                    else place
                )
                grown = max(0, attempt - _RETRIES) // 2 if attempt % 2 else 0
                wanted = shape.larger(grown) if grown else shape
                try:
                    value = (self._write if attempt <= _RETRIES else self._write_freely)(kind, wanted, at)
                except Unsatisfiable as error:
                    self.reason = self.reason or str(error)
                    self.budget.size = size
                    if grown:
                        continue
                    break
                if not shape.delicate or self.checker.all_valid(nodes, value):
                    yield value
                self.budget.size = size

    def _listed(self, values: list[JSON], nodes: tuple[Node, ...], place: Position) -> Iterator[JSON]:
        first = draw_integer(place.key, len(values), "listed") if values else 0
        for value in values[first:] + values[:first]:
            if self.checker.all_valid(nodes, value):
                self.budget.fill(len(str(value)))
                yield value

    def _hinted(self, shape: Shape, nodes: tuple[Node, ...], place: Position) -> Iterator[JSON]:
        """Yield the schema's own ``examples`` and ``default``."""
        for note in shape.notes:
            examples = note.get("examples")
            hints = list(examples) if isinstance(examples, list) else []
            hints += [note[word] for word in ("example", "default") if word in note]
            hints += described(note.get("description"))
            hints = [hint for hint in hints if isinstance(hint, str | int | float) and hint != ""]
            if hints and draw_uniform(place.key, "hint") < 0.7:
                yield from self._listed(hints, nodes, place)

    def _kinds(self, shape: Shape, place: Position) -> list[str]:
        """Return the types to try, the most likely first."""
        kinds = [kind for kind in TYPES if kind in shape.types]
        if len(kinds) == len(TYPES):
            deep = place.depth > 2 * _DEEP
            kinds.sort(key=lambda kind: kind in ("object", "array") if deep else -_evidence(shape, kind))
        elif len(kinds) > 2 or (len(kinds) == 2 and "null" in kinds):
            spoken = [kind for kind in kinds if kind != "null"]
            if derive_key(place.key, "type")[0] < 26:
                return ["null"] * ("null" in kinds) + spoken
        if {"integer", "fraction"} <= set(kinds) and not shape.multiples and kinds[0] == "integer":
            kinds.remove("fraction")
            kinds.insert(0, "fraction")
        return kinds

    def _write(self, kind: str, shape: Shape, place: Position) -> JSON:
        if kind == "object":
            return write_object(self, shape, place)
        if kind == "array":
            return write_array(self, shape, place)
        self.budget.fill(6)
        if kind == "null":
            return None
        if kind == "boolean":
            return derive_key(place.key, "boolean")[0] % 2 == 0
        value = self._write_string(shape, place) if kind == "string" else self._write_number(kind, shape, place)
        if value is None:
            raise Unsatisfiable(_refusal(place))
        return value

    def _write_string(self, shape: Shape, place: Position) -> str | None:
        return write_string(shape, place.name, place.key, self.style, self.budget)

    def _write_number(self, kind: str, shape: Shape, place: Position) -> int | float | None:
        wanted = range_for(place.name)
        fits = partial(self._not_excluded, shape.exclusions)
        return write_number(kind, shape.interval, shape.multiples, place.key, self.style, wanted, fits)

    def _write_freely(self, kind: str, shape: Shape, place: Position) -> JSON:
        """Write a value in the typical style, where values at the bounds have failed."""
        style, self.style = self.style, STYLES["typical"]
        try:
            return self._write(kind, shape, place)
        finally:
            self.style = style

    def _not_excluded(self, exclusions: list[Node], value: JSON) -> bool:
        return not any(self.checker.valid(node, value) for node in exclusions)


def _refusal(place: Position) -> str:
    return f"no value of {place.name!r} meets all that is asked" if place.name else "no value meets all that is asked"


def _evidence(shape: Shape, kind: str) -> int:
    """Return how strongly the keywords of a schema without ``type`` suggest a type."""
    found = {
        "object": len(shape.members) + len(shape.required) + len(shape.names) + len(shape.dependent)
        + (shape.member_count != (0, None)) + len(shape.unevaluated_members),
        "array": len(shape.items) + len(shape.contains) + shape.unique + (shape.item_count != (0, None)),
        "string": len(shape.patterns) + len(shape.formats) + (shape.length != (0, None)),
        "integer": bool(shape.multiples) + any(bound is not None for bound in shape.interval[:2]),
        "fraction": 0, "boolean": 0, "null": 0,
    }  # fmt: skip
    return found[kind] * 2 + (kind == "string")
