"""Handler of ``POST /_emulator/report``: the journal and the console's views as one HTML page."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from emulator.control import models
from emulator.control.handlers import Handlers
from emulator.control.handlers.requests import show_short, show_whole
from emulator.control.report_page import (
    DETAILS_OPENING,
    REQUESTS_PER_BLOCK,
    Report,
    close_page,
    dump_rest,
    dump_short,
    escape,
    pack,
)
from emulator.core.executor import cooperative, run_in_thread
from emulator.core.json import JSON, parse_json
from emulator.journal.entry import JournalItem
from emulator.runtime.runtime import Runtime


class ReportHandlers(Handlers):
    """All handlers of the control API, the report included."""

    async def report(self, query: models.NoQuery, body: models.ReportAsked, name: str) -> AsyncIterator[str]:
        return await write_report(self._runtime, body)


async def write_report(runtime: Runtime, asked: models.ReportAsked) -> AsyncIterator[str]:
    """Return the HTML of the report in pieces: the journal, and scenario, limits and timing as of now."""
    answers = await _collect(Handlers(runtime), asked.session or "")
    report = Report(asked.title, asked.outcome, dict(runtime.urls), answers)
    return write_page(report, runtime.journal.list_calls(asked.session))


async def _collect(actions: Handlers, session: str) -> dict[str, JSON]:
    """Return the responses that the views of the page need, by path."""
    nothing, of = models.NoQuery(), models.SessionQuery(session=session)
    shown = {
        "/scenario": await actions.get_scenario(of, b"", ""),
        "/rules": await actions.list_rules(of, b"", ""),
        "/limits": await actions.list_limits(of, b"", ""),
        "/deployments": await actions.list_deployments(models.DeploymentsQuery(session=session), b"", ""),
        "/status": await actions.get_status(nothing, b"", ""),
        "/timing": await actions.get_timing(nothing, b"", ""),
        "/usage": await actions.get_usage(models.UsageQuery(session=session, all=_dump(not session)), b"", ""),
    }
    return {path: parse_json(models.dump_model(model)) for path, model in shown.items()}


def _dump(value: bool) -> Literal["true", "false"]:
    return "true" if value else "false"


async def write_page(report: Report, calls: Sequence[JournalItem]) -> AsyncIterator[str]:
    """Yield the HTML page in pieces: a whole one takes several times the memory of the journal."""
    for part in report.open_page():
        yield part
    comma = ""
    async for call in cooperative(calls):
        yield comma + escape(dump_short(show_short(call)))
        comma = ","
    yield DETAILS_OPENING
    some: list[str] = []
    async for call in cooperative(calls):
        some.append(dump_rest(show_whole(call.load())))
        if len(some) == REQUESTS_PER_BLOCK:
            yield await run_in_thread(pack, some)
            some = []
    if some:
        yield await run_in_thread(pack, some)
    yield close_page()
