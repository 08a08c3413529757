"""The journal as server-sent events, for consoles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from operator import attrgetter

from aiohttp import web

from emulator.control.filters import compile_filters
from emulator.control.models import EventsQuery, RequestEntry
from emulator.control.watcher import JournalWatcher
from emulator.core.errors import ProblemError
from emulator.core.json import dump_json
from emulator.core.text import read_whole
from emulator.journal.record import UNTAKEN, JournalItem
from emulator.runtime.runtime import Runtime

EVENTS_TYPE = "text/event-stream"
KEEP_ALIVE = 15.0  # seconds of silence after which a comment is sent
_HEADERS = {"Content-Type": EVENTS_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_AT_ONCE = 100  # events in one write
_HELD = 2_000  # calls that wait to be told to one viewer
_PAUSE = 0.05  # seconds between two looks at what is new: to be told of each by itself costs more than the calls
_MANY = 20  # calls between two looks, of which it is no longer said which rule came nearest
_FIELDS = [name for name in RequestEntry.model_fields if name != "summary"]  # which is the last
_read_fields = attrgetter(*_FIELDS)
_SKIPPED = b'event: skipped\ndata: {"calls":%d,"before":%d}\n\n'


async def stream_events(http: web.BaseRequest, runtime: Runtime, query: EventsQuery) -> web.StreamResponse:
    """Each call as it comes, and again, without an ``id``, if it changes.

    It ends when the client leaves or the server closes. Of more calls than it asks for the latest are told, and an
    event ``skipped`` says how many were not.
    """
    journal, matches, room = runtime.journal, compile_filters(query), EventRateLimiter(query.most)
    asked = _read_last_id(http) if query.since is None else query.since
    latest = journal.latest if asked is None else asked
    changed: dict[int, JournalItem] = {}

    def hear(call: JournalItem) -> None:
        if call.seq <= latest:
            changed[call.seq] = call

    response = await _begin(http)
    if http.method == "HEAD":
        return response
    with JournalWatcher(runtime, hear) as news:
        await response.write(b": calls as they come\n\n")
        while not news.over:
            async with journal.reading:
                new = journal.since(latest, _HELD if query.most is None else None)
                latest = new[-1].seq if new else latest
                again, changed = list(changed.values()), {}
                await asyncio.sleep(0)
            brief = len(new) > _MANY
            skipped = room.skip(len(new))
            if skipped:
                await response.write(_SKIPPED % (skipped, new[skipped].seq))
                del new[:skipped]
            for calls in _parts(new, again):
                async with journal.reading:
                    events = [_render(call, brief, numbered) for call, numbered in calls if matches(call)]
                    await asyncio.sleep(0)
                await response.write(b"".join(events))
            await asyncio.sleep(_PAUSE)
            if len(new) < _HELD:
                await _wait(news, response)
    return response


async def _begin(http: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(http)
    return response


async def _wait(news: JournalWatcher, response: web.StreamResponse) -> None:
    """Until there is something to tell, or it is time to say that there is nothing."""
    if not await news.wait(KEEP_ALIVE) and not news.over:
        await response.write(b": still here\n\n")


class EventRateLimiter:
    """How many calls a viewer is told of: so many a second, and as many at once after a second of silence.

    To tell of all is dearer than to tell of some, and nobody reads thousands a second. ``most``: ``None``, of all.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._left = float(most or 0)
        self._looked = time.monotonic()

    def skip(self, count: int) -> int:
        """Of so many calls that came, how many of the earliest are not told."""
        if self._most is None:
            return 0
        now = time.monotonic()
        self._left = min(self._most, self._left + self._most * (now - self._looked))
        self._looked = now
        told = min(count, max(1, int(self._left)))
        self._left -= told
        return count - told


def _parts(new: list[JournalItem], again: list[JournalItem]) -> Iterator[list[tuple[JournalItem, bool]]]:
    """A few at a time, so that others have their turn; with whether they carry an id."""
    for calls, numbered in ((new, True), (again, False)):
        for start in range(0, len(calls), _AT_ONCE):
            yield [(call, numbered) for call in calls[start : start + _AT_ONCE]]


def _render(call: JournalItem, brief: bool, numbered: bool) -> bytes:
    """One event, from figures alone as far as that will do; a model for each costs five times as much.

    ``brief``: without looking for the nearest rule.
    """
    entry = call.without_payload()
    shown = dict(zip(_FIELDS, _read_fields(entry), strict=True))
    shown["summary"] = entry.one_line or (UNTAKEN if brief else call.load().summary)
    number = b"id: %d\n" % call.seq if numbered else b""
    return b"%bdata: %b\n\n" % (number, dump_json(shown))


def _read_last_id(http: web.BaseRequest) -> int | None:
    text = http.headers.get("Last-Event-ID", "")
    if text and not (text.isascii() and text.isdigit()):
        raise ProblemError(400, "Bad header", f"Last-Event-ID: expected the id of an event, got {text!r}")
    return read_whole(text) if text else None
