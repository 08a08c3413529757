"""Plan a sweep: which cells share one run of the command, and which runs the outcomes of others make unnecessary.

A cell is a class of calls, a fault and its position; ``cells.py`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
_SAME_BYTES = frozenset({"split", "drip"})  # other writes alone
SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Unit:
    """Groups of cells, of which some are run and give the outcome of the others; one shard runs the whole unit.

    Fields:
        kind: ``line``: groups are in order, and those between two of equal outcome have that outcome, too; first,
            middle and last are run at once. ``ends``: the same with first and last alone. ``strongest``: if the
            command survives the first without a breach, it survives the others.
    """

    kind: Literal["line", "ends", "strongest"]
    groups: Sequence[Group]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Cells of a sweep; those in ``unchanged`` are not run, as their fault changes no byte of the answer."""

    units: Sequence[Unit]
    unchanged: Sequence[Cell]

    @property
    def cells(self) -> Iterator[Cell]:
        """Every cell to report, each once."""
        seen: set[Key] = set()
        rows = (cell for unit in self.units for group in unit.groups for cell in group)
        for cell in (*rows, *self.unchanged):
            if cell.key not in seen and is_reported(cell):
                seen.add(cell.key)
                yield cell

    def take_shard(self, number: int, of: int) -> SweepPlan:
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
        units += _build_units(call, [*groups.values()], found, waits=waits)
    return SweepPlan(units, unchanged)


def _sign(cell: Cell, cells: Sequence[Cell], probe: Probe, *, waits: bool) -> object:
    """Return a key that is equal for cells whose client receives the same bytes."""
    if cell.fault in _SAME_BYTES or (waits and cell.fault == "stall"):
        return cell.key
    if cell.fault == "hang":  # as a reset at the same position, but that the connection stays open
        (twin,) = (one for one in cells if (one.fault, one.position) == ("disconnect", cell.position))
        answer = probe(cell.call, [twin])
        return "open", answer.head, answer.body
    return probe(cell.call, [cell])


def _build_units(
    call: CallClass, groups: Sequence[Group], found: Mapping[Key, object], *, waits: bool
) -> Iterator[Unit]:
    """Yield the units of a class of calls; ``found``: the key of each cell, see :func:`_sign`."""
    errors: dict[int, list[Group]] = {}
    lines: dict[str, list[Group]] = {}
    joined: dict[str, list[Group]] = {}
    for group in groups:
        first = group[0]
        answer = found[first.key]
        if first.fault in UNNOTICEABLE or (first.fault == "drip" and not waits):
            joined.setdefault("every harmless fault", []).append(group)
        elif first.fault == "drop":
            joined.setdefault("every drop", []).append(group)
        elif first.fault in KINDS and isinstance(answer, Answer):
            errors.setdefault(answer.status, []).append(group)
        else:
            lines.setdefault(first.fault if first.fault in _LINES else first.name, []).append(group)
    yield from (Unit("ends", alike) for alike in errors.values())
    yield from (Unit("line", sorted(line, key=lambda group: _find_length(group[0], found))) for line in lines.values())
    for name, alike in joined.items():
        cells = [group[0] for group in alike if group[0].fault != "drip"]  # the split in bytes has its writes
        yield Unit("strongest", [[join_cells(name, cells)], *alike] if len(cells) > 1 else alike)


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
    groups = unit.groups
    outcomes = [known.get(group[0].key) for group in groups]
    last = len(groups) - 1
    if unit.kind == "strongest":
        if outcomes[0] is None:
            return [groups[0]] if None in outcomes[1:] else []
        return [] if _is_clean(outcomes[0]) else _list_unknown(unit, outcomes, range(1, last + 1))
    sampled = [0, last] if unit.kind == "ends" else [0, last // 2, last]
    wanted = _list_unknown(unit, outcomes, sampled)
    if wanted:
        return wanted
    there = [index for index, outcome in enumerate(outcomes) if outcome is not None]
    gaps = [index for one, two in pairwise(there) if outcomes[one] != outcomes[two] for index in range(one + 1, two)]
    return _list_unknown(unit, outcomes, gaps)


def _is_clean(outcome: object) -> bool:
    return outcome == (SURVIVED, ())


def _list_unknown(unit: Unit, outcomes: Sequence[object], indexes: Sequence[int]) -> list[Group]:
    return [unit.groups[index] for index in dict.fromkeys(indexes) if outcomes[index] is None]


def infer(unit: Unit, known: Mapping[Key, object]) -> Iterator[tuple[Group, Cell]]:
    """Yield the groups of a finished unit that were not run, each with the cell from which its outcome is taken."""
    source = unit.groups[0][0]
    for group in unit.groups:
        if group[0].key not in known:
            if source.key in known:
                yield group, source
        elif unit.kind != "strongest":
            source = group[0]
