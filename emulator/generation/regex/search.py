"""Search for a text that matches several patterns, avoids others, and has a bounded length, for JSON Schema strings."""

from collections.abc import Iterator, Sequence
from random import Random

from emulator.core.dataclass import fast_dataclass
from emulator.generation.regex import charset
from emulator.generation.regex.match import Ahead, Machine, Read, State, machine_of
from emulator.generation.step_budget import StepBudget

_END = -1
Class = tuple[charset.Ranges, int]  # characters that no machine distinguishes, and their number
Point = tuple[tuple[State, ...], int]  # the state of every machine, and the last character
Layer = dict[Point, tuple[Point, str]]  # all points of one length, each with the one before and the character between

_PRINTABLE: charset.Ranges = ((0x20, 0x7E), (0xA1, 0x167F))


def find_text(wanted: Sequence[str], unwanted: Sequence[str], low: int, high: int | None, random: Random,
              budget: StepBudget) -> str | None:  # fmt: skip
    """Return a shortest text of at least ``low`` characters, or ``None`` if no text exists.

    The search is breadth-first: each layer holds the states after one more character.
    """
    machines = [machine_of(pattern) for pattern in (*wanted, *unwanted)]
    classes = [(part := charset.readable(ranges)[0], charset.size(part)) for ranges in _alphabet(machines)]
    plain = [entry for entry in classes if charset.intersect(entry[0], _PRINTABLE)]
    search = _Search(machines, len(wanted), random, budget)
    text = search.run(plain, low, high)
    if text is None and len(plain) < len(classes):
        text = search.run(classes, low, high)  # unusual characters only if no other text exists
    return text


@fast_dataclass(frozen=True, slots=True)
class _Search:
    """Search over automata in parallel; exactly the first ``wanted`` of them must accept."""

    machines: list[Machine]
    wanted: int
    random: Random
    budget: StepBudget

    def run(self, classes: list[Class], low: int, high: int | None) -> str | None:
        start: Point = (tuple(machine.start for machine in self.machines), _END)
        layers: list[Layer] = [{start: (start, "")}]
        known: set[Point] = set()
        while layers[-1]:
            length = len(layers) - 1
            if length >= low:
                for point in layers[-1]:
                    if self._ends(point):
                        return _spell(layers, point)
                known.update(layers[-1])
            if high is not None and length >= high:
                return None
            layers.append(self._next_layer(layers[-1], classes, known))
        return None

    def _next_layer(self, layer: Layer, classes: list[Class], known: set[Point]) -> Layer:
        following: Layer = {}
        for point in layer:
            states, before = point
            for char in _draw_chars(classes, self.random):
                self.budget.spend(5)
                code = ord(char)
                after = tuple(
                    machine.step(state, before, code, self.budget)
                    for machine, state in zip(self.machines, states, strict=True)
                )
                if not all(after[: self.wanted]):
                    continue  # a wanted pattern can no longer match
                reached = (after, _kind(code))
                if reached not in following and reached not in known:
                    following[reached] = (point, char)
        return following

    def _ends(self, point: Point) -> bool:
        states, before = point
        return all(
            machine.accepts(state, before, self.budget) == (index < self.wanted)
            for index, (machine, state) in enumerate(zip(self.machines, states, strict=True))
        )


def _kind(code: int) -> int:
    """Return one code point for all word characters and one for all others, as anchors distinguish no more."""
    return 0x61 if charset.contains(charset.WORD, code) else 0x20


def _draw_chars(classes: list[Class], random: Random) -> Iterator[str]:
    """Yield a character of each class, in drawn order."""
    first = int(random.random() * len(classes))
    for part, size in classes[first:] + classes[:first]:
        yield charset.pick(part, int(random.random() * size))


def _spell(layers: list[Layer], point: Point) -> str:
    chars = []
    for layer in reversed(layers):
        point, char = layer[point]
        chars.append(char)
    return "".join(reversed(chars))


def _alphabet(machines: list[Machine]) -> list[charset.Ranges]:
    """Return the classes of characters that no machine distinguishes, the readable ones first."""
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
            elif isinstance(instruction, Ahead):
                pending.append(instruction.machine)
    return found
