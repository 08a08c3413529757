"""Plan a sweep: which cells share one run of the command, and which runs the outcomes of others make unnecessary.

A cell is a class of calls, a fault and its position; ``cells.py`` lists them.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from emulator.sweep.calls import CallClass
from emulator.sweep.cells import BEFORE_HEAD, KINDS, UNNOTICEABLE, Cell, join_cells, list_cells
from emulator.sweep.probe import Answer

Key = tuple[str, str, str]
Group = Sequence[Cell]
"""Cells that give the client the same bytes; the first is run."""
Probe = Callable[[CallClass, Sequence[Cell]], Answer]
"""Returns the answer to the sample of a class, with the fault of a cell or without one."""
_LINES = ("disconnect", "truncate", "late_error", "hang", "stall", "drip")
_BODY_LINES = frozenset({"truncate", "hang"})  # a whole body is of no use before its end
_SAME_BYTES = frozenset({"split", "drip"})  # other writes alone
_ERRORS = frozenset({*KINDS, "status"})
_PASSING = frozenset({408, 429})  # like the statuses from 500 these may pass
_ENDS = frozenset({"finish_reason", "done"})  # a stream without them may have been cut
_REFUSALS, _FAILURES = "refusals", "failures"
_HARMLESS, _DROPS = "every harmless fault", "every drop"
SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Unit:
    """Groups of cells, of which some are run and give the outcome of the others; one shard runs the whole unit.

    Fields:
        kind: ``line``: groups are in order, and those between two of equal outcome have that outcome, too; first,
            middle and last are run at once. ``ends``: the same with first and last alone. ``front``: with the
            second as well, as what hangs is best tried at once. ``strongest``: if the command survives the first
            without a breach, it survives the others.
        further: the same faults of further classes, a line each. If the groups above have one outcome and the first
            of a further line has it, too, the rest of that line has it.
    """

    kind: Literal["line", "ends", "front", "strongest"]
    groups: Sequence[Group]
    further: Sequence[Sequence[Group]] = ()

    @property
    def lines(self) -> Sequence[Sequence[Group]]:
        return self.groups, *self.further


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Cells of a sweep; those in ``unchanged`` are not run, as their fault changes no byte of the answer."""

    units: Sequence[Unit]
    unchanged: Sequence[Cell]

    @property
    def cells(self) -> Iterator[Cell]:
        """Every cell to report, each once."""
        seen: set[Key] = set()
        rows = (cell for unit in self.units for line in unit.lines for group in line for cell in group)
        for cell in (*rows, *self.unchanged):
            if cell.key not in seen and is_reported(cell):
                seen.add(cell.key)
                yield cell

    def take_shard(self, number: int, of: int) -> "SweepPlan":
        """Return every n-th unit, from 1."""
        return SweepPlan(self.units[number - 1 :: of], self.unchanged if number == 1 else ())


def is_reported(cell: Cell) -> bool:
    """Return whether a cell has a single fault; one of several at once is a step of the plan, not reported."""
    faults = cell.outcome.get("faults")
    return not isinstance(faults, list) or len(faults) == 1


def plan_full(calls: Sequence[CallClass], probe: Probe) -> SweepPlan:
    """Return a plan that runs every cell."""
    cells = [cell for call in calls for cell in list_cells(call, probe(call, []).body, full=True)]
    return SweepPlan([Unit("ends", [[cell]]) for cell in cells], ())


def plan_merged(calls: Sequence[CallClass], probe: Probe, *, waits: bool) -> SweepPlan:
    """Return a plan that leaves out runs whose outcome other runs give; ``waits``: the clock is real."""
    units: list[Unit] = []
    lines: dict[Hashable, list[list[Group]]] = {}
    unchanged: list[Cell] = []
    for call in calls:
        plain = probe(call, [])
        cells = [*list_cells(call, plain.body)]
        found = {cell.key: _sign(cell, cells, probe, waits=waits) for cell in cells}
        is_known = plain.status == call.sample.status and not call.sample.request.cut
        same = [cell for cell in cells if is_known and found[cell.key] == plain]
        unchanged += same
        groups: dict[object, list[Cell]] = {}
        for cell in cells:
            if cell not in same:
                groups.setdefault(found[cell.key] if is_known else cell.key, []).append(cell)
        kinds: dict[str, list[Group]] = {}
        for group in groups.values():
            kinds.setdefault(_name_kind(group[0], found[group[0].key], waits=waits), []).append(group)
        for kind, alike in kinds.items():
            if kind in (_HARMLESS, _DROPS):
                cells = [group[0] for group in alike if group[0].fault != "drip"]  # the split in bytes has its writes
                units.append(Unit("strongest", [[join_cells(kind, cells)], *alike] if len(cells) > 1 else alike))
            else:
                key = (call.vendor, kind) if kind in (_REFUSALS, _FAILURES) else (call.vendor, kind, call.stream)
                lines.setdefault(key, []).append(_sort_line(kind, alike, found))
    return SweepPlan([*map(_build_line, lines.values()), *units], unchanged)


