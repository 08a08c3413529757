"""Add keep-alive comments to streams that are silent for 15 s.

Source: axum, ``axum/src/response/sse.rs`` (KeepAlive), with its defaults; each event restarts its timer.
"""

from collections.abc import Iterable, Iterator

from emulator.core.http import Event
from emulator.core.plan import Plan
from emulator.protocols.choice_events import PLAIN

INTERVAL = 15.0  # seconds of silence
_COMMENT = b":\n\n"


def keep_alive(events: Iterable[Event], plan: Plan) -> Iterable[Event]:
    """Return ``events`` with a comment after each 15 s without an event."""
    return _add_comments(events) if plan.due > INTERVAL else events


def _add_comments(events: Iterable[Event]) -> Iterator[Event]:
    before = 0.0
    for event in events:
        due = event[0]
        if due - before > INTERVAL:
            before += INTERVAL
            while before < due:
                yield before, _COMMENT, 0, PLAIN
                before += INTERVAL
        before = due
        yield event
