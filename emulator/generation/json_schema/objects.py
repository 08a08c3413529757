"""Generate a JSON object that satisfies a shape (``shape.py``).

It has the required members, optional ones, and further ones up to the least number.
"""

from collections.abc import Iterator

from emulator.core.json import JSON, Object, as_text
from emulator.core.rng import derive_key, draw_uniform
from emulator.generation.json_schema.keywords import named
from emulator.generation.json_schema.merge import absorb
from emulator.generation.json_schema.resolve import Node
from emulator.generation.json_schema.shape import Position, Shape, Solver
from emulator.generation.regex.match import matches
from emulator.generation.step_budget import StepBudget, Unsatisfiable

_NAMES = ("name", "value", "label", "note", "kind", "other", "extra", "detail")

_MEAN_OPTIONAL = 150  # mean of optional properties in one object


def write_object(solver: Solver, shape: Shape, place: Position) -> Object:
    """Generate an object of the shape.

    Raises:
        Unsatisfiable: none was found.
    """
    low, high = shape.member_count
    solver.budget.fill(2 * low)
    needed = _closed(shape, list(dict.fromkeys(shape.required)), solver.budget)
    if high is not None and len(needed) > high:
        raise Unsatisfiable("more properties are required than are allowed")
    chosen = dict.fromkeys(needed)
    _add_optional(solver, shape, place, chosen, high)
    built: Object = {}
    for name in _in_order(shape, chosen):
        try:
            built[name] = _member(solver, shape, place, name)
        except Unsatisfiable:
            if name in needed:
                raise
    _fill(solver, shape, place, built, low)
    return {name: built[name] for name in built if name in needed or _stays(shape, built, name, solver.budget)}


def _member(solver: Solver, shape: Shape, place: Position, name: str) -> JSON:
    nodes = member_nodes(shape, name, solver.budget)
    if nodes is None or not solver.checker.all_valid(tuple(shape.names), name):
        raise Unsatisfiable(f"the property {name!r} is not allowed")
    solver.budget.fill(len(name) + 6)
    return solver.solve(nodes, place.below(name, name))


def member_nodes(shape: Shape, name: str, budget: StepBudget) -> tuple[Node, ...] | None:
    """Return every schema that applies to the property, or ``None`` if one forbids it."""
    found: list[Node] = []
    spoken = False
    budget.spend(2 * len(shape.members))
    for node in shape.members:
        schema = node.keywords
        members = named(schema, "properties")
        below = [members[name]] if name in members else []
        below += [s for pattern, s in named(schema, "patternProperties").items() if matches(pattern, name, budget)]
        if not below and "additionalProperties" in schema:
            below = [schema["additionalProperties"]]
        spoken = spoken or bool(below)
        if any(s is False for s in below):
            return None
        found += [node.below(s) for s in below if s is not True]
    if not spoken:
        found += shape.unevaluated_members
    return None if any(node.schema is False for node in found) else tuple(found)


def narrow_members(shape: Shape, budget: StepBudget) -> None:
    """Exclude objects if the schemas of a required property conflict.

    An early test spares the search through every remaining choice.
    """
    if "object" not in shape.types:
        return
    for name in shape.required:
        nodes = member_nodes(shape, name, budget)
        merged = Shape()
        for node in nodes or ():
            absorb(merged, node, budget)
        if nodes is None or merged.empty:
            shape.types -= {"object"}
            return


def _closed(shape: Shape, names: list[str], budget: StepBudget) -> list[str]:
    """Return the names with every property that they require through ``dependentRequired``."""
    if not shape.dependent:
        return names
    found = dict.fromkeys(names)
    for name in (pending := list(names)):
        budget.spend(len(shape.dependent) // 2)
        for trigger, needed in shape.dependent:
            if trigger == name:
                pending.extend(n for n in needed if n not in found)
                found.update(dict.fromkeys(needed))
    return list(found)


def _stays(shape: Shape, built: Object, name: str, budget: StepBudget) -> bool:
    return all(other in built for other in _closed(shape, [name], budget))


def _add_optional(solver: Solver, shape: Shape, place: Position, chosen: dict[str, None], high: int | None) -> None:
    if not solver.style.optional or solver.frugal(place):
        return
    names = [name for name in _declared(shape) if name not in chosen]
    share = solver.style.optional
    if solver.style.extreme:
        share = float(derive_key(place.key, "all")[0] % 2)
    elif not solver.style.hostile:
        share = min(share, 8 / max(1, len(names)))
    share = min(share, _MEAN_OPTIONAL / max(1, len(names)))
    for name in names:
        if draw_uniform(place.key, "optional", name) < share:
            more = [n for n in _closed(shape, [name], solver.budget) if n not in chosen]
            fits = high is None or len(chosen) + len(more) <= high
            if fits and member_nodes(shape, name, solver.budget) is not None:
                chosen.update(dict.fromkeys(more))


def _declared(shape: Shape) -> dict[str, None]:
    names: dict[str, None] = {}
    for node in shape.members:
        names.update(dict.fromkeys(named(node.keywords, "properties")))
    return names


def _in_order(shape: Shape, chosen: dict[str, None]) -> list[str]:
    declared = [name for name in _declared(shape) if name in chosen]
    return declared + [name for name in chosen if name not in declared]


def _fill(solver: Solver, shape: Shape, place: Position, built: Object, low: int) -> None:
    """Add properties until the object has ``low``."""
    if len(built) >= low and not _lonely(solver, shape, place, built):
        return
    goal, high = max(low, len(built) + 1), shape.member_count.high
    for name in _possible_names(solver, shape, place):
        if len(built) >= goal:
            return
        more = [n for n in _closed(shape, [name], solver.budget) if n not in built]
        if high is not None and len(built) + len(more) > high:
            continue
        try:
            built.update({n: _member(solver, shape, place, n) for n in more})
        except Unsatisfiable:
            continue
    if len(built) < low:
        raise Unsatisfiable(f"no {low} properties found")


def _lonely(solver: Solver, shape: Shape, place: Position, built: Object) -> bool:
    """Return whether the object is an empty map, which one entry makes more realistic."""
    if built or not solver.style.hints or solver.frugal(place) or shape.member_count.high == 0:
        return False
    return any(
        isinstance(node.keywords.get("additionalProperties"), dict) or named(node.keywords, "patternProperties")
        for node in shape.members
    )


def _possible_names(solver: Solver, shape: Shape, place: Position) -> Iterator[str]:
    """Yield names to add, the most likely first."""
    yield from _declared(shape)
    for node in shape.members:
        for pattern in named(node.keywords, "patternProperties"):
            yield from _drawn_names(solver, shape, place, pattern)
    if not any(n.keywords.get("additionalProperties") is False for n in shape.members):
        if not shape.names:
            yield from _NAMES
            yield from (f"{_NAMES[i % 8]}{i // 8 + 1}" for i in range(shape.member_count.low + 8))
        yield from _drawn_names(solver, shape, place, "")


def _drawn_names(solver: Solver, shape: Shape, place: Position, pattern: str) -> Iterator[str]:
    """Yield different allowed names that match a pattern."""
    asked = Node({"type": "string", "pattern": pattern} if pattern else {"type": "string"}, solver.root.path)
    found: list[str] = []
    for attempt in range(4 + shape.member_count.low):
        other = Node({"not": {"enum": list(found)}}, solver.root.path)
        try:
            name = as_text(solver.solve((asked, *shape.names, other), place.below(f"{pattern} {attempt}", "")))
        except Unsatisfiable:
            return
        found.append(name)
        yield name
