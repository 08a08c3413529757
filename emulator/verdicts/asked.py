"""Find how long a response asks its client to wait, by ``Retry-After`` and its kin.

``Call.asked`` (``verdicts/calls.py``) takes the seconds from it.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def find_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks its client to wait; ``None`` if it names none.

    ``headers``: by lower-case name.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _parse_number(headers.get(name, ""))
        if milliseconds is not None:
            return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _parse_number(value)
    return seconds if seconds is not None or not value else _parse_date(value, headers)


def _parse_number(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None


def _parse_date(text: str, headers: Mapping[str, str]) -> float | None:
    """Return the seconds from a response's ``Date`` to the date in its ``Retry-After``."""
    try:
        return max(0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (TypeError, ValueError):
        return None
