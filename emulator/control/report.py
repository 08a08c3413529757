"""The console's page with a run inside: it opens without the emulator, from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator import __version__
from emulator.control import models
from emulator.control.actions import Actions
from emulator.control.console import read_page
from emulator.control.journal import at_ease
from emulator.control.requests import show_whole
from emulator.control.target import Target
from emulator.core.json import JSON, dump_text, parse_json
from emulator.core.work import aside

_PLACE = "<!--saved-->"
_SHORT = set(models.RequestEntry.model_fields)


@dataclass(slots=True)
class Report:
    """What a page holds.

    Fields:
        outcome: shown above the calls.
        urls: base URL of each vendor.
        answers: of the control plane, by path; views without theirs are left out.
        calls: one after the other in short, as JSON; ``details``: the rest of each.
    """

    title: str
    outcome: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, JSON] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def add(self, call: models.RequestDetail) -> None:
        self.calls.append(call.model_dump_json(include=_SHORT))
        self.details.append(call.model_dump_json(exclude=_SHORT))

    def render(self) -> str:
        """One page of HTML that loads nothing."""
        before, after = read_page().decode().split(_PLACE)
        return "".join([before, *_embed("application/json", "saved", self._dump()), *self._embed_details(), after])

    def _dump(self) -> Sequence[str]:
        about = {"version": __version__, "title": self.title, "outcome": self.outcome}
        head = dump_text({**about, "urls": dict(self.urls), "answers": dict(self.answers)})
        return [head[:-1], ',"calls":[', ",".join(self.calls), "]}"]

    def _embed_details(self) -> Iterator[str]:
        return _embed("text/plain", "details", [f"{line}\n" for line in self.details])


def _embed(kind: str, name: str, parts: Sequence[str]) -> Iterator[str]:
    """As data that no browser takes for markup: a ``<`` is written as JSON may write it."""
    yield f'<script type="{kind}" id="{name}">'
    yield from (part.replace("<", "\\u003c") for part in parts)
    yield "</script>\n"


class ReportActions(Actions):
    """What the control plane does, and the report of it."""

    async def report(self, query: models.NoQuery, body: models.ReportAsked, name: str) -> str:
        return await aside((await make_report(self._target, body)).render)


async def make_report(target: Target, asked: models.ReportAsked) -> Report:
    """The calls that are kept, and the scenario, limits and times as they are now."""
    answers = await _collect(Actions(target), asked.session or "")
    report = Report(asked.title, asked.outcome, dict(target.urls), answers)
    async for call in at_ease(target.journal.list_calls(asked.session)):
        report.add(show_whole(call.read()))
    return report


async def _collect(actions: Actions, session: str) -> dict[str, JSON]:
    """What each view of the page shows, by the route that it would ask."""
    nothing, of = models.NoQuery(), models.SessionQuery(session=session)
    shown = {
        "/scenario": await actions.get_scenario(of, b"", ""),
        "/rules": await actions.list_rules(of, b"", ""),
        "/limits": await actions.list_limits(of, b"", ""),
        "/deployments": await actions.list_deployments(models.DeploymentsQuery(session=session), b"", ""),
        "/status": await actions.get_status(nothing, b"", ""),
        "/timing": await actions.get_timing(nothing, b"", ""),
    }
    return {path: parse_json(model.model_dump_json()) for path, model in shown.items()}
