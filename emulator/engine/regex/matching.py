"""Whether a text matches a pattern, without ever hanging on a pattern made to hang."""

from __future__ import annotations

import re

from emulator.core.room import Roomy
from emulator.engine.budget import Budget
from emulator.engine.regex import charset
from emulator.engine.regex.automaton import reads
from emulator.engine.regex.parse import parse_pattern
from emulator.engine.regex.tree import (
    Anchor,
    Backreference,
    BadPattern,
    Chars,
    Choice,
    Group,
    Look,
    Part,
    Repeat,
    Sequence,
    children,
)

_MANY = 50_000  # ways to share out one text that are too many to try
_ROOM = 500_000  # characters of Python's words for patterns, a class being some tens; some 10 MB
_SHORT = 64  # characters tried against a pattern whose cost grows with a power of the length


def matches(pattern: str, text: str, budget: Budget) -> bool:
    """Whether ``pattern`` is found anywhere in ``text``, as ECMA 262 has it.

    Raises:
        BadPattern: not a pattern, or one that only a search without bound could decide.
        Exhausted: finding out takes too long.
    """
    budget.spend_once(pattern)
    compiled, risk = compile_pattern(pattern)
    if risk == 1 or (risk == 2 and len(text) < _SHORT):
        return compiled.search(text) is not None
    return reads(pattern, text, budget)


def compile_pattern(pattern: str) -> tuple[re.Pattern[str], int]:
    """The pattern for Python, and how its cost grows: 1 gently, 2 as a power, 3 exponentially."""
    return _COMPILED[pattern]


def _compile(pattern: str) -> tuple[re.Pattern[str], int]:
    part = parse_pattern(pattern)
    try:
        return re.compile(_render(part)), _risk(part)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"{pattern!r} is not understood: {error}") from None


def _weigh(pattern: str, compiled: tuple[re.Pattern[str], int]) -> int:
    return len(compiled[0].pattern)


_COMPILED = Roomy(_compile, _weigh, _ROOM)


def _risk(part: Part) -> int:
    if _ambiguous(part) or _ways(part) >= _MANY:
        return 3
    return 2 if _count(part) > 2 else 1


def _ambiguous(part: Part) -> bool:
    """A repeat whose body can match the same text in several ways, as far as is easily seen."""
    if isinstance(part, Repeat) and (part.high is None or part.high > 2) and not _plain(part.part):
        return True
    return any(map(_ambiguous, children(part)))


def _ways(part: Part) -> int:
    """In how many ways, at most, its bounded parts can share out a text: what a search that goes back may try."""
    if isinstance(part, Choice):
        ways = list(map(_ways, part.options))
        return min(_MANY, max(ways, default=1) if _disjoint(part) else sum(ways))
    inner = 1
    for below in children(part):
        inner = min(_MANY, inner * _ways(below))
    if not isinstance(part, Repeat) or part.high is None:
        return inner
    times = min(part.high, 20) if inner > 1 else 0
    return int(min(_MANY, (part.high - part.low + 1) * inner**times))


def _disjoint(choice: Choice) -> bool:
    """No two options begin alike."""
    firsts = [_first(option) for option in choice.options]
    total = sum(map(charset.size, firsts))
    return all(firsts) and charset.size(charset.union(r for ranges in firsts for r in ranges)) == total


def _plain(part: Part) -> bool:
    """Matches texts of one length only, and no two of its options begin alike."""
    if isinstance(part, Repeat):
        return part.low == part.high and _plain(part.part)
    if isinstance(part, Choice) and not _disjoint(part):
        return False
    return all(map(_plain, children(part)))


def _first(part: Part) -> charset.Ranges:
    """The characters a text of this part begins with; none if that is not plain."""
    if isinstance(part, Chars):
        return part.ranges
    if isinstance(part, Sequence) and part.parts:
        return _first(part.parts[0])
    return _first(part.part) if isinstance(part, Group) else ()


def _count(part: Part) -> int:
    own = 1 if isinstance(part, Repeat) and part.high is None else 0
    return own + sum(_count(p) for p in children(part))


def _render(part: Part) -> str:
    """The same pattern in Python's own words, with every class spelled out."""
    if isinstance(part, Chars):
        return _render_chars(part.ranges)
    if isinstance(part, Sequence):
        return "".join(map(_render, part.parts))
    if isinstance(part, Choice):
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
