"""Durations and sizes carry their unit in YAML; in Python they are float seconds and int bytes."""

import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h|d)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)")
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_duration(text: str) -> float:
    """``"250ms"`` → 0.25; also ``us``, ``s``, ``m``, ``h``, ``d``.

    Raises:
        ValueError: no unit, or not a duration.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write a number with a unit, such as 250ms, 1.5s or 2m")
    return float(match[1]) * _SECONDS[match[2]]


def parse_size(text: str) -> int:
    """``"64KiB"`` → 65536.

    Raises:
        ValueError: no unit, or not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size; write a whole number with a unit, such as 64KiB or 4MiB")
    return int(match[1]) * _BYTES[match[2]]
