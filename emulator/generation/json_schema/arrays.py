"""Generate a JSON array that satisfies a shape (``shape.py``): item schemas, item counts, ``contains``, uniqueness."""

from emulator.core.json import JSON
from emulator.core.rng import derive_key, draw_integer
from emulator.generation.json_schema.equality import identity
from emulator.generation.json_schema.keywords import constrains_rest, positional
from emulator.generation.json_schema.resolve import Node
from emulator.generation.json_schema.shape import Position, Shape, Solver
from emulator.generation.json_schema.values import singular
from emulator.generation.step_budget import Unsatisfiable

_MAX_TURNS = 8  # maximum of ways to place the items that ``contains`` requires


def write_array(solver: Solver, shape: Shape, place: Position) -> JSON:
    """Generate an array of the shape.

    Raises:
        Unsatisfiable: none was found.
    """
    low, high = _lengths(shape)
    reason = "no array has room for all it must contain"  # its text: the error would keep this frame alive
    for count in _counts(solver, shape, place, low, high):
        for turn in range(max(1, 2 * min(count, _MAX_TURNS)) if shape.contains else 1):
            size = solver.budget.size
            try:
                return _write_items(solver, shape, place, count, turn)
            except Unsatisfiable as error:
                reason = str(error)
                solver.budget.size = size
    raise Unsatisfiable(reason)


def _write_items(solver: Solver, shape: Shape, place: Position, count: int, turn: int) -> JSON:
    wanted = _place_contained(shape, count, turn)
    items: list[JSON] = []
    seen: list[JSON] = []
    known: set[object] = set()
    for index in range(count):
        if shape.twins and index == 1:
            items.append(items[0])
            continue
        nodes = item_nodes(shape, index, index in wanted) + tuple(wanted.get(index, ()))
        if shape.twins and index == 0:
            nodes += item_nodes(shape, 1)
        try:
            item = _item(solver, shape, nodes, place, index, seen, known)
        except Unsatisfiable:
            if index < shape.item_count.low or wanted:
                raise
            break
        items.append(item)
        solver.budget.fill(2)
        if shape.unique:
            seen.append(item)
            known.add(identity(item))
    return items


def _item(solver: Solver, shape: Shape, nodes: tuple[Node, ...], place: Position, index: int, seen: list[JSON],
          known: set[object]) -> JSON:  # fmt: skip
    below = place.below(index, singular(place.name))
    item = solver.solve(nodes, below)
    if shape.unique and identity(item) in known:
        other = Node({"not": {"enum": list(seen)}}, solver.root.path)
        item = solver.solve((*nodes, other), below)
    return item


def _lengths(shape: Shape) -> tuple[int, int | None]:
    low, high = shape.item_count
    if shape.unevaluated_items and any(node.schema is False for node in shape.unevaluated_items):
        known = _count_evaluated(shape)
        if known is not None:
            high = known if high is None else min(high, known)
    if high is not None and low > high:
        raise Unsatisfiable("no array can have so many items and so few")
    return low, high


def _count_evaluated(shape: Shape) -> int | None:
    """Return the number of items that the schemas evaluate; ``None``: no maximum."""
    if any(c.evaluates and c.high is None for c in shape.contains):
        return None
    if any(constrains_rest(node.keywords) for node in shape.items):
        return None
    return max(_longest(shape), max((c.high or c.low for c in shape.contains), default=0))


def _longest(shape: Shape) -> int:
    """Return how many leading items have schemas of their own."""
    return max((len(positional(node.keywords)[0]) for node in shape.items), default=0)


def _counts(solver: Solver, shape: Shape, place: Position, low: int, high: int | None) -> dict[int, None]:
    """Return the item counts to try: the drawn one, the one that ``contains`` needs, the minimum."""
    wanted = _count(solver, shape, place, low, high)
    if not shape.contains:
        return {wanted: None, low: None}
    roomy = _longest(shape) + sum(c.low for c in shape.contains)
    return {wanted: None, roomy if high is None else min(roomy, high): None, low: None}


def _count(solver: Solver, shape: Shape, place: Position, low: int, high: int | None) -> int:
    style = solver.style
    solver.budget.fill(2 * low)
    if not style.items or solver.frugal(place):
        return low
    if style.extreme and high is not None and high <= 64 and derive_key(place.key, "full")[0] % 2:
        return high
    count = max(low, _longest(shape), low + draw_integer(place.key, style.items + 1, "items"))
    if low == 0 and count == 0 and style.hints:
        count = 1
    return count if high is None else min(count, high)


def item_nodes(shape: Shape, index: int, contained: bool = False) -> tuple[Node, ...]:
    """Return every schema that applies to the item at ``index``.

    Args:
        contained: the item is one of those that ``contains`` requires.
    """
    found = []
    spoken = contained and all(c.evaluates and c.high is None for c in shape.contains)
    for node in shape.items:
        first, rest = positional(node.keywords)
        below = first[index] if index < len(first) else rest
        spoken = spoken or index < len(first) or "items" in node.keywords
        if below is not True:
            found.append(node.below(below))
    if not spoken and shape.unevaluated_items:
        found += [n for n in shape.unevaluated_items if n.schema is not False]
        found += [c.node for c in shape.contains[:1] if c.evaluates and len(found) == 0]
    return tuple(found)


def _place_contained(shape: Shape, count: int, turn: int) -> dict[int, list[Node]]:
    """Return the schemas of ``contains`` by item index: from the last item back, an index again once all are taken.

    Args:
        turn: number of the attempt, as schemas of one index may conflict: moves all of them forward by this many
            items; from ``count`` on every ``contains`` begins at the same item.
    """
    wanted: dict[int, list[Node]] = {}
    free = count - turn % max(count, 1)
    for node, low, high, _ in shape.contains:
        free = count - turn % count if turn >= count > 0 else free
        taken = set()
        for _ in range(min(low, count)):
            free = free - 1 if free > 0 else count - 1
            taken.add(free)
            wanted.setdefault(free, []).append(node)
        if high is not None:
            for index in set(range(count)) - taken if count > high else ():
                wanted.setdefault(index, []).append(node._replace(schema={"not": node.schema}))
    return wanted
