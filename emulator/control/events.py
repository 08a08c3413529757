"""Stream journal records as server-sent events: ``GET /_emulator/events``.

The console shows new calls by them.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from operator import attrgetter

from emulator.control.filters import compile_filters
from emulator.control.models import EventsQuery, RequestEntry
from emulator.control.watcher import JournalWatcher
from emulator.core.errors import ProblemError
from emulator.core.json import dump_json
from emulator.core.text import parse_integer
from emulator.http.connection import IncomingRequest
from emulator.http.writer import TextStream
from emulator.journal.entry import UNTAKEN, JournalItem
from emulator.runtime.runtime import Runtime

EVENTS_TYPE = "text/event-stream"
KEEP_ALIVE = 15.0  # seconds of silence after which a comment is sent
_HEADERS = (("Content-Type", EVENTS_TYPE), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"))
_BATCH = 100  # events in one write
_MAX_READ = 2_000  # records read at once for a client without a rate limit
_PAUSE = 0.05  # seconds between two reads: a write for each record costs more than the requests themselves
_MAX_EXPLAINED = 20  # records of one read that are matched again to find the nearest rule
_FIELDS = [name for name in RequestEntry.model_fields if name != "summary"]  # "summary" is the last field
_read_fields = attrgetter(*_FIELDS)
_SKIPPED = b'event: skipped\ndata: {"calls":%d,"before":%d}\n\n'


def open_events(http: IncomingRequest, runtime: Runtime, query: EventsQuery) -> TextStream:
    """Return a stream with an event for each new record, and one without ``id`` for each record that changes.

    The stream ends when the client disconnects or the server shuts down. Beyond the rate that the client asked for,
    the oldest records are left out, and an event ``skipped`` has their number.

    Raises:
        ProblemError: ``Last-Event-ID`` is no number.
    """
    asked = _read_last_id(http) if query.since is None else query.since
    latest = runtime.journal.latest if asked is None else asked
    return TextStream(_render_events(runtime, query, latest), _HEADERS)


async def _render_events(runtime: Runtime, query: EventsQuery, latest: int) -> AsyncIterator[bytes]:
    journal, matches, limiter = runtime.journal, compile_filters(query), EventRateLimiter(query.most)
    changed: dict[int, JournalItem] = {}

    def note_change(call: JournalItem) -> None:
        if call.seq <= latest:
            changed[call.seq] = call

    with JournalWatcher(runtime, note_change) as watcher:
        yield b": calls as they come\n\n"
        while not watcher.over:
            async with journal.reading:
                new = journal.since(latest, _MAX_READ if query.most is None else None)
                latest = new[-1].seq if new else latest
                again, changed = list(changed.values()), {}
                await asyncio.sleep(0)
            brief = len(new) > _MAX_EXPLAINED
            skipped = limiter.skip(len(new))
            if skipped:
                yield _SKIPPED % (skipped, new[skipped].seq)
                del new[:skipped]
            for calls in _parts(new, again):
                async with journal.reading:
                    events = [_render(call, brief, numbered) for call, numbered in calls if matches(call)]
                    await asyncio.sleep(0)
                yield b"".join(events)
            await asyncio.sleep(_PAUSE)
            if len(new) < _MAX_READ and not await watcher.wait(KEEP_ALIVE) and not watcher.over:
                yield b": still here\n\n"


class EventRateLimiter:
    """Token bucket of the events sent to one client: ``most`` per second, which is also the burst.

    It bounds the cost of a console on a busy server. ``None``: no limit.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._left = float(most or 0)
        self._looked = time.monotonic()

    def skip(self, count: int) -> int:
        """Return how many of ``count`` new records, the oldest, are left out."""
        if self._most is None:
            return 0
        now = time.monotonic()
        self._left = min(self._most, self._left + self._most * (now - self._looked))
        self._looked = now
        sent = min(count, max(1, int(self._left)))
        self._left -= sent
        return count - sent


def _parts(new: list[JournalItem], again: list[JournalItem]) -> Iterator[list[tuple[JournalItem, bool]]]:
    """Yield batches of records, each with whether its event has an id."""
    for calls, numbered in ((new, True), (again, False)):
        for start in range(0, len(calls), _BATCH):
            yield [(call, numbered) for call in calls[start : start + _BATCH]]


def _render(call: JournalItem, brief: bool, numbered: bool) -> bytes:
    """Encode the event of one record, from its figures: a pydantic model costs five times as much.

    ``brief``: without looking for the nearest rule.
    """
    entry = call.without_payload()
    shown = dict(zip(_FIELDS, _read_fields(entry), strict=True))
    shown["summary"] = entry.one_line or (UNTAKEN if brief else call.load().summary)
    number = b"id: %d\n" % call.seq if numbered else b""
    return b"%bdata: %b\n\n" % (number, dump_json(shown))


def _read_last_id(http: IncomingRequest) -> int | None:
    text = http.head.headers.get("Last-Event-ID", "")
    if text and not (text.isascii() and text.isdigit()):
        raise ProblemError(400, "Bad header", f"Last-Event-ID: expected the id of an event, got {text!r}")
    return parse_integer(text) if text else None
