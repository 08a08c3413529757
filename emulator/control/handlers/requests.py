"""Handlers of journal records: list and show them, check for expected ones, judge clients by them, add up tokens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from emulator.control import models
from emulator.control.filters import Filter, compile_filters
from emulator.control.har import write_har
from emulator.control.serialize import show_request, show_response
from emulator.control.verify import Verification
from emulator.control.watcher import JournalWatcher
from emulator.core.errors import ProblemError
from emulator.core.executor import cooperative
from emulator.core.units import parse_duration
from emulator.journal.entry import JournalEntry, JournalItem, describe
from emulator.runtime.runtime import Runtime
from emulator.scenario.matching import RuleResult


class RequestHandlers:
    """Handlers of the journal; each takes the query, the body and the name at the end of the path."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def list_requests(self, query: models.RequestsQuery, body: bytes, name: str) -> AsyncIterator[str]:
        """Return the JSON of :class:`emulator.control.models.Requests` in pieces."""
        matches = compile_filters(query)
        if query.wait is None:
            found = await self._find(matches, query.since)
            if query.before is not None:
                found = [call for call in found if call.seq < query.before]
        else:
            found = await self._wait(matches, query.since, parse_duration(query.wait))
        some = found[-query.limit :] if query.since is None else found[: query.limit]
        if query.format == "har":
            return write_har(some)
        return _write_each(some, len(found), _show_whole if query.detail == "true" else show_short)

    async def _find(self, matches: Filter, since: int | None) -> list[JournalItem]:
        journal = self._runtime.journal
        calls = journal.list_calls() if since is None else journal.since(since)
        return [call async for call in cooperative(calls) if matches(call)]

    async def _wait(self, matches: Filter, since: int | None, seconds: float) -> list[JournalItem]:
        """Return the matching records after ``since`` once there are any; none after a timeout in seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        since = self._runtime.journal.latest if since is None else since
        with JournalWatcher(self._runtime) as watcher:
            while not (found := await self._find(matches, since)):
                left = end - loop.time()
                if left <= 0 or watcher.over:
                    break
                await watcher.wait(left)
        return found

    async def get_request(self, query: models.RequestQuery, body: bytes, name: str) -> models.RequestDetail:
        entry = self._runtime.journal.find(name, query.session)
        if entry is None:
            where = "" if query.session is None else f" in session {query.session!r}"
            raise ProblemError(404, "No such request", f"The journal has no request {name!r}{where}.")
        return show_whole(entry)

    async def verify(self, query: models.RequestQuery, body: models.Verify, name: str) -> models.Verified:
        if query.session is not None and body.session is not None and query.session != body.session:
            raise ProblemError(400, "Two sessions", "The query names one session, and the body another.")
        session = query.session if body.session is None else body.session
        return await Verification(self._runtime, body, session).run()

    async def get_verdict(self, query: models.SessionQuery, body: bytes, name: str) -> models.Verdict:
        from emulator.control.verdict import find_verdict  # not needed before somebody asks

        return await find_verdict(self._runtime, query.session)

    async def get_usage(self, query: models.UsageQuery, body: bytes, name: str) -> models.Usage:
        from emulator.control.verdict import find_usage

        return await find_usage(self._runtime, None if query.all == "true" else query.session)


async def _write_each(
    calls: Sequence[JournalItem], total: int, show: Callable[[JournalItem], models.RequestEntry]
) -> AsyncIterator[str]:
    yield '{"requests":['
    comma = ""
    async for call in cooperative(calls):
        yield comma + models.dump_model(show(call))
        comma = ","
    yield f'],"total":{total}}}\n'


def show_short(call: JournalItem) -> models.RequestEntry:
    """Return the figures and outcome of a record; builds the whole entry only to name the nearest rule."""
    entry = call.without_payload()
    return models.RequestEntry.model_validate(entry if entry.one_line is not None else call.load())


def _show_whole(call: JournalItem) -> models.RequestEntry:
    return show_whole(call.load())


def show_whole(entry: JournalEntry) -> models.RequestDetail:
    """Return an entry with request, response, limits and the result of each rule."""
    payload = entry.payload
    return models.RequestDetail(
        **models.RequestEntry.model_validate(entry).model_dump(),
        request=show_request(entry, payload),
        response=show_response(entry, payload),
        limits=[models.LimitRow.model_validate(limit) for limit in entry.limits],
        explanation=[_show(verdict) for verdict in entry.explain()],
    )


def _show(verdict: RuleResult) -> models.RuleVerdict:
    return models.RuleVerdict(
        rule=verdict.rule,
        takes=verdict.failed is None,
        failed=verdict.failed,
        detail=verdict.detail,
        draw=verdict.draw,
        text=describe(verdict),
    )
