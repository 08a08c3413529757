"""Match text against an ECMA 262 pattern in linear time, with an automaton that never backtracks.

Validation of a string against ``pattern`` and ``patternProperties`` of a JSON Schema uses it.
"""

import re
from collections.abc import Iterable

from emulator.core.cache import SizedCache
from emulator.core.dataclass import fast_dataclass
from emulator.generation.regex import charset
from emulator.generation.regex.parse import (
    Alternation,
    Anchor,
    Backreference,
    BadPattern,
    Chars,
    Group,
    Look,
    Part,
    Repeat,
    Sequence,
    children,
    parse_pattern,
)
from emulator.generation.step_budget import Exhausted, StepBudget

_MAX_INSTRUCTIONS = 20_000  # instructions of one pattern
_MAX_CACHED_STEPS = 4_000  # cached steps of one machine
_MAX_CACHED = 200_000  # instructions and cached states of all cached machines, about 40 MB
_STEP_SIZE = 5  # size of a cached step without its state, in instructions
_END = -1  # in place of the next character


@fast_dataclass(frozen=True, slots=True)
class Read:
    """Instruction: consume one character of the set."""

    ranges: charset.Ranges


@fast_dataclass(frozen=True, slots=True)
class Fork:
    """Instruction: continue at every one of these positions."""

    targets: tuple[int, ...]


@fast_dataclass(frozen=True, slots=True)
class Assert:
    """Instruction: continue if the anchor holds here."""

    kind: str


@fast_dataclass(frozen=True, slots=True)
class Ahead:
    """Instruction: continue if another automaton, started here, accepts (or, negated, does not)."""

    machine: "Machine"
    negative: bool


Instruction = Read | Fork | Assert | Ahead

# A thread: its position, and the machines that run in parallel: (machine, positions, must not match).
Duty = tuple["Machine", "State", bool]
Thread = tuple[int, frozenset[Duty]]
State = frozenset[Thread]
NO_DUTY: frozenset[Duty] = frozenset()
MATCHED: State = frozenset({(-1, NO_DUTY)})
"""State of a machine that has accepted: the pattern is found, regardless of the following text."""


