"""Times as dates; clocks may go on for ever, and calendars end with the year 9999."""

from datetime import UTC, datetime

LAST = 253402300799.0  # Unix seconds; the last of the year 9999


def date_of(seconds: float) -> datetime:
    """Unix seconds as a date in UTC, at most the last there is."""
    return datetime.fromtimestamp(min(seconds, LAST), UTC)


def write_date(seconds: float) -> str:
    """``2026-01-01T00:00:00.000Z``."""
    return date_of(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
