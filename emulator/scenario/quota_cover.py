"""Whether one quota always refuses before another."""

from __future__ import annotations

import math

from emulator.scenario.cover import covers_names
from emulator.scenario.schema import Limit

_PARTS = {"tokens": ("tokens", "input_tokens", "output_tokens")}  # what a unit counts, too


def is_stricter(strict: Limit, loose: Limit, *, earlier: bool) -> bool:
    """``loose`` never refuses, for ``strict`` does so first; of two equal ones the later never does."""
    if strict == loose:
        return earlier
    if loose.unit not in _PARTS.get(strict.unit, (strict.unit,)) or strict.per not in (None, loose.per):
        return False
    names = ((getattr(strict, name), getattr(loose, name)) for name in ("vendor", "deployment", "principal"))
    if not all(covers_names(wide, narrow) for wide, narrow in names):
        return False
    return strict.amount <= loose.amount and _spends_less(strict, loose)


def _spends_less(strict: Limit, loose: Limit) -> bool:
    """What ``strict`` lets through at most is never more than ``loose`` has to give."""
    if strict.window is None or loose.window is None:  # concurrency
        return True
    if strict.strategy == loose.strategy and strict.window == loose.window:
        return True
    if loose.strategy == "bucket":
        burst = strict.amount * (2 if strict.strategy == "fixed" else 1)
        return burst <= loose.amount and strict.amount / strict.window <= loose.amount / loose.window
    return _most_within(strict, loose.window) <= loose.amount


def _most_within(limit: Limit, span: float) -> float:
    """Most that passes a quota in any ``span`` seconds."""
    windows = span / (limit.window or 1.0)
    if limit.strategy == "bucket":
        return limit.amount * (1 + windows)
    return limit.amount * (math.ceil(windows) + (1 if limit.strategy == "fixed" else 0))
