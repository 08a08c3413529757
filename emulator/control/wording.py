"""What was wanted and what was found, in a few words on one line, however long it is."""

from __future__ import annotations

from pydantic import BaseModel

from emulator.control.calls import UNKEPT, Finding, Value
from emulator.core.json import JSON, dump_text
from emulator.scenario.conditions import Bounds, Comparison, Condition
from emulator.scenario.facets import ABSENT

_MOST = 60  # letters of a value
_BEFORE = 15  # letters before the first that is another
_MOST_VALUES = 3
_WORDS = {"prefix": "starts with", "suffix": "ends with", "regex": "matches", "not": "is not"}


def word_wanted(wanted: Condition | JSON, start: int = 0) -> str:
    """``contains 'tides'``, ``above 400``, ``'a' or 'b'``; of a long text the part from ``start``."""
    if isinstance(wanted, str):
        return f"is {word_value(wanted, start)}"
    if isinstance(wanted, tuple):
        return " or ".join(word_value(name) for name in wanted[:_MOST_VALUES]) + _and_more(len(wanted))
    if isinstance(wanted, Bounds):
        given = {"above": wanted.above, "below": wanted.below}
        return " and ".join(f"{name} {_number(bound)}" for name, bound in given.items() if bound is not None)
    if isinstance(wanted, Comparison):
        return " and ".join(_word_key(name, getattr(wanted, name)) for name in _fields(wanted))
    return word_value(wanted)


def _fields(comparison: Comparison) -> list[str]:
    return [name for name in type(comparison).model_fields if name in comparison.model_fields_set]


def _word_key(name: str, value: Condition) -> str:
    """One key of a comparison."""
    key = name.rstrip("_")
    if isinstance(value, bool):
        return key.replace("_", " ")
    inner = f"({word_wanted(value)})" if isinstance(value, Comparison) else word_value(value)
    return f"{_WORDS.get(key, key)} {inner}"


def word_value(value: Value | Condition, start: int = 0) -> str:
    """A value that was found."""
    if value is ABSENT:
        return "none"
    if value is UNKEPT:
        return "no longer kept"
    if isinstance(value, tuple):
        return ", ".join(word_value(each) for each in value[:_MOST_VALUES]) + _and_more(len(value))
    if isinstance(value, str):
        return _cut(value, start)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    return _shorten(dump_text(value))


def word_found(finding: Finding) -> tuple[str, str]:
    """What was wanted and what was found instead; of two long texts the parts where they begin to differ."""
    value, wanted = finding.value, finding.wanted
    start = 0
    if isinstance(value, str) and isinstance(wanted, str):
        start = max(0, _count_equal(value, wanted) - _BEFORE)
    elif isinstance(value, str) and isinstance(wanted, Comparison) and wanted.suffix is not None:
        start = max(0, len(value) - _MOST)
    return word_wanted(wanted, start if isinstance(wanted, str) else 0), word_value(value, start)


def _count_equal(left: str, right: str) -> int:
    """How many letters two texts begin with alike."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def one_line(text: str, most: int = _MOST) -> str:
    """Text that cannot break a line."""
    return _shorten("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text), most)


def _cut(text: str, start: int) -> str:
    if len(text) <= _MOST:
        return repr(text)
    cut = text[start : start + _MOST]
    before, after = "…" if start else "", "…" if start + _MOST < len(text) else ""
    return f"'{before}{repr(cut)[1:-1]}{after}'"


def _shorten(text: str, most: int = _MOST) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _and_more(count: int) -> str:
    return f" and {count - _MOST_VALUES} more" if count > _MOST_VALUES else ""
