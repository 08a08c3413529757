"""Texts that say something of the request: ``{prompt}``, ``{model}`` and the like. Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from emulator.core.calendar import write_date
from emulator.core.json import JSON, dump_text
from emulator.core.room import remember
from emulator.core.secret import cut_credential
from emulator.core.seed import draw_uuid
from emulator.scenario.conditions import is_body_path
from emulator.scenario.facets import ABSENT, FACETS, NAMED, Absent, Facts
from emulator.scenario.mistakes import nearest

_PART = re.compile(r"\{\{|\{([^{}\n]*)\}|\{")
_PLAIN: Mapping[str, Callable[[Facts], JSON | Absent]] = {
    "prompt": lambda facts: ABSENT if facts.ask is None or facts.ask.prompt is None else facts.ask.prompt,
    "model": FACETS["deployment"],
    "session": FACETS["session"],
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
        close = nearest(name, PLACEHOLDERS)
        hint = f"; did you mean {{{close}}}?" if close else f"; there are {', '.join(f'{{{n}}}' for n in PLACEHOLDERS)}"
        return f"unknown placeholder {{{name}}}{where}{hint}"
    return None


def _is_known(name: str) -> bool:
    kind, _, rest = name.partition(".")
    if kind in NAMED:
        return is_body_path(rest) if kind == "body" else bool(rest)
    return name in _PLAIN or name in _DRAWN


@remember(256)
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


def fill(text: str, facts: Facts, key: bytes, now: float) -> str:
    """The text with each placeholder's value in its place; what the call does not have says nothing.

    Args:
        key: names the answer; every ``{uuid}`` is drawn from it.
        now: Unix seconds.
    """
    return "".join(_fill(text, facts, key, now))


def _fill(text: str, facts: Facts, key: bytes, now: float) -> Iterator[str]:
    for number, (said, name) in enumerate(_compile(text)):
        yield said
        if name == "uuid":
            yield draw_uuid(key, "template", number)
        elif name == "now":
            yield write_date(now)
        elif name:
            yield _show(_extract(name, facts), name)


def _extract(name: str, facts: Facts) -> JSON | Absent:
    kind, _, rest = name.partition(".")
    return (NAMED[kind](rest) if kind in NAMED else _PLAIN[name])(facts)


def _show(value: JSON | Absent, name: str) -> str:
    if value is ABSENT:
        return ""
    if not isinstance(value, str):
        return dump_text(value)
    kind, _, header = name.partition(".")
    return cut_credential(header, value) if kind == "header" else value