def _sign(cell: Cell, cells: Sequence[Cell], probe: Probe, *, waits: bool) -> object:
    """Return a key that is equal for cells whose client receives the same bytes."""
    if cell.fault in _SAME_BYTES or (waits and cell.fault == "stall"):
        return cell.key
    if cell.fault == "hang":  # as a reset at the same position, but that the connection stays open
        (twin,) = (one for one in cells if (one.fault, one.position) == ("disconnect", cell.position))
        answer = probe(cell.call, [twin])
        return "open", answer.head, answer.body
    return probe(cell.call, [cell])


def _name_kind(cell: Cell, answer: object, *, waits: bool) -> str:
    """Return what cells have in common that make up a unit; ``answer``: the key of the cell, see :func:`_sign`."""
    if cell.fault in UNNOTICEABLE and (cell.call.stream or cell.fault != "duplicate"):  # it spoils a whole body
        return _HARMLESS
    if cell.fault == "drip" and not waits:
        return _HARMLESS
    if cell.fault == "drop":
        return cell.name if cell.call.stream and cell.position in _ENDS else _DROPS
    if cell.fault in _ERRORS and isinstance(answer, Answer):
        return _FAILURES if answer.status in _PASSING or answer.status >= 500 else _REFUSALS
    return cell.fault if cell.fault in _LINES else cell.name


def _sort_line(kind: str, groups: list[Group], found: Mapping[Key, object]) -> list[Group]:
    """Return groups in an order in which neighbours are like each other; ``found``: the key of each cell."""
    if kind == _FAILURES:
        return groups
    if kind == _REFUSALS:
        return sorted(groups, key=lambda group: _find_status(found[group[0].key]))
    return sorted(groups, key=lambda group: _find_length(group[0], found))


def _build_line(lines: Sequence[Sequence[Group]]) -> Unit:
    """Return the unit of one kind of faults; ``lines``: a line of each class, of which the longest tells most."""
    longest, *further = sorted(lines, key=len, reverse=True)
    cell = longest[0][0]
    if cell.fault in _BODY_LINES and not cell.call.stream:
        return Unit("ends", longest, further)
    return Unit("front" if cell.fault == "hang" else "line", longest, further)


def _find_status(answer: object) -> int:
    return answer.status if isinstance(answer, Answer) else 0


def _find_length(cell: Cell, found: Mapping[Key, object]) -> tuple[bool, int]:
    """Return the sort key of cells with one fault: by their position in the answer."""
    answer = found[cell.key]
    if isinstance(answer, Answer):
        return cell.position != BEFORE_HEAD, len(answer.body)
    if isinstance(answer, tuple) and isinstance(answer[-1], bytes):
        return cell.position != BEFORE_HEAD, len(answer[-1])
    return True, 0


def find_next(unit: Unit, known: Mapping[Key, object]) -> list[Group]:
    """Return the groups of a unit to run next, given the known outcomes; none if these give all others."""
    found = _find_in(unit.kind, unit.groups, known)
    firsts = [line[0] for line in unit.further if line[0][0].key not in known]
    if found or firsts:
        return [*found, *firsts]
    outcomes = [known[group[0].key] for group in unit.groups if group[0].key in known]
    for line in unit.further:
        if any(outcome != known[line[0][0].key] for outcome in outcomes):
            found += _find_in(unit.kind, line, known)
    return found


def _find_in(kind: str, groups: Sequence[Group], known: Mapping[Key, object]) -> list[Group]:
    """Return the groups of one line to run next."""
    outcomes = [known.get(group[0].key) for group in groups]
    last = len(groups) - 1
    if kind == "strongest":
        if outcomes[0] is None:
            return [groups[0]] if None in outcomes[1:] else []
        return [] if _is_clean(outcomes[0]) else _list_unknown(groups, outcomes, range(1, last + 1))
    sampled = [0, last] if kind == "ends" else [0, last // 2, last]
    sampled += [min(1, last)] if kind == "front" else []
    wanted = _list_unknown(groups, outcomes, sampled)
    if wanted:
        return wanted
    there = [index for index, outcome in enumerate(outcomes) if outcome is not None]
    gaps = [index for one, two in pairwise(there) if outcomes[one] != outcomes[two] for index in range(one + 1, two)]
    return _list_unknown(groups, outcomes, gaps)


def _is_clean(outcome: object) -> bool:
    return outcome == (SURVIVED, ())


def _list_unknown(groups: Sequence[Group], outcomes: Sequence[object], indexes: Sequence[int]) -> list[Group]:
    return [groups[index] for index in dict.fromkeys(indexes) if outcomes[index] is None]


def infer(unit: Unit, known: Mapping[Key, object]) -> Iterator[tuple[Group, Cell]]:
    """Yield the groups of a finished unit that were not run, each with the cell from which its outcome is taken."""
    for line in unit.lines:
        source = line[0][0]
        for group in line:
            if group[0].key not in known:
                if source.key in known:
                    yield group, source
            elif unit.kind != "strongest":
                source = group[0]
