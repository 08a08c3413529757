"""Whether a text matches a pattern, without ever hanging on a pattern made to hang."""

from __future__ import annotations

import re
from functools import lru_cache

from emulator.engine.json_schema import charset
from emulator.engine.json_schema.bounds import Exhausted
from emulator.engine.json_schema.regex import (
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
    parse_pattern,
)

_LONGEST = 4096  # characters tried against a pattern whose cost grows with a power of the length


def matches(pattern: str, text: str) -> bool:
    """Whether ``pattern`` is found anywhere in ``text``, as ECMA 262 has it.

    Raises:
        BadPattern: not a pattern.
        Exhausted: finding out could take too long.
    """
    compiled, risk = compile_pattern(pattern)
    if risk > 1 and len(text) > (40 if risk > 2 else _LONGEST):
        raise Exhausted(f"matching {pattern!r} against {len(text)} characters could take too long")
    return compiled.search(text) is not None


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> tuple[re.Pattern[str], int]:
    """The pattern for Python, and how its cost grows: 1 gently, 2 as a power, 3 exponentially."""
    part = parse_pattern(pattern)
    try:
        return re.compile(_render(part)), _risk(part)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"{pattern!r} is not understood: {error}") from None


def _risk(part: Part) -> int:
    repeats = _unbounded(part)
    if repeats > 1:
        return 3
    return 2 if repeats and _count(part) > 2 else 1


def _unbounded(part: Part) -> int:
    """How deep repeats without a small bound are nested."""
    if isinstance(part, Repeat):
        below = _unbounded(part.part)
        return below + 1 if part.high is None or part.high > 50 else max(below, 0)
    return max((_unbounded(p) for p in children(part)), default=0)


def _count(part: Part) -> int:
    own = 1 if isinstance(part, Repeat) and part.high is None else 0
    return own + sum(_count(p) for p in children(part))


def children(part: Part) -> tuple[Part, ...]:
    if isinstance(part, Sequence):
        return part.parts
    if isinstance(part, Choice):
        return part.options
    return (part.part,) if isinstance(part, Repeat | Group | Look) else ()


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
