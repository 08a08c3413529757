"""Handlers of state that is computed on demand: limits, metrics, rules, load, open calls, checks of a scenario."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path

from emulator import __version__
from emulator.control import models
from emulator.control.openapi import dump_openapi
from emulator.control.problem import MAX_MISTAKES
from emulator.core.conversation import find_prompt_line
from emulator.core.errors import EmulatedError
from emulator.core.executor import cooperative, run_in_thread, run_parsing
from emulator.core.json import JSON, as_object
from emulator.core.quota import Level
from emulator.core.redaction.values import redact_text
from emulator.core.storage import StoreLostError
from emulator.handler.budget import QUOTA_PREFIX as BUDGET
from emulator.handler.context import RequestContext
from emulator.journal.entry import JournalEntry
from emulator.observability.metrics import Page, render_metrics
from emulator.runtime.runtime import Runtime
from emulator.scenario.locations import KeyPath, Location
from emulator.scenario.matching import RuleResult, find_nearest
from emulator.scenario.source import Document

_MAX_OPEN = 100
_LATEST = 100  # requests that are matched again
_STATM = Path("/proc/self/statm")
_PAGE = 4096  # bytes, on the systems that have the file


class StatusHandlers:
    """Handlers of state computed on demand; each takes the query, the body and the name at the end of the path."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def get_openapi(self, query: models.NoQuery, body: bytes, name: str) -> bytes:
        return dump_openapi()

    async def list_limits(self, query: models.SessionQuery, body: bytes, name: str) -> models.Limits:
        levels = await self._find_levels(query.session)
        principals = self._runtime.for_session(query.session).emulator.principals
        return models.Limits(limits=[_show_level(level, principals) for level in sorted(levels, key=_by_name)])

    async def get_metrics(self, query: models.MetricsQuery, body: bytes, name: str) -> str:
        levels: list[Level] = []
        with suppress(StoreLostError):  # the metric emulator_store_up has it
            levels = await self._find_levels(query.session or "")
        await run_in_thread(import_module, "prometheus_client")
        return render_metrics(Page(self._runtime.metrics, levels, query.session, self._runtime.store.health))

    async def _find_levels(self, session: str) -> list[Level]:
        """Return the levels of all quotas, unused ones included.

        Raises:
            StoreLostError: the store does not answer, and requests are refused.
        """
        emulator = self._runtime.find(session).emulator
        now = emulator.clock.now() - emulator.started
        try:
            levels = list(await emulator.state.levels(session, now))
        except EmulatedError as error:
            raise StoreLostError(f"calls are refused as {error.kind}") from None
        levels = [level for level in levels if not level.quota.name.startswith(BUDGET)]
        used = {level.quota.name for level in levels}
        return levels + [Level(q, "", q.amount, 0.0) for q in emulator.quotas if q.per is None and q.name not in used]

    async def list_rules(self, query: models.SessionQuery, body: bytes, name: str) -> models.Rules:
        rules = self._runtime.for_session(query.session).loaded.scenario.rules
        calls = self._runtime.journal.list_calls(query.session)
        hits: Counter[str | None] = Counter()
        last: dict[str | None, str] = {}
        async for call in cooperative(calls):
            rule = call.without_payload().rule
            hits[rule] += 1
            last[rule] = call.id
        hits.update(call.rule for call in (await self.list_open(query, b"", "")).calls)
        latest = islice(reversed(calls), _LATEST if rules else 0)
        asked = [(entry := call.load(), entry.explain()) for call in latest]
        nearest = Counter(_name_nearest(verdicts) for entry, verdicts in asked if entry.rule is None)
        draws = _find_draws(asked)
        return models.Rules(
            rules=[
                models.RuleHits(
                    name=rule.name,
                    hits=hits[rule.name],
                    last=last.get(rule.name),
                    draw=draws.get(rule.name),
                    nearest=nearest[rule.name],
                )
                for rule in rules
            ]
        )

    async def get_status(self, query: models.NoQuery, body: bytes, name: str) -> models.ServerStatus:
        runtime = self._runtime
        busy = [row for active in runtime.active_scenarios for row in active.emulator.busy]
        return models.ServerStatus(
            version=__version__,
            uptime_seconds=round(runtime.uptime, 3),
            memory=_measure_memory(),
            tasks=len(asyncio.all_tasks()),
            vendors=[
                models.VendorLoad(
                    vendor=vendor,
                    open=metrics.in_flight(),
                    requests=int(metrics.total("requests")),
                    failed=int(metrics.total("failed")),
                )
                for vendor, metrics in runtime.metrics.items()
            ],
            servers=[
                models.ServerLoad(session=session, vendor=vendor, deployment=deployment, running=running, queued=queued)
                for (session, vendor, deployment), running, queued in busy
            ],
            journal=models.JournalState(
                entries=len(runtime.journal),
                bytes=runtime.journal.size,
                forgotten=runtime.journal.evicted_entries,
                emptied=runtime.journal.evicted_payloads,
            ),
            sessions=sum(1 for _ in runtime.sessions),
            own_sessions=runtime.sessions.own,
            forgotten_sessions=runtime.sessions.evicted,
            lateness_p99=runtime.timing.latest.ttft.quantile(0.99),
            valid=runtime.timing.invalid is None,
        )

    async def list_open(self, query: models.SessionQuery, body: bytes, name: str) -> models.OpenCalls:
        reports = await self._runtime.controller.gather("open", {"session": query.session})
        found = [models.OpenCalls.model_validate(report) for report in reports.values()]
        calls = sorted((call for each in found for call in each.calls), key=lambda call: (call.time, call.start_seq))
        return models.OpenCalls(calls=calls[:_MAX_OPEN], total=sum(each.total for each in found))

    async def report_open(self, about: JSON) -> JSON:
        """Return the open calls of this process, those of one session if ``about`` names it."""
        session = as_object(about)["session"]
        found = [
            (context, app.vendor.name, app.emulator.clock.now())
            for active in self._runtime.active_scenarios
            for app in active.apps.values()
            for context in app.open
            if session in ("", context.request.session)
        ]
        found.sort(key=lambda row: row[0].start_seq)
        calls = [_show_open(*row) for row in found[:_MAX_OPEN]]
        return models.OpenCalls(calls=calls, total=len(found)).model_dump()

    async def get_history(self, query: models.NoQuery, body: bytes, name: str) -> models.History:
        rows = [models.HistorySample(time=time, **load._asdict()) for time, load in self._runtime.history.samples]
        return models.History(samples=rows)

    async def check(self, query: models.NoQuery, body: bytes, name: str) -> models.Checked:
        check = self._runtime.check
        findings = await run_parsing(body, check, body)
        rows = [(severity, models.MistakeRow.model_validate(row)) for severity, row in findings[:MAX_MISTAKES]]
        errors, warnings, notes = (
            [row for severity, row in rows if severity == wanted] for wanted in ("error", "warning", "note")
        )
        return models.Checked(ok=not errors, errors=errors, warnings=warnings, notes=notes)

    async def parse(self, query: models.NoQuery, body: bytes, name: str) -> models.Parsed:
        from emulator.scenario.yaml_reader import parse_document  # YAML is slow to import

        return show_document(await run_parsing(body, parse_document, body, ""))


