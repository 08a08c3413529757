"""Fill placeholders such as ``{prompt}`` and ``{model}`` in reply texts; no expression is evaluated.

``handler/decide.py`` fills in the reply of the rule that matches.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from emulator.core.cache import lru
from emulator.core.cost_limits import DEFAULT_BOUNDS, INLINE_BYTES
from emulator.core.json import JSON, dump_text
from emulator.core.rng import draw_uuid
from emulator.core.units import write_date
from emulator.scenario.conditions import is_body_path
from emulator.scenario.errors import find_nearest_name
from emulator.scenario.matchers import ABSENT, KEYED_MATCH_FIELDS, MATCH_FIELDS, Absent, RequestAttributes
from emulator.scenario.redaction import redact_found

_PART = re.compile(r"\{\{|\{([^{}\n]*)\}|\{")
_PLAIN: Mapping[str, Callable[[RequestAttributes], JSON | Absent]] = {
    "prompt": lambda attributes: (
        ABSENT if attributes.inference is None or attributes.inference.prompt is None else attributes.inference.prompt
    ),
    "model": MATCH_FIELDS["deployment"],
    "session": MATCH_FIELDS["session"],
    "attempt": lambda attributes: attributes.attempt + 1,
    "turn": MATCH_FIELDS["turn"],
}
_DRAWN = ("uuid", "now")
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_WORDS = re.compile(r"prompt\.words\[(\d{1,4})\]")
_MATCH = "match."
PLACEHOLDERS = (
    *_PLAIN,
    *_DRAWN,
    "prompt.words[0]",
    "match.name",
    *(f"{name}.{of}" for name, of in (("header", "x"), ("query", "x"), ("body", "path"))),
)


def explain_template(text: str) -> str | None:
    """Return what is wrong with the placeholders of a text, or ``None``."""
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
    if kind in KEYED_MATCH_FIELDS:
        return is_body_path(rest) if kind == "body" else bool(rest)
    if name.startswith(_MATCH):
        return rest.isidentifier()
    return name in _PLAIN or name in _DRAWN or _WORDS.fullmatch(name) is not None


@lru(256)
def _compile(text: str) -> tuple[tuple[str, str], ...]:
    """Split a template into pairs of text and following placeholder; the last name is empty."""
    parts: list[tuple[str, str]] = []
    literal, at = "", 0
    for found in _PART.finditer(text):
        literal += text[at : found.start()]
        at = found.end()
        if found[0] == "{{":
            literal += "{"
        else:
            parts.append((literal, found[1]))
            literal = ""
    return (*parts, (literal + text[at:], ""))


def find_unknown_group(text: str, groups: Sequence[str]) -> str | None:
    """Return what is wrong with a ``{match.name}`` of which no expression has the group, or ``None``."""
    for _, asked in _compile(text):
        name = asked.removeprefix(_MATCH)
        if asked.startswith(_MATCH) and name not in groups:
            close = find_nearest_name(name, groups)
            hint = f"; did you mean {{{_MATCH}{close}}}?" if close else f"; write (?P<{name}>…) in a regex of `when`"
            return f"no group for the placeholder {{{asked}}}{hint}"
    return None


def asks_for_group(text: str) -> bool:
    """Return whether a text has a placeholder such as ``{match.city}``."""
    return any(asked.startswith(_MATCH) for _, asked in _compile(text))


def asks_for(text: str, name: str) -> bool:
    """Return whether a text has a placeholder of that name."""
    return any(asked == name for _, asked in _compile(text))


class TooMuchTextError(ValueError):
    """Filled text exceeds the size limit."""


def is_heavy(text: str, attributes: RequestAttributes) -> bool:
    """Return whether filling a text would block the event loop for too long."""
    return len(text) > INLINE_BYTES or text.count("{") * max(attributes.body_bytes, 1) > INLINE_BYTES * 16


def fill(
    text: str,
    attributes: RequestAttributes,
    key: bytes,
    now: float,
    most: int = DEFAULT_BOUNDS.text,
    captures: Callable[[], Mapping[str, str]] = dict,
) -> str:
    """Return the text with placeholders replaced; an attribute that the request does not have is empty.

    Args:
        key: response key, from which every ``{uuid}`` is derived.
        now: Unix seconds.
        most: limit of the result in bytes of memory.
        captures: returns the texts of ``{match.name}``.

    Raises:
        TooMuchTextError: the result would exceed the limit.
    """
    parts: list[str] = []
    letters, width = 0, 1
    found = captures() if asks_for_group(text) else {}
    for part in _fill(text, attributes, key, now, found):
        parts.append(part)
        letters += len(part)
        width = max(width, _measure_width(part))
        if letters * width > most:
            raise TooMuchTextError
    return "".join(parts)


def _fill(
    text: str, attributes: RequestAttributes, key: bytes, now: float, captures: Mapping[str, str]
) -> Iterator[str]:
    for number, (literal, name) in enumerate(_compile(text)):
        yield literal
        if name == "uuid":
            yield draw_uuid(key, "template", number)
        elif name == "now":
            yield write_date(now)
        elif name.startswith(_MATCH):
            yield captures.get(name.removeprefix(_MATCH), "")
        elif name:
            yield _show(_extract(name, attributes), name, attributes)


def _measure_width(text: str) -> int:
    """Return the bytes that CPython takes for each character of a text."""
    if text.isascii():
        return 1
    return 2 if max(text) <= "\uffff" else 4


def _extract(name: str, attributes: RequestAttributes) -> JSON | Absent:
    kind, _, rest = name.partition(".")
    if (words := _WORDS.fullmatch(name)) is not None:
        prompt = _PLAIN["prompt"](attributes)
        return _find_word(prompt, int(words[1])) if isinstance(prompt, str) else ABSENT
    return (KEYED_MATCH_FIELDS[kind](rest) if kind in KEYED_MATCH_FIELDS else _PLAIN[name])(attributes)


def _find_word(text: str, number: int) -> str | Absent:
    """Return a word of a text, without the punctuation around it."""
    found = next(islice(_WORD.finditer(text), number, None), None)
    return ABSENT if found is None else found[0]


def _show(value: JSON | Absent, name: str, attributes: RequestAttributes) -> str:
    shown = redact_found(name, value, attributes) if name.partition(".")[0] in KEYED_MATCH_FIELDS else value
    if shown is ABSENT:
        return ""
    return shown if isinstance(shown, str) else dump_text(shown)
