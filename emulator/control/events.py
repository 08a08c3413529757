"""The journal as server-sent events, for consoles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiohttp import web

from emulator.control.entry import UNTAKEN, Entry, Recorded
from emulator.control.filters import compile_filters
from emulator.control.models import EventsQuery, RequestEntry
from emulator.control.news import News
from emulator.control.problem import ProblemError
from emulator.control.target import Target
from emulator.core.json import dump_json

EVENTS_TYPE = "text/event-stream"
KEEP_ALIVE = 15.0  # seconds of silence after which a comment is sent
_HEADERS = {"Content-Type": EVENTS_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_AT_ONCE = 100  # events in one write
_PAUSE = 0.05  # seconds between two looks at what is new: to be told of each by itself costs more than the calls
_MANY = 20  # calls between two looks, of which it is no longer said which rule came nearest
_FIELDS = [name for name in RequestEntry.model_fields if name != "summary"]  # which is the last


async def stream_events(http: web.BaseRequest, target: Target, query: EventsQuery) -> web.StreamResponse:
    """Each call as it comes, and again, without an ``id``, if it changes.

    It ends when the client leaves or the server closes.
    """
    journal, matches = target.journal, compile_filters(query)
    asked = _read_last_id(http) if query.since is None else query.since
    latest = journal.latest if asked is None else asked
    changed: dict[int, Entry] = {}

    def hear(entry: Entry) -> None:
        if entry.seq <= latest:
            changed[entry.seq] = entry

    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(http)
    if http.method == "HEAD":
        return response
    with News(target, hear) as news:
        await response.write(b": calls as they come\n\n")
        while not news.over:
            new = journal.since(latest)
            latest = new[-1].seq if new else latest
            brief = len(new) > _MANY
            again, changed = list(changed.values()), {}
            for entries in _parts(new, again):
                told = ((call.read(), numbered) for call, numbered in entries)
                events = [_render(entry, brief, numbered) for entry, numbered in told if matches(entry)]
                await response.write(b"".join(events))
                await asyncio.sleep(0)
            await asyncio.sleep(_PAUSE)
            if not await news.wait(KEEP_ALIVE) and not news.over:
                await response.write(b": still here\n\n")
    return response


def _parts(new: list[Recorded], again: list[Entry]) -> Iterator[list[tuple[Recorded, bool]]]:
    """A few at a time, so that others have their turn; with whether they carry an id."""
    calls = [*((call, True) for call in new), *((call, False) for call in again)]
    for start in range(0, len(calls), _AT_ONCE):
        yield calls[start : start + _AT_ONCE]


def _render(entry: Entry, brief: bool, numbered: bool) -> bytes:
    """One event; a model for each costs five times as much. ``brief``: without looking for the nearest rule."""
    shown = {name: getattr(entry, name) for name in _FIELDS}
    shown["summary"] = (entry.gist or UNTAKEN) if brief else entry.summary
    number = b"id: %d\n" % entry.seq if numbered else b""
    return b"%bdata: %b\n\n" % (number, dump_json(shown))


def _read_last_id(http: web.BaseRequest) -> int | None:
    text = http.headers.get("Last-Event-ID", "")
    if text and not (text.isascii() and text.isdigit()):
        raise ProblemError(400, "Bad header", f"Last-Event-ID: expected the id of an event, got {text!r}")
    return int(text) if text else None
