"""Whether one condition holds wherever another does. Where that is not plain, the answer is no."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import get_args

from emulator.core.call import Task
from emulator.core.json import JSON
from emulator.scenario.conditions import Bounds, Comparison, When
from emulator.scenario.facets import compile_names, compile_number, compile_text, same_json
from emulator.scenario.mistakes import nearest

_ANY_TEXT = "\0"  # what stands for a star in a name: only another star matches it
_OF_CHATS = ("system", "tools", "tool_result", "messages")
_NUMBERS = ("prompt_tokens", "max_tokens", "messages", "body_bytes")


def covers(general: When, special: When) -> bool:
    """Every call that ``special`` is about, ``general`` is about as well."""
    for name in general.model_fields_set:
        wide, narrow = getattr(general, name), getattr(special, name)
        if isinstance(wide, dict):
            wide, narrow = _fold(name, wide), _fold(name, narrow)
            if not all(key in narrow and _implies(narrow[key], value) for key, value in wide.items()):
                return False
        elif wide is not None and (narrow is None or not _implies(narrow, wide)):
            return False
    return True


def covers_names(general: tuple[str, ...] | None, special: tuple[str, ...] | None) -> bool:
    """Every name that ``special`` takes, ``general`` takes too; ``None`` takes all."""
    return general is None or (special is not None and _implies(special, general))


def _fold(name: str, facets: dict[str, JSON]) -> dict[str, JSON]:
    """Header names have no case."""
    return {key.lower(): value for key, value in facets.items()} if name == "header" else facets


def _implies(narrow: JSON, wide: JSON) -> bool:
    if isinstance(wide, tuple):
        takes = compile_names(wide)
        return all(takes(name.replace("*", _ANY_TEXT)) for name in narrow)
    if isinstance(wide, Comparison):
        return _implies_comparison(narrow, wide)
    if isinstance(wide, Bounds) or isinstance(narrow, Bounds):
        return _implies_bounds(narrow, wide)
    return not isinstance(narrow, Comparison) and same_json(narrow, wide)


def _implies_comparison(narrow: JSON, wide: Comparison) -> bool:
    if isinstance(narrow, str):
        return compile_text(wide)(narrow)
    if not isinstance(narrow, Comparison):
        return False
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


def _implies_bounds(narrow: JSON, wide: JSON) -> bool:
    if not isinstance(narrow, Bounds):
        return compile_number(wide)(narrow)
    if not isinstance(wide, Bounds):
        return False
    low = wide.above is None or (narrow.above is not None and narrow.above >= wide.above)
    return low and (wide.below is None or (narrow.below is not None and narrow.below <= wide.below))


def find_contradiction(
    when: When, served: Collection[str], principals: Collection[str] | None
) -> tuple[str, str] | None:
    """A facet that holds for no call, and why; ``principals``: those there are, ``None``: any."""
    tasks = get_args(Task)
    known = (("vendor", served, "served"), ("principal", principals, "among the keys"), ("task", tasks, "a task"))
    for name, names, what in known:
        wanted = getattr(when, name)
        if wanted is not None and names is not None and not any(map(compile_names(wanted), names)):
            close = nearest(wanted[0], names)
            return name, f"{', '.join(wanted)} is not {what}" + (f"; did you mean {close}?" if close else "")
    for name in _NUMBERS:
        bounds = getattr(when, name)
        if isinstance(bounds, Bounds) and _is_empty(bounds):
            return name, f"no number is above {bounds.above:g} and below {bounds.below:g}"
    if when.task is not None and not compile_names(when.task)("chat"):
        for name in _OF_CHATS:
            if getattr(when, name) is not None:
                return name, "only a chat has it"
    return None


def _is_empty(bounds: Bounds) -> bool:
    """No whole number lies between."""
    if bounds.above is None or bounds.below is None:
        return False
    return math.floor(bounds.above) + 1 >= bounds.below
