"""The console's page with a run inside: it opens without the emulator, from a file."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator import __version__
from emulator.control import models
from emulator.control.actions import Actions
from emulator.control.console import read_page
from emulator.control.entry import Recorded
from emulator.control.requests import show_short, show_whole
from emulator.control.target import Target
from emulator.core.json import JSON, Object, dump_text, parse_json
from emulator.core.work import aside, in_turns

_PLACE = "<!--saved-->"
_SHORT = list(models.RequestEntry.model_fields)
_REST = set(models.RequestDetail.model_fields) - {*_SHORT}
_TOGETHER = 200  # calls whose details are packed together: the page unpacks them when one of them is opened


@dataclass(slots=True)
class Report:
    """What a page holds.

    Fields:
        outcome: shown above the calls.
        urls: base URL of each vendor.
        answers: of the control plane, by path; views without theirs are left out.
        calls: one after the other in short, as JSON, the values alone; ``details``: the rest of each.
    """

    title: str
    outcome: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, JSON] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def add(self, call: models.RequestDetail) -> None:
        self.calls.append(_tell_short(call))
        self.details.append(_tell_rest(call))

    def render(self) -> str:
        """One page of HTML that loads nothing."""
        return "".join([*self._open(), ",".join(map(_escape, self.calls)), _BETWEEN, *self._tell_details(), _close()])

    def _open(self) -> Iterator[str]:
        """The page up to the first call."""
        about: Object = {"version": __version__, "title": self.title, "outcome": self.outcome}
        about |= {"fields": _SHORT, "together": _TOGETHER}
        head = dump_text({**about, "urls": dict(self.urls), "answers": dict(self.answers)})
        yield from (_split()[0], _script("application/json", "saved"), _escape(head[:-1]), ',"calls":[')

    def _tell_details(self) -> Iterator[str]:
        starts = range(0, len(self.details), _TOGETHER)
        yield from (_pack(self.details[start : start + _TOGETHER]) for start in starts)

    async def write(self, calls: Sequence[Recorded]) -> AsyncIterator[str]:
        """The page of these calls, in pieces: whole it takes several times the room of what the journal keeps."""
        for part in self._open():
            yield part
        comma = ""
        async for call in in_turns(calls):
            yield comma + _escape(_tell_short(show_short(call)))
            comma = ","
        yield _BETWEEN
        some: list[str] = []
        async for call in in_turns(calls):
            some.append(_tell_rest(show_whole(call.read())))
            if len(some) == _TOGETHER:
                yield await aside(_pack, some)
                some = []
        if some:
            yield await aside(_pack, some)
        yield _close()


def _tell_short(call: models.RequestEntry) -> str:
    return dump_text([getattr(call, name) for name in _SHORT])


def _tell_rest(call: models.RequestDetail) -> str:
    return models.dump_model(call, include=_REST)


def _pack(details: Sequence[str]) -> str:
    """Some on a line: unpacked they would be most of a page that the browser reads before it shows any."""
    return b64encode(zlib.compress("\n".join(details).encode())).decode() + "\n"


def _script(kind: str, name: str) -> str:
    return f'<script type="{kind}" id="{name}">'


_END = "</script>\n"
_BETWEEN = f"]}}{_END}{_script('text/plain', 'details')}"


def _split() -> Sequence[str]:
    """The console's page before and after what is saved in it."""
    return read_page().decode().split(_PLACE)


def _close() -> str:
    return _END + _split()[1]


def _escape(data: str) -> str:
    """No browser takes it for markup: a ``<`` is written as JSON may write it."""
    return data.replace("<", "\\u003c")


class ReportActions(Actions):
    """What the control plane does, and the report of it."""

    async def report(self, query: models.NoQuery, body: models.ReportAsked, name: str) -> AsyncIterator[str]:
        return await write_report(self._target, body)


async def write_report(target: Target, asked: models.ReportAsked) -> AsyncIterator[str]:
    """The calls that are kept, and the scenario, limits and times as they are now; in pieces."""
    answers = await _collect(Actions(target), asked.session or "")
    report = Report(asked.title, asked.outcome, dict(target.urls), answers)
    return report.write(target.journal.list_calls(asked.session))


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
    return {path: parse_json(models.dump_model(model)) for path, model in shown.items()}
