"""Judge the calls of a session by what its scenario expects of clients, and add up what they cost.

``verdicts/`` has the rules; this module reads the calls from the journal and the figures from the scenario.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from emulator.control import models
from emulator.control.serialize import show_body
from emulator.core.clock import Clock, RealClock, read_real
from emulator.core.executor import cooperative, run_in_thread
from emulator.core.http import Request
from emulator.core.json import JSON, parse_json
from emulator.core.redaction.credentials import MaskedCredential
from emulator.core.requests import Deployment
from emulator.handler.budget import read_prices
from emulator.handler.context import RequestContext
from emulator.journal.entry import NO_ATTEMPTS, JournalEntry
from emulator.runtime.active import ActiveScenario
from emulator.runtime.runtime import Runtime
from emulator.scenario.expect import ExpectedConduct
from emulator.scenario.models import Scenario
from emulator.verdicts.calls import UNLIMITED, Call, CallContent, CallHistory, build_history
from emulator.verdicts.judge import RULE_NAMES, Judgement, judge
from emulator.verdicts.rules import Budget, Expectations
from emulator.verdicts.usage import add_up

_RENAMED = {"no_retry_after_delivery": "retries_after_delivery", "stops_at_budget": "budget"}
_FIGURES = ("attempts", "deadline", "hedges", "closes_within", "concurrency")
_FLAGS = ("retries_after_delivery", "reuses_connections")
_AT_ONCE = 1.0  # seconds from the first byte until a client that wants no more has left


async def find_verdict(runtime: Runtime, session: str) -> models.Verdict:
    """Return the outcome of every rule for the calls of a session, those that are open included."""
    history = await read_history(runtime, session)
    expected = read_expectations(runtime.for_session(session).loaded.scenario)
    return _show(await run_in_thread(judge, history, expected))


async def find_usage(runtime: Runtime, session: str | None) -> models.Usage:
    """Return what the calls of a session cost and wasted; ``None``: those of all."""
    history = await read_history(runtime, session)
    usage = await run_in_thread(add_up, history)
    waste = models.Waste(**asdict(usage.waste))
    return models.Usage(
        output_tokens=models.OutputTokens(
            sent=usage.sent, delivered=usage.delivered, wasted=usage.waste.total, waste=waste
        ),
        prompt_tokens=usage.prompt_tokens,
        cost=models.Cost(usd=round(usage.cost, 9)),
        calls=len(history.calls),
        amplification=usage.amplification,
    )


async def read_history(runtime: Runtime, session: str | None) -> CallHistory:
    """Return the calls of a session, or of all, and which are attempts of the same request."""
    active = runtime.for_session(session or "")
    hedges = read_expectations(active.loaded.scenario).hedges
    follows_clock = isinstance(active.emulator.clock, RealClock)
    calls = await read_calls(runtime, session)
    # in the worker thread, as it may build the responses of calls that failed
    return await run_in_thread(build_history, calls, follows_clock=follows_clock, hedges=hedges)


async def read_calls(runtime: Runtime, session: str | None) -> list[Call]:
    """Return the calls of a session, or of all, in the order of their requests."""
    active = runtime.for_session(session or "")
    prices: dict[str, CallPrices] = {}
    entries = [call.load() async for call in cooperative(runtime.journal.list_calls(session))]
    entries.sort(key=lambda entry: (entry.time, entry.start_seq))
    found = []
    async for entry in cooperative(entries):
        if entry.session not in prices:
            prices[entry.session] = CallPrices(runtime.for_session(entry.session))
        found.append((entry.start_seq, _read_call(entry, prices[entry.session])))
    now = read_real(active.emulator.clock)
    found += [(context.start_seq, _read_open(runtime, context, now)) for context in _list_open(runtime, session)]
    return [call for _, call in sorted(found, key=lambda row: (row[1].start, row[0]))]


def read_expectations(scenario: Scenario) -> Expectations:
    """Return the figures by which a scenario has clients judged."""
    expect = scenario.expect
    conduct = expect if isinstance(expect, ExpectedConduct) else ExpectedConduct()
    budget = scenario.budget
    figures = {name: value for name in (*_FIGURES, *_FLAGS) if (value := getattr(conduct, name)) is not None}
    return Expectations(
        **{"hedges": UNLIMITED, **figures},
        budget=None
        if budget is None
        else Budget(output_tokens=budget.output_tokens, cost=budget.cost, attempts=budget.attempts),
        ignored=frozenset(_list_ignored(conduct, has_budget=budget is not None)),
    )


def _list_ignored(conduct: ExpectedConduct, *, has_budget: bool) -> Iterator[str]:
    for rule in RULE_NAMES:
        name = _RENAMED.get(rule, rule)
        is_named = name in conduct.model_fields_set or (name == "budget" and has_budget)
        figure = getattr(conduct, rule, True)
        is_off = figure is None if rule in _FIGURES else figure is False and rule not in _FLAGS
        if (is_off and rule != "concurrency") or (not conduct.robust and not is_named):
            yield rule


class CallPrices:
    """Costs of calls, read in the order of their starts.

    A deployment that is paid by the hour costs from its first call to the end of its last, in scenario time; each call
    bears the part that those before it do not.
    """

    def __init__(self, active: ActiveScenario) -> None:
        self._active = active
        self.clock = active.emulator.clock
        self._prices = read_prices(active.loaded.scenario)
        self._paid_until: dict[tuple[str, str], float] = {}

    def find(self, entry: JournalEntry) -> float:
        """Return the USD for a call."""
        if entry.deployment is None or entry.vendor is None:
            return 0.0
        price = self._prices.find(entry.served, entry.deployment, self._find_deployment(entry.vendor, entry.deployment))
        if price is None:
            return 0.0
        rent = 0.0
        if price.hourly:
            key, ended = (entry.vendor, entry.deployment), entry.time + entry.duration
            since = self._paid_until.get(key, entry.time)
            self._paid_until[key] = max(since, ended)
            rent = price.find_rent(max(0.0, ended - since))
        return rent + price.find_cost(entry.prompt_tokens, entry.sent_tokens)

    def _find_deployment(self, vendor: str, name: str) -> Deployment | None:
        app = self._active.apps.get(vendor)
        return None if app is None else app.service.deployments.get(name)


def _read_call(entry: JournalEntry, prices: CallPrices) -> Call:
    return Call(
        id=entry.id,
        number=entry.seq,
        key=entry.id if entry.attempts is NO_ATTEMPTS else id(entry.attempts),
        start=entry.real_start,
        end=entry.real_end,
        principal=entry.principal,
        status=entry.status,
        error=entry.error,
        stream=entry.stream,
        whole=entry.whole,
        client_left=entry.client_left,
        faults=entry.faults,
        delivered=entry.sent_tokens,
        prompt_tokens=entry.prompt_tokens,
        cost=prices.find(entry),
        bytes_out=entry.bytes_out,
        connection=entry.connection,
        left_at_once=has_left_at_once(entry, prices.clock),
        read=_Reader(entry),
    )


def has_left_at_once(entry: JournalEntry, clock: Clock) -> bool:
    """Return whether the client closed a stream soon, in its own time, after the first bytes."""
    if not (entry.stream and entry.client_left and entry.sent_tokens > 0) or entry.ttft is None:
        return False
    wait = entry.ttft / clock.scale if isinstance(clock, RealClock) else 0.0
    return entry.real_end - entry.real_start - wait <= _AT_ONCE


class _Reader:
    """Reads the content of a journal entry."""

    __slots__ = ("_entry",)

    def __init__(self, entry: JournalEntry) -> None:
        self._entry = entry

    def __call__(self) -> CallContent:
        payload = self._entry.payload
        if payload is None:
            return CallContent(is_kept=False)
        request = payload.request
        return CallContent(
            sent={name.lower(): str(value) for name, value in request.headers.items()},
            received={name.lower(): value for name, value in payload.headers},
            body=_parse(request.body, cut=payload.request_cut),
            text=(payload.text if payload.received is None else payload.received) or "",
            tool_calls=payload.tool_calls,
            credentials=_list_credentials(request),
        )


def _list_credentials(request: Request) -> Sequence[str]:
    """Return the masked headers; those of a record from another replica are plain text with the sign of a mask."""
    return [value for value in request.headers.values() if isinstance(value, MaskedCredential) or "…" in value]


def _parse(body: bytes, *, cut: bool) -> JSON:
    try:
        return None if not body else parse_json(body)
    except ValueError:
        shown, is_base64 = show_body(body, cut=cut)
        return None if is_base64 else shown


def _list_open(runtime: Runtime, session: str | None) -> Iterator[RequestContext]:
    for active in runtime.active_scenarios:
        for app in active.apps.values():
            for context in app.open:
                if context.record is None and session in (None, context.request.session):
                    yield context


def _read_open(runtime: Runtime, context: RequestContext, now: float) -> Call:
    request, written = context.request, context.sent
    attempts = runtime.journal.find_attempts(request.session, context.fingerprint)
    sent = {name.lower(): str(value) for name, value in request.headers.items()}
    content = CallContent(sent, credentials=_list_credentials(request))
    return Call(
        id=request.key.hex(),
        number=0,
        key=context.start_seq if attempts is None else id(attempts),
        start=written.began or context.started,
        end=now,
        principal=request.principal,
        status=written.status or 200,
        stream=context.call is not None and context.call.stream,
        whole=False,
        has_ended=False,
        faults=[fault.type for fault in context.faults],
        bytes_out=written.size,
        connection=written.connection,
        read=lambda: content,
    )


def _show(verdict: Judgement) -> models.Verdict:
    return models.Verdict(
        ok=verdict.ok,
        rules=[models.RuleKept(rule=row.rule, kept=row.kept, why=row.why or None) for row in verdict.rules],
        broken=[
            models.BrokenRule(
                rule=breach.rule,
                calls=[call.id for call in breach.calls],
                sentence=breach.sentence,
                figures=dict(breach.figures),
            )
            for breach in verdict.broken
        ],
    )
