"""Comments that keep a silent stream alive.

Source: axum, ``axum/src/response/sse.rs`` (KeepAlive), with its defaults; its clock begins anew with every event.
"""

from collections.abc import Iterable, Iterator

from emulator.core.http import Event
from emulator.core.plan import Plan
from emulator.protocols.choice_events import PLAIN

INTERVAL = 15.0  # seconds of silence
_COMMENT = b":\n\n"


def keep_alive(events: Iterable[Event], plan: Plan) -> Iterable[Event]:
    """The events of a stream, and a comment wherever they leave the client waiting for long."""
    return _comment(events) if plan.due > INTERVAL else events


def _comment(events: Iterable[Event]) -> Iterator[Event]:
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