class Machine:
    """Automaton of one pattern; the position after its last instruction accepts.

    Args:
        anywhere: the pattern may begin at any character and not only at the first.
    """

    def __init__(self, part: Part, anywhere: bool) -> None:
        self.code: list[Instruction] = []
        if anywhere:
            self.code += [Fork((1, 3)), Read(charset.ANY), Fork((0,))]
        self._compile(part)
        self.end = len(self.code)
        self.start: State = frozenset({(0, NO_DUTY)})
        self._memo: dict[tuple[State, int, int], tuple[State, int]] = {}

    def _emit(self, instruction: Instruction) -> int:
        if len(self.code) >= _MAX_INSTRUCTIONS:
            raise Exhausted("a pattern is too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def _compile(self, part: Part) -> None:
        if isinstance(part, Chars):
            self._emit(Read(part.ranges))
        elif isinstance(part, Sequence | Group):
            for below in children(part):
                self._compile(below)
        elif isinstance(part, Alternation):
            self._compile_alternation(part)
        elif isinstance(part, Repeat):
            self._compile_repeat(part)
        elif isinstance(part, Anchor):
            self._emit(Assert(part.kind))
        elif isinstance(part, Look) and part.ahead:
            self._emit(Ahead(Machine(part.part, anywhere=False), part.negative))
        else:
            raise BadPattern("back references and what must come before are beyond a machine")

    def _compile_alternation(self, part: Alternation) -> None:
        fork = self._emit(Fork(()))
        starts, leaps = [], []
        for option in part.options:
            starts.append(len(self.code))
            self._compile(option)
            leaps.append(self._emit(Fork(())))
        self.code[fork] = Fork(tuple(starts))
        for leap in leaps:
            self.code[leap] = Fork((len(self.code),))

    def _compile_repeat(self, part: Repeat) -> None:
        for _ in range(part.low):
            self._compile(part.part)
        if part.high is None:
            fork = self._emit(Fork(()))
            self._compile(part.part)
            self._emit(Fork((fork,)))
            self.code[fork] = Fork((fork + 1, len(self.code)))
            return
        forks = []
        for _ in range(part.high - part.low):
            forks.append(self._emit(Fork(())))
            self._compile(part.part)
        for fork in forks:
            self.code[fork] = Fork((fork + 1, len(self.code)))

    def step(self, state: State, before: int, char: int, budget: StepBudget) -> State:
        """Return the state after ``char``, which follows ``before`` (``_END`` at the first); ``MATCHED`` is final."""
        if state is MATCHED or not state:
            return state
        mark = (state, before, char)
        known = self._memo.get(mark)
        if known is not None:
            budget.spend(known[1])  # the cost of the first time, so that a cache hit never changes the outcome
            return known[0]
        left = budget.units
        found = self._step(state, before, char, budget)
        if len(self._memo) < _MAX_CACHED_STEPS:
            self._memo[mark] = found, left - budget.units
            _MACHINES.charge(_STEP_SIZE + len(found))
        return found

    def _step(self, state: State, before: int, char: int, budget: StepBudget) -> State:
        threads = self.close(state, before, char, budget)
        if (self.end, NO_DUTY) in threads:
            return MATCHED
        after: set[Thread] = set()
        for place, duties in threads:
            instruction = None if place == self.end else self.code[place]
            if isinstance(instruction, Read) and charset.contains(instruction.ranges, char):
                place += 1
            elif instruction is not None:
                continue
            moved = _advance(duties, before, char, budget) if duties else duties
            if moved is not None:
                after.add((place, moved))
        return frozenset(after)

    def accepts(self, state: State, before: int, budget: StepBudget) -> bool:
        """Return whether the text may end here."""
        if state is MATCHED:
            return True
        ends = [duties for place, duties in self.close(state, before, _END, budget) if place == self.end]
        return any([_fulfilled(duties, before, budget) for duties in ends])

    def close(self, state: State, before: int, after: int, budget: StepBudget) -> set[Thread]:
        """Return all threads that can be reached without consuming a character."""
        seen: set[Thread] = set()
        pending = list(state)
        while pending:
            thread = pending.pop()
            if thread in seen:
                continue
            seen.add(thread)
            budget.spend(1)
            place, duties = thread
            if place == self.end:
                continue
            instruction = self.code[place]
            if isinstance(instruction, Fork):
                pending.extend((target, duties) for target in instruction.targets)
            elif isinstance(instruction, Ahead):
                duty = (instruction.machine, instruction.machine.start, instruction.negative)
                pending.append((place + 1, duties | {duty}))
            elif isinstance(instruction, Assert) and _holds(instruction.kind, before, after):
                pending.append((place + 1, duties))
        return seen


def _holds(kind: str, before: int, after: int) -> bool:
    if kind == "^":
        return before == _END
    if kind == "$":
        return after == _END
    return (_is_word(before) != _is_word(after)) == (kind == "b")


def _is_word(point: int) -> bool:
    return point != _END and charset.contains(charset.WORD, point)


def _advance(duties: Iterable[Duty], before: int, char: int, budget: StepBudget) -> frozenset[Duty] | None:
    """Return the pending look-aheads after one more character, or ``None`` if one fails."""
    left: set[Duty] = set()
    broken = False
    for machine, state, negative in duties:  # all of them, so that the cost is independent of their order
        threads = machine.close(state, before, char, budget)
        state = MATCHED if (machine.end, NO_DUTY) in threads else machine.step(state, before, char, budget)
        broken = broken or (state is MATCHED and negative) or not (state or negative)
        if state is not MATCHED and state:
            left.add((machine, state, negative))
    return None if broken else frozenset(left)


def _fulfilled(duties: Iterable[Duty], before: int, budget: StepBudget) -> bool:
    return all([machine.accepts(state, before, budget) != negative for machine, state, negative in duties])


def _make(pattern: str) -> Machine:
    return Machine(parse_pattern(pattern), anywhere=True)


_MACHINES = SizedCache(_make, lambda pattern, machine: len(machine.code), _MAX_CACHED)


def machine_of(pattern: str) -> Machine:
    """Return the automaton that finds ``pattern`` anywhere in a text.

    Raises:
        BadPattern: the pattern has parts that an automaton cannot express.
        Exhausted: it is too large.
    """
    return _MACHINES[pattern]


def reads(pattern: str, text: str, budget: StepBudget) -> bool:
    """Return whether the pattern is found in the text."""
    machine = machine_of(pattern)
    state, before = machine.start, _END
    for char in map(ord, text):
        state = machine.step(state, before, char, budget)
        if state is MATCHED or not state:
            return state is MATCHED
        before = char
    return machine.accepts(state, before, budget)


_MAX_WAYS = 50_000  # from so many ways to match a text on, the cost counts as exponential
_MAX_COMPILED = 500_000  # characters of all cached patterns in the syntax of :mod:`re`, about 10 MB
_MAX_POLYNOMIAL = 64  # maximum length of a text that :mod:`re` matches at polynomial cost


def matches(pattern: str, text: str, budget: StepBudget) -> bool:
    """Return whether ``pattern`` is found anywhere in ``text``, by ECMA 262.

    Raises:
        BadPattern: not a pattern, or one that only a search without bound could decide.
        Exhausted: the match exceeds the budget.
    """
    budget.spend_once(pattern)
    compiled, risk = compile_pattern(pattern)
    if risk == 1 or (risk == 2 and len(text) < _MAX_POLYNOMIAL):
        return compiled.search(text) is not None
    return reads(pattern, text, budget)


def compile_pattern(pattern: str) -> tuple[re.Pattern[str], int]:
    """Compile a pattern for :mod:`re`; return it with its cost class: 1 mild, 2 polynomial, 3 exponential."""
    return _COMPILED[pattern]


def _compile(pattern: str) -> tuple[re.Pattern[str], int]:
    part = parse_pattern(pattern)
    try:
        return re.compile(_render(part)), _risk(part)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"{pattern!r} is not understood: {error}") from None


