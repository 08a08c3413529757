"""A text for several patterns at once, for patterns it must not match, and for bounds of its length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from emulator.engine.json_schema import charset
from emulator.engine.json_schema.automaton import Machine, Read, State, machine_of
from emulator.engine.json_schema.bounds import Budget

_END = -1
Class = tuple[charset.Ranges, int]  # characters no machine tells apart, and how many
Point = tuple[tuple[State, ...], int]  # the state of every machine, and the last character


def find_text(wanted: Sequence[str], unwanted: Sequence[str], low: int, high: int | None, random: Random,
              budget: Budget) -> str | None:  # fmt: skip
    """A shortest text of at least ``low`` characters; ``None`` if there is none at all.

    Layer by layer, each the states that can be reached with one character more.
    """
    machines = [machine_of(pattern) for pattern in (*wanted, *unwanted)]
    classes = [(part := charset.readable(ranges)[0], charset.size(part)) for ranges in _alphabet(machines)]
    start: Point = (tuple(machine.start for machine in machines), _END)
    layers: list[dict[Point, tuple[Point, str]]] = [{start: (start, "")}]
    known: set[Point] = set()
    while layers[-1]:
        length = len(layers) - 1
        if length >= low:
            for point in layers[-1]:
                if _ends(machines, len(wanted), point, budget):
                    return _spell(layers, point)
        if high is not None and length >= high:
            return None
        if length >= low:
            known.update(layers[-1])
        layers.append(_next_layer(layers[-1], machines, len(wanted), classes, known, random, budget))
    return None


def _next_layer(layer: dict[Point, tuple[Point, str]], machines: list[Machine], wanted: int,
                classes: list[Class], known: set[Point], random: Random,
                budget: Budget) -> dict[Point, tuple[Point, str]]:  # fmt: skip
    following: dict[Point, tuple[Point, str]] = {}
    for point in layer:
        for char in _draw_chars(classes, random):
            budget.spend(5)
            states, before = point
            code = ord(char)
            after = tuple(m.step(s, before, code, budget) for m, s in zip(machines, states, strict=True))
            if not all(after[:wanted]):
                continue  # a pattern that must be found no longer can be
            reached = (after, _kind(code))
            if reached not in following and reached not in known:
                following[reached] = (point, char)
    return following


def _kind(code: int) -> int:
    """One stands for all word characters, one for all others: no anchor tells more."""
    return 0x61 if charset.contains(charset.WORD, code) else 0x20


def _draw_chars(classes: list[Class], random: Random) -> Iterator[str]:
    """One character of each class, in drawn order."""
    first = int(random.random() * len(classes))
    for part, size in classes[first:] + classes[:first]:
        yield charset.pick(part, int(random.random() * size))


def _ends(machines: list[Machine], wanted: int, point: Point, budget: Budget) -> bool:
    states, before = point
    return all(
        machine.accepts(state, before, budget) == (index < wanted)
        for index, (machine, state) in enumerate(zip(machines, states, strict=True))
    )


def _spell(layers: list[dict[Point, tuple[Point, str]]], point: Point) -> str:
    chars = []
    for layer in reversed(layers):
        point, char = layer[point]
        chars.append(char)
    return "".join(reversed(chars))


def _alphabet(machines: list[Machine]) -> list[charset.Ranges]:
    """Classes of characters no machine tells apart, the readable ones first."""
    classes: list[charset.Ranges] = [charset.WORD, charset.complement(charset.WORD)]
    for ranges in sorted(_sets(machines)):
        outside = charset.complement(ranges)
        split = [part for c in classes for part in (charset.intersect(c, ranges), charset.intersect(c, outside))]
        classes = [part for part in split if part]
    return sorted(classes, key=lambda ranges: charset.size(charset.intersect(ranges, ((0x20, 0x7E),))), reverse=True)


def _sets(machines: list[Machine]) -> set[charset.Ranges]:
    found: set[charset.Ranges] = set()
    pending = list(machines)
    while pending:
        machine = pending.pop()
        for instruction in machine.code:
            if isinstance(instruction, Read):
                found.add(instruction.ranges)
            elif hasattr(instruction, "machine"):
                pending.append(instruction.machine)
    return found
