"""Durations and sizes carry their unit in YAML; in Python they are float seconds and int bytes."""

import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h|d)", re.ASCII)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST = 36525 * 86400.0  # seconds; a century: nobody waits longer
_MOST_DIGITS = 12
_SHOWN = 40  # characters of what cannot be read
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)", re.ASCII)
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_duration(text: str) -> float:
    """``"250ms"`` → 0.25; also ``us``, ``s``, ``m``, ``h``, ``d``.

    Raises:
        ValueError: no unit, not a duration, or longer than a century.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_cut(text)} is not a duration; write a number with a unit, such as 250ms, 1.5s or 2m")
    seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds > LONGEST:
        raise ValueError(f"{_cut(text)} is too long; at most {LONGEST / _SECONDS['d']:.0f}d")
    return seconds


def parse_size(text: str) -> int:
    """``"64KiB"`` → 65536.

    Raises:
        ValueError: no unit, or not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_cut(text)} is not a size; write a whole number with a unit, such as 64KiB or 4MiB")
    if len(match[1]) > _MOST_DIGITS:
        raise ValueError(f"{_cut(text)} is too much; at most {_MOST_DIGITS} digits")
    return int(match[1]) * _BYTES[match[2]]


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
