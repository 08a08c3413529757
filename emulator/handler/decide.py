"""Deciding the answer to a request that was read: its rule, its plan, its words, its faults."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from multidict import MultiMapping

from emulator.core.cost_limits import INLINE_BYTES, is_slow
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread
from emulator.core.faultable import FaultableResponse
from emulator.core.http import DROPPED, Request, Response, StreamingResponse
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.vendor import AnyService, AnyVendor, Change, InferenceCall, Parsed
from emulator.faults import AnyFault, apply_faults, locate_faults, measure
from emulator.handler.context import RequestContext
from emulator.handler.diagnostics import Suggestions, check_limits
from emulator.handler.explain import judge, read_exchange
from emulator.handler.planning import UNMATCHED, Emulator
from emulator.http.sessions import PREFIX
from emulator.journal.record import describe_nearest
from emulator.scenario.errors import find_nearest_name
from emulator.scenario.header_overrides import ERROR, FAULT, TTFT, HeaderOverrideError, apply_header_overrides
from emulator.scenario.matching import Match, RequestAttributes, RuleResult
from emulator.scenario.outcomes import NOTHING
from emulator.scenario.template import TooMuchTextError, fill, is_heavy

log = logging.getLogger("emulator")
_CAPACITY = frozenset(
    {ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.NOT_READY, ErrorKind.TIMEOUT, ErrorKind.INTERNAL}
)
_MOST_KEPT = 1000  # documents of a vendor in a session
_LONG = 1024  # pieces of an answer, each looked at by one fault, from which on it is measured and bent aside
NO_WAIT = {"retry-after-ms": "1"}
"""Where waits cost nothing: clients take ``Retry-After: 0`` for no advice and back off by themselves; this they obey.

