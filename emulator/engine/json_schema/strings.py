"""A string that meets patterns, formats and lengths together."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from emulator.core.seed import derive, draw_integer
from emulator.engine.json_schema.bounds import Budget
from emulator.engine.json_schema.formats import conforms
from emulator.engine.json_schema.matching import matches
from emulator.engine.json_schema.merge import Shape
from emulator.engine.json_schema.regex import parse_pattern
from emulator.engine.json_schema.regex_text import Walk
from emulator.engine.json_schema.style import Style
from emulator.engine.json_schema.values import format_text, text_for

_STRETCHES = (1.0, 1.0, 0.0, 0.5, 2.0, 4.0, 0.0, 8.0)
_HOSTILE = (
    "", " ", "null", "0", "-1", "true", "<script>alert(1)</script>", "' OR 1=1 --", '"; DROP TABLE users; --',
    "../../etc/passwd", "${jndi:ldap://x}", "{{7*7}}", "%s%n", "line one\nline two", "tab\there", "back\\slash",
    "naïve café", "日本語テキスト", "🦊🏳️‍🌈", "مرحبا", "\u202eevil", "a\u0301e\u0301", "\u200b", "\ufeff", "𝕏",
)  # fmt: skip


def write_string(shape: Shape, name: str, key: bytes, style: Style, budget: Budget) -> str | None:
    """A string of the shape; ``None`` if none was found."""
    budget.fill(shape.length.low)
    for candidate in _candidates(shape, name, key, style, budget):
        budget.spend()
        fitted = _fit(candidate, shape) if not shape.formats and not shape.patterns else candidate
        if _meets(fitted, shape):
            budget.fill(len(fitted))
            return fitted
    return None


def _meets(text: str, shape: Shape) -> bool:
    low, high = shape.length
    if len(text) < low or (high is not None and len(text) > high):
        return False
    return all(conforms(name, text) for name in shape.formats) and all(matches(p, text) for p in shape.patterns)


def _candidates(shape: Shape, name: str, key: bytes, style: Style, budget: Budget) -> Iterator[str]:
    if shape.patterns:
        if style.hints:
            yield text_for(name, key) if name and not shape.formats else ""
        yield from _of_formats(shape, key)
        yield from _of_patterns(shape, key, budget)
        return
    yield from _of_formats(shape, key)
    if style.hostile:
        yield _HOSTILE[draw_integer(key, len(_HOSTILE), "hostile")]
    if style.extreme:
        low, high = shape.length
        yield "x" * (high if high is not None and high <= 4096 and derive(key, "end")[0] % 2 else low)
    if not style.hints:
        yield "x" * shape.length.low
    for attempt in range(4):
        yield text_for(name, derive(key, attempt) if attempt else key)


def _of_formats(shape: Shape, key: bytes) -> Iterator[str]:
    for name in shape.formats:
        for attempt in range(8):
            text = format_text(name, derive(key, name, attempt))
            if text is not None:
                yield text


def _of_patterns(shape: Shape, key: bytes, budget: Budget) -> Iterator[str]:
    for pattern in shape.patterns:
        tree = parse_pattern(pattern)
        for attempt, stretch in enumerate(_STRETCHES * 2):
            random = Random(int.from_bytes(derive(key, pattern, attempt)[:8], "big"))
            text = Walk(random, budget, stretch).text(tree)
            yield text
            if len(text) < shape.length.low:
                yield _pad(text, shape.length.low)


def _fit(text: str, shape: Shape) -> str:
    """Lengthened or cut to the bounds, between words where possible."""
    low, high = shape.length
    if len(text) < low:
        text = _pad(text, low) if text else "x" * low
    if high is not None and len(text) > high:
        cut = text[:high].rpartition(" ")[0].rstrip(" ,.")
        text = cut if cut and len(cut) >= low else text[:high]
    return text


def _pad(text: str, low: int) -> str:
    if not text:
        return ""
    return (text + " " + text * (low // len(text)))[:low]