def _measure_compiled(pattern: str, compiled: tuple[re.Pattern[str], int]) -> int:
    return len(compiled[0].pattern)


_COMPILED = SizedCache(_compile, _measure_compiled, _MAX_COMPILED)


def _risk(part: Part) -> int:
    if _ambiguous(part) or _ways(part) >= _MAX_WAYS:
        return 3
    return 2 if _count(part) > 2 else 1


def _ambiguous(part: Part) -> bool:
    """Return whether a repeat has a body that may match the same text in several ways; a cheap estimate."""
    if isinstance(part, Repeat) and (part.high is None or part.high > 2) and not _has_fixed_length(part.part):
        return True
    return any(map(_ambiguous, children(part)))


def _ways(part: Part) -> int:
    """Return the maximum number of ways in which bounded parts can divide a text, as a backtracking search would."""
    if isinstance(part, Alternation):
        ways = list(map(_ways, part.options))
        return min(_MAX_WAYS, max(ways, default=1) if _disjoint(part) else sum(ways))
    inner = 1
    for below in children(part):
        inner = min(_MAX_WAYS, inner * _ways(below))
    if not isinstance(part, Repeat) or part.high is None:
        return inner
    times = min(part.high, 20) if inner > 1 else 0
    return int(min(_MAX_WAYS, (part.high - part.low + 1) * inner**times))


def _disjoint(part: Alternation) -> bool:
    """Return whether no two options can begin with the same character."""
    firsts = [_first(option) for option in part.options]
    total = sum(map(charset.size, firsts))
    return all(firsts) and charset.size(charset.union(r for ranges in firsts for r in ranges)) == total


def _has_fixed_length(part: Part) -> bool:
    """Return whether a part matches texts of one length only, with options that differ in their first character."""
    if isinstance(part, Repeat):
        return part.low == part.high and _has_fixed_length(part.part)
    if isinstance(part, Alternation) and not _disjoint(part):
        return False
    return all(map(_has_fixed_length, children(part)))


def _first(part: Part) -> charset.Ranges:
    """Return the first characters of a part's texts; none if they are not evident."""
    if isinstance(part, Chars):
        return part.ranges
    if isinstance(part, Sequence) and part.parts:
        return _first(part.parts[0])
    return _first(part.part) if isinstance(part, Group) else ()


def _count(part: Part) -> int:
    own = 1 if isinstance(part, Repeat) and part.high is None else 0
    return own + sum(_count(p) for p in children(part))


def _render(part: Part) -> str:
    """Render a part in the syntax of :mod:`re`, with every class spelled out."""
    if isinstance(part, Chars):
        return _render_chars(part.ranges)
    if isinstance(part, Sequence):
        return "".join(map(_render, part.parts))
    if isinstance(part, Alternation):
        return "(?:" + "|".join(map(_render, part.options)) + ")"
    if isinstance(part, Group):
        return f"(?P<g{part.number}>{_render(part.part)})"
    if isinstance(part, Backreference):
        return f"(?P=g{part.number})"
    if isinstance(part, Repeat):
        return f"(?:{_render(part.part)}){{{part.low},{'' if part.high is None else part.high}}}"
    return _render_assertion(part)


def _render_assertion(part: Anchor | Look) -> str:
    if isinstance(part, Look):
        return f"(?{'' if part.ahead else '<'}{'!' if part.negative else '='}{_render(part.part)})"
    word = _render_chars(charset.WORD)
    boundary = f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
    return {"^": r"\A", "$": r"(?!.|\n)", "b": boundary, "B": f"(?!{boundary})"}[part.kind]


def _render_chars(ranges: charset.Ranges) -> str:
    if not ranges:
        return "(?!)"
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