Source: openai-python, src/openai/_base_client.py, ``_parse_retry_after_header`` and ``_calculate_retry_timeout``.
"""


class ResponseDecider:
    """Decides the answers of one vendor; ``header_faults``: a request's own headers may ask for errors and faults."""

    def __init__(
        self,
        vendor: AnyVendor,
        service: AnyService,
        emulator: Emulator,
        hints: Suggestions,
        *,
        header_faults: bool = True,
    ) -> None:
        self._vendor = vendor
        self._hints = hints
        self._service = service
        self._emulator = emulator
        self._header_faults = header_faults

    async def decide(self, exchange: RequestContext) -> Response | StreamingResponse:
        """The answer to what was read.

        Raises:
            EmulatedError: what a rule or a limit refuses.
            AskedError: the request asks for a fault there is not.
        """
        emulator, wire, started = self._emulator, exchange.wire, exchange.started
        parsed = exchange.parsed
        assert parsed is not None
        match = await self._match(exchange, parsed)
        if match.outcome.error is not None and not wire.has_key:  # it is refused before it is charged
            await emulator.name(wire, exchange.fingerprint)
        while isinstance(parsed, InferenceCall) and parsed.fallback is not None and _is_full(match):
            exchange.parsed = parsed = parsed.fallback()
            match = await self._match(exchange, parsed)
        if not isinstance(parsed, InferenceCall):
            return await self._conclude(parsed, match, wire)
        if match.outcome is NOTHING and emulator.strict:
            exchange.error = "unmatched"
            return _refuse_unmatched(wire, judge(emulator, self._vendor.name, exchange))
        if match.outcome.reply is not None and match.outcome.reply.template:
            facts = read_exchange(emulator, self._vendor.name, exchange)
            match = await _fill_reply(match, facts, wire.key, started, emulator.bounds.filled)
        exchange.plan = plan = await self._plan(parsed, match, exchange)
        if parsed.store_result is not None:
            await self._keep(parsed, plan, exchange)
        return await _word(parsed, plan, wire)

    async def _plan(self, call: InferenceCall, match: Match, exchange: RequestContext) -> Plan:
        """What is said to a call, once it is let in."""
        emulator, wire, identity = self._emulator, exchange.wire, exchange.fingerprint
        gate = emulator.gate_for(call)
        if gate is None or match.outcome.error is not None:
            repeated = identity if exchange.attempt and call.repeatable else None
            plan = await emulator.plan(call, match, wire.key, exchange.started, None, repeated)
        else:
            plan, exchange.admission = await emulator.admit(call, match, wire, identity, exchange.started, gate)
        return plan.abandon() if call.is_stopped else plan

    async def _match(self, exchange: RequestContext, parsed: Parsed) -> Match:
        emulator, wire = self._emulator, exchange.wire
        match = UNMATCHED
        if emulator.rules:
            match = await emulator.match(
                self._vendor.name, wire, parsed, exchange.fingerprint, exchange.attempt, exchange.started
            )
        if exchange.overrides and self._header_faults:
            match = _ask(match, wire.headers, emulator.bounds.faults)
        exchange.match = match
        return match

    async def _conclude(
        self, parsed: Response | StreamingResponse | Change, match: Match, wire: Request
    ) -> Response | StreamingResponse:
        """The answer of a route that no model answers; a change takes effect unless it is refused first."""
        error = match.outcome.error
        if isinstance(parsed, Change) and (error is None or error.after == "state"):
            parsed = await self._apply(parsed, wire)
        if error is not None:
            raise error.to_error()
        assert not isinstance(parsed, Change)
        return parsed

    async def _keep(self, call: InferenceCall, plan: Plan, exchange: RequestContext) -> None:
        """Keep what is to be kept of an answer, before anyone reads it; past a bound the oldest is forgotten."""
        state, shelf, session = self._emulator.state, self._vendor.name, exchange.wire.session
        assert call.store_result is not None
        key, document = call.store_result(plan, exchange.wire)
        documents = await state.fetch(session, shelf)
        await self._make_room(session, documents, key)
        await state.store(session, shelf, key, document, documents.get(key))
        if call.at_once:
            exchange.plan = replace(plan, due=0.0)

    async def _make_room(self, session: str, documents: Mapping[str, JSON], key: str) -> None:
        """Forget the oldest document where there are too many for one more."""
        if len(documents) >= _MOST_KEPT and key not in documents:
            oldest = next(iter(documents))
            await self._emulator.state.store(session, self._vendor.name, oldest, None, documents[oldest])

    async def _apply(self, change: Change, wire: Request) -> Response:
        state, shelf = self._emulator.state, self._vendor.name
        while True:
            documents = await state.fetch(wire.session, shelf)
            write = change.make(documents)
            if isinstance(write, Response):
                return write
            if write.document is not None:
                await self._make_room(wire.session, documents, write.key)
            if await state.store(wire.session, shelf, write.key, write.document, documents.get(write.key)):
                if change.then is not None:
                    await change.then(wire.session)
                return write.answer

    async def refuse(self, error: EmulatedError, exchange: RequestContext) -> Response:
        """The vendor's words for a refusal; what a client is told to wait is in its own seconds."""
        clock, headers = self._emulator.clock, error.headers
        self.explain(error, exchange)
        if error.retry_after:
            until = clock.now() + error.retry_after
            error.retry_after = clock.to_client(error.retry_after)
            if not error.retry_after:
                headers = {**NO_WAIT, **headers}
            asyncio.get_running_loop().call_soon(clock.on_client_left, until)
        wire, render = exchange.wire, self._vendor.render_error
        long = len(wire.body) > INLINE_BYTES  # a vendor may look into the body once more
        rendered = (
            await run_in_thread(render, error, wire, self._service) if long else render(error, wire, self._service)
        )
        return with_headers(rendered, headers)

    def explain(self, error: EmulatedError, exchange: RequestContext) -> None:
        """Say in the exchange why it is refused, unless a rule wanted that."""
        if exchange.match is None or exchange.match.outcome.error is None:
            exchange.limits = check_limits(error)
            exchange.hint = self._hints.explain(error, exchange.wire, self._service)

    async def apply_faults(
        self, answer: Response | StreamingResponse, exchange: RequestContext
    ) -> Response | StreamingResponse | FaultableResponse:
        """The answer with all faults in it, in order; one that drops the connection anyway stays."""
        if not exchange.faults or (isinstance(answer, Response) and answer.status == DROPPED):
            return answer
        tokens = 0 if exchange.plan is None else exchange.plan.usage.completion_tokens
        long = tokens * sum(fault.pieces for fault in exchange.faults) > _LONG
        if isinstance(answer, Response):
            long = long or len(answer.body) * len(exchange.faults) > INLINE_BYTES
        return await run_in_thread(self._bend, answer, exchange) if long else self._bend(answer, exchange)

    def _bend(self, answer: Response | StreamingResponse, exchange: RequestContext) -> FaultableResponse:
        delivery = measure(answer, plan=exchange.plan, fields=self._vendor.fields)
        wire, streamed = exchange.wire, delivery.streamed  # the exchange holds the delivery, which must not hold it

        def word_error(error: EmulatedError) -> bytes:
            whole = b"" if streamed else self._vendor.render_error(error, wire, self._service).body
            return whole or self._vendor.render_late_error(error, wire, self._service)

        bounds = self._emulator.bounds
        delivery = replace(delivery, word_error=word_error, max_added=bounds.added, writes=bounds.writes)

        def note(fault: AnyFault, before: FaultableResponse, after: FaultableResponse) -> None:
            exchange.strikes = locate_faults(
                exchange.strikes, fault.type, before, after, whole_events=fault.whole_events
            )

        return apply_faults(delivery, exchange.faults, note if self._emulator.journal.bodies else None)