def _show_open(context: RequestContext, vendor: str, now: float) -> models.OpenCall:
    request, plan = context.request, context.plan
    line = redact_text(find_prompt_line(request.body))
    return models.OpenCall(
        start_seq=context.start_seq,
        time=context.started,
        elapsed=max(0.0, now - context.started),
        vendor=vendor,
        session=request.session,
        principal=request.principal,
        method=request.method,
        path=request.path,
        deployment=context.asked[0],
        stream=context.call is not None and context.call.stream,
        rule=context.rule,
        prompt_line=line,
        sent_tokens=0 if plan is None else context.sent_tokens,
        completion_tokens=0 if plan is None else plan.usage.completion_tokens,
    )


def show_document(document: Document) -> models.Parsed:
    """Return a parsed scenario file as the response of ``POST /_emulator/parse``."""
    errors = [models.MistakeRow.model_validate(row) for row in document.rows[:MAX_MISTAKES]]
    values, keys = _show_places(document.locations.values), _show_places(document.locations.keys)
    return models.Parsed(document=document.data, values=values, keys=keys, errors=errors)


def _show_places(places: Mapping[KeyPath, Location]) -> list[models.Place]:
    return [models.Place(path=[*path], line=place.line, column=place.column) for path, place in places.items()]


def _show_level(level: Level, principals: Mapping[str, str]) -> models.LimitLevel:
    quota = level.quota
    return models.LimitLevel(
        limit=quota.name,
        unit=quota.unit,
        amount=quota.amount,
        window=quota.window,
        strategy=quota.strategy,
        per=quota.per,
        scope=level.scope,
        principal=principals.get(quota.name, ""),
        left=level.left,
        full_in=None if level.full_in is None else round(level.full_in, 6),
    )


def _by_name(level: Level) -> tuple[int, str, str]:
    return len(level.quota.name), level.quota.name, level.scope


def _name_nearest(verdicts: tuple[RuleResult, ...]) -> str | None:
    nearest = find_nearest(verdicts)
    return None if nearest is None else nearest.rule


def _find_draws(asked: list[tuple[JournalEntry, tuple[RuleResult, ...]]]) -> dict[str, float]:
    """Return the latest random draw of each rule; ``asked`` has the latest request first."""
    draws: dict[str, float] = {}
    for _, verdicts in asked:
        for verdict in verdicts:
            if verdict.draw is not None:
                draws.setdefault(verdict.rule, verdict.draw)
    return draws


def _measure_memory() -> int:
    """Return the resident bytes of this process, 0 if unknown. Source: proc(5), the second number of ``statm``."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
