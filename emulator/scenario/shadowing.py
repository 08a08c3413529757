"""Find rules that no call can reach and quotas that another one always refuses before; ``lint.py`` warns of them.

An earlier rule takes all calls of such a rule, or its ``when`` contradicts itself.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar, get_args

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.requests import Task
from emulator.scenario.conditions import Bounds, Comparison, Condition, When
from emulator.scenario.errors import suggest_name
from emulator.scenario.matchers import compile_names, compile_number, compile_text, same_json
from emulator.scenario.models import Limit
from emulator.scenario.odd_callers import explain_unknown

_ANY_TEXT = "\0"  # replaces a star in a name: only another star matches it
_OF_CHATS = ("system", "tools", "tool_called", "tool_result", "messages", "messages.last.role", "turn")

C = TypeVar("C")


@fast_dataclass(frozen=True, slots=True)
class FoldedWhen:
    """A ``when`` with its conditions by name, header names in lower case; built once for many comparisons."""

    when: When
    conditions: Mapping[str, Condition]


def fold(when: When) -> FoldedWhen:
    """Return a ``when`` for :func:`covers`."""
    conditions = when.conditions.items()
    return FoldedWhen(
        when, {name.lower() if name.startswith("header.") else name: condition for name, condition in conditions}
    )


def covers(general: FoldedWhen, special: FoldedWhen) -> bool:
    """Return whether every request that matches ``special`` also matches ``general``."""
    return (
        _cover(general.conditions, special.conditions, _implies)
        and _cover(general.when.body, special.when.body, _implies_value)
        and _cover_groups(general.when, special)
    )


def _cover_groups(general: When, special: FoldedWhen) -> bool:
    """Return whether ``special`` implies the ``any`` and ``not`` of ``general``."""
    if general.any is None and general.not_ is None:
        return True
    parts = general.any
    implied = parts is None or parts == special.when.any or any(covers(fold(part), special) for part in parts)
    return implied and (general.not_ is None or general.not_ == special.when.not_)


def _cover(general: Mapping[str, C], special: Mapping[str, C], implies: Callable[[C, C], bool]) -> bool:
    return all(name in special and implies(special[name], wide) for name, wide in general.items())


def covers_names(general: tuple[str, ...] | None, special: tuple[str, ...] | None) -> bool:
    """Return whether ``general`` matches every name that ``special`` does; ``None`` matches all."""
    return general is None or (special is not None and _implies(special, general))


def _implies(narrow: Condition, wide: Condition) -> bool:
    """Return whether the first of two conditions of a field implies the second."""
    if isinstance(wide, tuple) and isinstance(narrow, tuple):
        takes = compile_names(wide)
        return all(takes(name.replace("*", _ANY_TEXT)) for name in narrow)
    if isinstance(wide, Comparison):
        return _implies_comparison(narrow, wide)
    if isinstance(wide, Bounds) or isinstance(narrow, Bounds):
        return _implies_bounds(narrow, wide)
    return narrow == wide


def _implies_value(narrow: JSON | Comparison, wide: JSON | Comparison) -> bool:
    if isinstance(wide, Comparison):
        return _implies_comparison(narrow, wide)
    return not isinstance(narrow, Comparison) and same_json(narrow, wide)


def _implies_comparison(narrow: Condition | JSON, wide: Comparison) -> bool:
    if isinstance(narrow, str):
        return compile_text(wide)(narrow)
    if not isinstance(narrow, Comparison) or narrow.ignore_case or wide.ignore_case:
        return narrow == wide
    known = [part for part in (narrow.contains, narrow.prefix, narrow.suffix) if part is not None]
    return all(
        (
            wide.contains is None or any(wide.contains in part for part in known),
            wide.prefix is None or (narrow.prefix or "").startswith(wide.prefix),
            wide.suffix is None or (narrow.suffix or "").endswith(wide.suffix),
            wide.regex is None or wide.regex == narrow.regex,
            wide.not_ is None or wide.not_ == narrow.not_,
        )
    )


def _implies_bounds(narrow: Condition, wide: Condition) -> bool:
    if not isinstance(wide, Bounds):
        return False
    if not isinstance(narrow, Bounds):
        return isinstance(narrow, int | float) and compile_number(wide)(narrow)
    low = wide.above is None or (narrow.above is not None and narrow.above >= wide.above)
    return low and (wide.below is None or (narrow.below is not None and narrow.below <= wide.below))


def find_contradiction(
    when: When, served: Collection[str], principals: Collection[str] | None
) -> tuple[str, str] | None:
    """Return a field that no request can match, and the reason; ``principals``: ``None``: unknown."""
    return (
        _find_unknown_name(when, served, principals)
        or _find_empty_bounds(when)
        or _find_chat_facet(when)
        or _find_empty_group(when, served, principals)
    )


def _find_empty_group(
    when: When, served: Collection[str], principals: Collection[str] | None
) -> tuple[str, str] | None:
    """Find an ``any`` of which no item can match, or a ``not`` that excludes every request."""
    if when.any is not None:
        reasons = [find_contradiction(part, served, principals) for part in when.any]
        if all(reasons):
            return "any", "none of its items can hold: " + "; ".join(found[1] for found in reasons if found)
    if when.not_ is not None and covers(fold(when.not_), fold(when)):
        return "not", "it leaves out every call that the other facets let in"
    return None


def _find_unknown_name(
    when: When, served: Collection[str], principals: Collection[str] | None
) -> tuple[str, str] | None:
    for facet, wanted, names, what in (
        ("vendor", when.vendor, served, "served"),
        ("task", when.task, get_args(Task), "a task"),
    ):
        if wanted is not None and not any(map(compile_names(wanted), names)):
            return facet, f"{', '.join(wanted)} is not {what}{suggest_name(wanted[0], names)}"
    unknown = explain_unknown(when.principal, principals)
    return None if unknown is None else ("principal", unknown)


def _find_empty_bounds(when: When) -> tuple[str, str] | None:
    for facet, condition in when.conditions.items():
        if isinstance(condition, Bounds) and _is_empty(condition):
            return facet, f"no number is above {condition.above:g} and below {condition.below:g}"
    return None


def _find_chat_facet(when: When) -> tuple[str, str] | None:
    """Find a field of chats in a rule for other tasks."""
    if when.task is None or compile_names(when.task)("chat"):
        return None
    return next(((facet, "only a chat has it") for facet in _OF_CHATS if facet in when.conditions), None)


def _is_empty(bounds: Bounds) -> bool:
    """Return whether no whole number is between the bounds."""
    if bounds.above is None or bounds.below is None:
        return False
    return math.floor(bounds.above) + 1 >= bounds.below


_PARTS = {"tokens": ("tokens", "input_tokens", "output_tokens")}  # units that a unit includes


def is_stricter(strict: Limit, loose: Limit, *, earlier: bool) -> bool:
    """Return whether ``strict`` always refuses before ``loose``; of two equal limits the earlier one does."""
    if strict == loose:
        return earlier
    if loose.unit not in _PARTS.get(strict.unit, (strict.unit,)) or strict.per not in (None, loose.per):
        return False
    names = ((getattr(strict, name), getattr(loose, name)) for name in ("vendor", "deployment", "principal"))
    if not all(covers_names(wide, narrow) for wide, narrow in names):
        return False
    return strict.amount <= loose.amount and _spends_less(strict, loose)


def _spends_less(strict: Limit, loose: Limit) -> bool:
    """Return whether ``strict`` never admits more than ``loose``."""
    if strict.window is None or loose.window is None:  # concurrency
        return True
    if strict.strategy == loose.strategy and strict.window == loose.window:
        return True
    if loose.strategy == "bucket":
        burst = strict.amount * (2 if strict.strategy == "fixed" else 1)
        return burst <= loose.amount and strict.amount / strict.window <= loose.amount / loose.window
    return _most_within(strict, loose.window) <= loose.amount


def _most_within(limit: Limit, span: float) -> float:
    """Return the largest amount that a quota admits in any ``span`` seconds."""
    windows = span / (limit.window or 1.0)
    if limit.strategy == "bucket":
        return limit.amount * (1 + windows)
    return limit.amount * (math.ceil(windows) + (1 if limit.strategy == "fixed" else 0))