async def _fill_reply(match: Match, facts: RequestAttributes, key: bytes, now: float, most: int) -> Match:
    """The match with a reply that says of the request what its placeholders stand for.

    Raises:
        EmulatedError: it would be more text than there may be.
    """
    reply = match.outcome.reply
    if reply is None or not reply.template or reply.text is None:
        return match
    given = (reply.text, facts, key, now, most)
    try:
        text = await run_in_thread(fill, *given) if is_heavy(reply.text, facts) else fill(*given)
    except TooMuchTextError:
        name = "" if match.rule is None else match.rule.name
        log.error("the reply of rule %r takes more than %d bytes once its placeholders are filled in", name, most)
        raise EmulatedError(ErrorKind.INTERNAL, f"The reply of a rule takes more than {most} bytes.") from None
    filled = reply.model_copy(update={"text": text})
    return replace(match, outcome=match.outcome.model_copy(update={"reply": filled}))


async def _word(call: InferenceCall, plan: Plan, wire: Request) -> Response | StreamingResponse:
    """The plan in the vendor's words; a stream finds them as it goes."""
    codec = call.codec
    if call.stream:
        return codec.stream(plan, wire)
    vector = 0 if plan.vectors is None or not len(plan.vectors) else len(plan.vectors[0])
    if call.is_cpu_heavy or is_slow(call.request, call.deployment, vector):
        return await run_in_thread(codec.render, plan, wire)
    return codec.render(plan, wire)


def _ask(match: Match, headers: Mapping[str, str], most: int) -> Match:
    """What a rule makes of a call, or what the request's headers ask for in its place."""
    if FAULT not in headers and ERROR not in headers and TTFT not in headers:
        return match
    faults = headers.getall(FAULT, []) if isinstance(headers, MultiMapping) else [headers.get(FAULT, "")]
    outcome = apply_header_overrides(
        match.outcome, error=headers.get(ERROR), faults=faults, ttft=headers.get(TTFT), most=most
    )
    return replace(match, outcome=outcome)


def _is_full(match: Match) -> bool:
    """A rule refuses for lack of capacity, or because something broke."""
    error = match.outcome.error
    return error is not None and error.kind in _CAPACITY


_NAMES = ("session", "error", "fault", "ttft", "timing", "token")


def check_headers(headers: Iterable[str]) -> None:
    """Refuse a request header that looks like one of the emulator's own and is none.

    Raises:
        AskedError: it names those there are.
    """
    for header in headers:
        name = header.lower().removeprefix(PREFIX)
        if len(name) < len(header) and name not in _NAMES:
            hint = find_nearest_name(name, _NAMES)
            meant = f"did you mean {PREFIX}{hint}? There are" if hint else "there are"
            raise HeaderOverrideError(
                f"{PREFIX}{name}: no such header; {meant} {', '.join(map(PREFIX.__add__, _NAMES))}"
            )


def _refuse_unmatched(wire: Request, verdicts: Sequence[RuleResult]) -> Response:
    """The answer of a strict scenario to a call that no rule takes; no vendor's words."""
    log.warning("no rule matches %s %s: %s", wire.method, wire.path, describe_nearest(verdicts, loggable=True))
    text = f"No rule matches this call, and the scenario is strict. {describe_nearest(verdicts)}\n"
    return Response(501, text.encode(), (("Content-Type", "text/plain; charset=utf-8"),))


def refuse_overrides(error: HeaderOverrideError) -> Response:
    """400 in the emulator's own words; no vendor's."""
    said = str(error).encode("utf-8", "replace").decode()  # headers may hold bytes that are no text
    problem: JSON = {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": said}
    return Response(400, dump_json(problem), (("Content-Type", "application/problem+json"),))


def with_headers(response: Response, headers: Mapping[str, str]) -> Response:
    """The response with an injected error's own headers in place of equal names."""
    if not headers:
        return response
    replaced = {name.lower() for name in headers}
    kept = tuple(pair for pair in response.headers if pair[0].lower() not in replaced)
    return replace(response, headers=(*kept, *headers.items()))
