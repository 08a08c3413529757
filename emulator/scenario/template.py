"""Texts that say something of the request: ``{prompt}``, ``{model}`` and the like. Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from emulator.core.cache import lru
from emulator.core.cost_limits import DEFAULT, INLINE_BYTES
from emulator.core.json import JSON, dump_text
from emulator.core.rng import draw_uuid
from emulator.core.units import write_date
from emulator.scenario.conditions import is_body_path
from emulator.scenario.errors import find_nearest_name
from emulator.scenario.matchers import ABSENT, MATCH_FIELDS, NAMED, Absent, RequestAttributes
from emulator.scenario.redaction import redact_found

_PART = re.compile(r"\{\{|\{([^{}\n]*)\}|\{")
_PLAIN: Mapping[str, Callable[[RequestAttributes], JSON | Absent]] = {
    "prompt": lambda facts: ABSENT if facts.ask is None or facts.ask.prompt is None else facts.ask.prompt,
    "model": MATCH_FIELDS["deployment"],
    "session": MATCH_FIELDS["session"],
    "attempt": lambda facts: facts.attempt + 1,
}
_DRAWN = ("uuid", "now")
PLACEHOLDERS = (*_PLAIN, *_DRAWN, *(f"{name}.{of}" for name, of in (("header", "x"), ("query", "x"), ("body", "path"))))


def explain_template(text: str) -> str | None:
    """What is wrong with a text with placeholders, if anything is."""
    for found in _PART.finditer(text):
        name = found[1]
        if found[0] == "{{" or (name is not None and _is_known(name)):
            continue
        line = text.count("\n", 0, found.start()) + 1
        where = f" in line {line} of the text" if "\n" in text.strip() else ""
        if name is None:
            return f"a brace that opens no placeholder{where}; write it {{{{"
        close = find_nearest_name(name, PLACEHOLDERS)
        hint = f"; did you mean {{{close}}}?" if close else f"; there are {', '.join(f'{{{n}}}' for n in PLACEHOLDERS)}"
        return f"unknown placeholder {{{name}}}{where}{hint}"
    return None


def _is_known(name: str) -> bool:
    kind, _, rest = name.partition(".")
    if kind in NAMED:
        return is_body_path(rest) if kind == "body" else bool(rest)
    return name in _PLAIN or name in _DRAWN


@lru(256)
def _compile(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of a text and the name of what follows it; the last name is empty."""
    parts: list[tuple[str, str]] = []
    said, at = "", 0
    for found in _PART.finditer(text):
        said += text[at : found.start()]
        at = found.end()
        if found[0] == "{{":
            said += "{"
        else:
            parts.append((said, found[1]))
            said = ""
    return (*parts, (said + text[at:], ""))


def asks_for(text: str, name: str) -> bool:
    """Whether a placeholder of that name is in a text."""
    return any(asked == name for _, asked in _compile(text))


class TooMuchTextError(ValueError):
    """A text that is larger than may be, once its placeholders are filled in."""


def is_heavy(text: str, facts: RequestAttributes) -> bool:
    """Return whether to fill a text takes so long that the event loop must not wait for it."""
    return len(text) > INLINE_BYTES or text.count("{") * max(facts.body_bytes, 1) > INLINE_BYTES * 16


def fill(text: str, facts: RequestAttributes, key: bytes, now: float, most: int = DEFAULT.text) -> str:
    """The text with each placeholder's value in its place; what the call does not have says nothing.

    Args:
        key: names the answer; every ``{uuid}`` is drawn from it.
        now: Unix seconds.
        most: bytes that the text may take in memory.

    Raises:
        TooMuchTextError: it takes more; it is not made.
    """
    parts: list[str] = []
    letters, width = 0, 1
    for part in _fill(text, facts, key, now):
        parts.append(part)
        letters += len(part)
        width = max(width, _measure_width(part))
        if letters * width > most:
            raise TooMuchTextError
    return "".join(parts)


def _fill(text: str, facts: RequestAttributes, key: bytes, now: float) -> Iterator[str]:
    for number, (said, name) in enumerate(_compile(text)):
        yield said
        if name == "uuid":
            yield draw_uuid(key, "template", number)
        elif name == "now":
            yield write_date(now)
        elif name:
            yield _show(_extract(name, facts), name, facts)


def _measure_width(text: str) -> int:
    """Return the bytes of each character of a text, as the widest of them needs."""
    if text.isascii():
        return 1
    return 2 if max(text) <= "\uffff" else 4


def _extract(name: str, facts: RequestAttributes) -> JSON | Absent:
    kind, _, rest = name.partition(".")
    return (NAMED[kind](rest) if kind in NAMED else _PLAIN[name])(facts)


def _show(value: JSON | Absent, name: str, facts: RequestAttributes) -> str:
    shown = redact_found(name, value, facts) if name.partition(".")[0] in NAMED else value
    if shown is ABSENT:
        return ""
    return shown if isinstance(shown, str) else dump_text(shown)
