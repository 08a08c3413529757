"""Decide the response to a parsed request: match rules, build the plan, render it, apply faults.

``handler.py`` calls :class:`ResponseDecider` for each parsed request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from multidict import MultiMapping

from emulator.core.calls import Change, InferenceCall, InnerRequest
from emulator.core.cost_limits import INLINE_BYTES, is_slow
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread
from emulator.core.faultable import FaultableResponse
from emulator.core.http import DROPPED, Request, Response, StreamingResponse
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.text import escape
from emulator.core.vendor import AnyService, AnyVendor
from emulator.faults import AnyFault, apply_faults, locate_faults, measure
from emulator.handler.context import RequestContext, build_exact_key
from emulator.handler.diagnostics import Suggestions, check_limits
from emulator.handler.explain import explain_rules, read_context_attributes
from emulator.handler.forward import Forwarding
from emulator.handler.planning import Emulator
from emulator.handler.reply_functions import ReplyFunctions
from emulator.http.sessions import HEADER_PREFIX
from emulator.journal.entry import describe_nearest
from emulator.scenario.captures import find_captures
from emulator.scenario.errors import find_nearest_name
from emulator.scenario.header_overrides import (
    ERROR_HEADER,
    FAULT_HEADER,
    TTFT_HEADER,
    HeaderOverrideError,
    apply_header_overrides,
)
from emulator.scenario.matching import UNMATCHED, Match, RequestAttributes, RuleResult
from emulator.scenario.models import Replay
from emulator.scenario.outcomes import NO_OUTCOME
from emulator.scenario.placeholders import TooMuchTextError, fill, is_heavy

if TYPE_CHECKING:
    from emulator.handler.replay import Replayer
    from emulator.recording.replay import RecordedExchange

log = logging.getLogger("emulator")
_CAPACITY = frozenset(
    {ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.NOT_READY, ErrorKind.TIMEOUT, ErrorKind.INTERNAL}
)
_MAX_SHOWN = 200  # characters of a header in an explanation
_MAX_DOCUMENTS = 1000  # of a vendor in a session
_MAX_INLINE_TOKENS = 256  # rendered on the event loop, with however many alternatives
_FORWARDED = Response(502)  # in place of the response that the service gives
_MAX_INLINE_PIECES = 1024  # pieces times faults; above that faults are applied in the worker thread
_WAITS = ("retry-after", "retry-after-ms")
_RETRIED = frozenset({408, 409, 429})  # statuses, besides those from 500, that openai retries (``_should_retry``)
NO_WAIT = {"retry-after-ms": "1"}
"""Header for retries that cost no client time: clients ignore ``Retry-After: 0`` and back off, but obey this one.

Source: openai-python, src/openai/_base_client.py, ``_parse_retry_after_header`` and ``_calculate_retry_timeout``.
"""


class InnerHandler(Protocol):
    """Answers requests within another one."""

    async def answer_inner(self, inner: InnerRequest, outer: Request) -> tuple[int, bytes]:
        """Return status and body of the response."""


class ResponseDecider:
    """Decides the responses of one vendor; ``header_faults``: request headers may ask for errors and faults."""

    def __init__(
        self,
        vendor: AnyVendor,
        service: AnyService,
        emulator: Emulator,
        hints: Suggestions,
        *,
        header_faults: bool = True,
        forwarding: Forwarding | None = None,
        functions: ReplyFunctions | None = None,
    ) -> None:
        self._vendor = vendor
        self._forwarding = forwarding
        self._functions = functions
        self._hints = hints
        self._service = service
        self._emulator = emulator
        self._header_faults = header_faults
        self._replayer = None if emulator.replay is None else _create_replayer(vendor, emulator.replay, emulator)

    async def decide(
        self, context: RequestContext, handler: InnerHandler
    ) -> Response | StreamingResponse | FaultableResponse:
        """Return the response to the parsed request; ``handler``: answers those within it.

        Raises:
            EmulatedError: a rule or a limit refuses the request.
            HeaderOverrideError: a request header asks for an unknown fault.
        """
        emulator, request = self._emulator, context.request
        if emulator.budget is not None and context.call is not None and context.spending is None:
            since_start = context.started - emulator.started
            context.spending = await emulator.budget.reserve(request, context.fingerprint, since_start)
        is_ruled = emulator.rules or context.overrides
        context.match = match = await self._match_or_fall_back(context) if is_ruled else UNMATCHED
        parsed = context.parsed
        if emulator.seeks_elsewhere and match.outcome.error is None and match.outcome.reply is None:
            elsewhere = await self._seek(context, match)
            if elsewhere is not None:
                return elsewhere
        if not isinstance(parsed, InferenceCall):
            assert parsed is not None
            return await self._conclude(parsed, match, request, handler)
        if emulator.unmatched == "refuse" and self._is_missing(match):
            return self._refuse_unmatched(context)
        if match.outcome.reply is not None and match.outcome.reply.template:
            match = await self._fill_reply(match, context)
        context.plan = plan = await self._plan(parsed, match, context)
        if parsed.store_result is not None:
            await self._store_result(parsed, plan, context)
        given = parsed, plan, request
        return await run_in_thread(_render, *given) if _renders_long(parsed, plan) else _render(*given)

    async def _fill_reply(self, match: Match, context: RequestContext) -> Match:
        """Return the match with what a function replies, or with the placeholders of its reply filled in."""
        emulator, request = self._emulator, context.request
        attributes = read_context_attributes(emulator, self._vendor.name, context)
        if self._functions is not None and match.rule is not None:
            function = self._functions.find(request.session, match.rule.name)
            if function is not None:
                reply = await self._functions.call(function, attributes)
                return replace(match, outcome=match.outcome.model_copy(update={"reply": reply}))
        return await _fill_reply(match, attributes, request.key, context.started, emulator.bounds.filled)

    async def _match_or_fall_back(self, context: RequestContext) -> Match:
        """Set and return the match of a call; take its next fallback while a rule refuses it for lack of capacity."""
        emulator, request = self._emulator, context.request
        while True:
            match = UNMATCHED
            if emulator.rules:
                found = emulator.match(read_context_attributes(emulator, self._vendor.name, context))
                match = found if isinstance(found, Match) else await found
            if context.overrides and self._header_faults:
                match = _apply_overrides(match, request.headers, emulator.bounds.faults)
                context.hint = _explain_overrides(request.headers)
            context.match = match
            if match.outcome.error is None:
                return match
            if not request.has_key:  # refused before the quotas are charged
                await emulator.assign_key(request, context.fingerprint)
            if context.call is None or context.call.fallback is None or not _has_capacity_error(match):
                return match
            context.set_parsed(context.call.fallback())

    async def _seek(self, context: RequestContext, match: Match) -> Response | FaultableResponse | None:
        """Return the recorded response; or mark the request to be forwarded, without the faults of its rule."""
        if self._replayer is not None:
            recorded = await self._replayer.find(context)
            if recorded is not None:
                return await self._replay(recorded, context, match)
        if self._emulator.unmatched in ("forward", "record") and not match.outcome.pass_:
            return self._forward(context)
        return None

    def _is_missing(self, match: Match) -> bool:
        """Return whether a call has no answer: no rule matches, or in a replay none that sets the answer."""
        outcome = match.outcome
        if self._replayer is None or outcome is NO_OUTCOME:
            return outcome is NO_OUTCOME
        return outcome.error is None and outcome.reply is None and not outcome.pass_

    async def _replay(self, recorded: RecordedExchange, context: RequestContext, match: Match) -> FaultableResponse:
        """Return the response of an exchange; an answer of a model costs quota as any other."""
        assert self._replayer is not None
        context.hint = _explain_replay(recorded, match)
        found = self._replayer.read(recorded)
        if context.call is not None and found.is_planned:
            context.plan = await self._plan(context.call, found.fix(match), context)
        elif not context.request.has_key:
            await self._emulator.assign_key(context.request, context.fingerprint)
        return found.build(context.plan)

    async def replay_refused(
        self, error: EmulatedError, context: RequestContext
    ) -> Response | FaultableResponse | None:
        """Return the recorded response to a request that the vendor's parser refuses, or mark it to be forwarded.

        A request without a valid credential gets only a recorded refusal of one.
        """
        if context.parsed is not None or not self._emulator.seeks_elsewhere:
            return None
        if error.kind is not ErrorKind.UNAUTHENTICATED:
            return await self._seek(context, UNMATCHED)
        recorded = None if self._replayer is None else await self._replayer.find(context, is_refused=True)
        return None if recorded is None else await self._replay(recorded, context, UNMATCHED)

    def _forward(self, context: RequestContext) -> Response:
        """Mark a request to be forwarded; without a target the request is refused."""
        name, policy, targets = self._vendor.name, self._emulator.unmatched, self._forwarding
        if context.is_inner:
            context.error = "unmatched"
            return _refuse("No rule matches this request of a batch, and requests of a batch are not forwarded.")
        if targets is not None and targets.can_forward(name, context.request.session, records=policy == "record"):
            context.is_forwarded = True
            return _FORWARDED
        needs = f"--forward {name}=URL" + (" and --record-to FOLDER" if policy == "record" else "")
        context.error = "unmatched"
        return _refuse(f"The scenario has `unmatched: {policy}`, which needs `serve {needs}`.")

    def _refuse_unmatched(self, context: RequestContext) -> Response:
        """Return the response to a call that no rule and no recording answers; no vendor format."""
        request = context.request
        context.error = "unmatched"
        verdicts = explain_rules(self._emulator, self._vendor.name, context)
        if self._replayer is None:
            return _refuse_unmatched(request, verdicts)
        context.hint = missing = self._replayer.explain_miss(context)
        log.warning("not recorded: %s %s: %s", request.method, request.path, missing)
        rules = f" {describe_nearest(verdicts)}" if verdicts else ""
        return _refuse(f"This call is not recorded. {missing}{rules}")

    def _identify(self, context: RequestContext) -> Hashable:
        """Return the cache key of an exact request; ``None``: its body is too long."""
        body, place = context.request.body, context.target.place
        if len(body) > INLINE_BYTES:
            return None
        digest = blake2b(body, digest_size=16).digest()
        return build_exact_key((self._vendor.name, place), digest, context.request.principal)

    async def _plan(self, call: InferenceCall, match: Match, context: RequestContext) -> Plan:
        """Return the plan of a call, after admission if quotas or slots limit the call."""
        emulator, request, fingerprint = self._emulator, context.request, context.fingerprint
        repeated = self._identify(context) if context.repeats and call.repeatable else None
        admission = None
        if match.outcome.error is None and (emulator.is_bounded or call.quotas):
            admission = emulator.admit_now(call, request) or await emulator.admit(call, match, request, fingerprint)
        try:
            plan = emulator.decide_now(call, match, request.key, context.started, admission, repeated)
            if plan is None:
                plan = await run_in_thread(emulator.decide, call, match, request.key, context.started, admission)
            if admission is not None and admission.shares.has_places:
                await emulator.set_expected_end(admission, context.started + plan.due)
        except BaseException:
            if admission is not None:  # a call without an answer costs nothing
                await emulator.release(admission, None, emulator.clock.now())
            raise
        context.admission = admission
        return plan.abandon() if call.is_stopped else plan

    async def _conclude(
        self, parsed: Response | StreamingResponse | Change, match: Match, request: Request, handler: InnerHandler
    ) -> Response | StreamingResponse:
        """Return the response of a route without a model; apply a change unless a rule refuses it first."""
        error = match.outcome.error
        if isinstance(parsed, Change) and (error is None or error.after == "state"):
            if parsed.make_with is not None:
                parsed = parsed.make_with([await handler.answer_inner(inner, request) for inner in parsed.inner])
            parsed = await self._apply(parsed, request)
        if error is not None:
            raise error.to_error()
        assert not isinstance(parsed, Change)
        return parsed

    async def _store_result(self, call: InferenceCall, plan: Plan, context: RequestContext) -> None:
        """Store the document of a response before it is sent; evict the oldest document beyond the maximum."""
        state, collection, session = self._emulator.state, self._vendor.name, context.request.session
        assert call.store_result is not None
        key, document = call.store_result(plan, context.request)
        documents = await state.fetch(session, collection)
        await self._evict_document(session, documents, key)
        await state.store(session, collection, key, document, documents.get(key))
        if call.at_once:
            context.plan = replace(plan, due=0.0)

    async def _evict_document(self, session: str, documents: Mapping[str, JSON], key: str) -> None:
        """Delete the oldest document if the session has the maximum and ``key`` is new."""
        if len(documents) >= _MAX_DOCUMENTS and key not in documents:
            oldest = next(iter(documents))
            await self._emulator.state.store(session, self._vendor.name, oldest, None, documents[oldest])

    async def _apply(self, change: Change, request: Request) -> Response:
        state, collection = self._emulator.state, self._vendor.name
        while True:
            documents = await state.fetch(request.session, collection)
            write = change.make(documents)
            if isinstance(write, Response):
                return write
            for key in write.dropped:
                await state.store(request.session, collection, key, None, documents[key])
            if write.dropped:
                documents = await state.fetch(request.session, collection)
            if write.document is not None:
                await self._evict_document(request.session, documents, write.key)
            if await state.store(request.session, collection, write.key, write.document, documents.get(write.key)):
                if change.then is not None:
                    await change.then(request.session)
                return write.response

    async def refuse(self, error: EmulatedError, context: RequestContext) -> Response:
        """Return an error rendered by the vendor, with its retry delay in wall-clock seconds."""
        clock, headers = self._emulator.clock, error.headers
        self.explain(error, context)
        is_converted = clock.to_client(1.0) != 1.0
        if is_converted and error.retry_after is None and not (error.is_final or _names_wait(headers)):
            error.retry_after = _find_wait(await self._render_error(error, context.request))
        if error.retry_after:
            until = clock.now() + error.retry_after
            error.retry_after = clock.to_client(error.retry_after)
            if not error.retry_after:
                headers = {**NO_WAIT, **headers}
            asyncio.get_running_loop().call_soon(clock.on_client_left, until)
        rendered = await self._render_error(error, context.request)
        if error.is_final or (is_converted and error.retry_after is not None):
            rendered = _replace_wait(rendered, error)
        if clock.spares_backoff and _is_retried(rendered.status) and not (error.is_final or _names_wait(headers)):
            headers = {**NO_WAIT, **headers}
        return with_headers(rendered, headers)

    async def _render_error(self, error: EmulatedError, request: Request) -> Response:
        given = error, request, self._service
        if len(request.body) > INLINE_BYTES:  # a vendor may parse the body again
            return await run_in_thread(self._vendor.render_error, *given)
        return self._vendor.render_error(*given)

    def explain(self, error: EmulatedError, context: RequestContext) -> None:
        """Set the limits and the hint of a refused request, unless a rule asked for the refusal."""
        if context.match is None or context.match.outcome.error is None:
            context.limits = check_limits(error)
            context.hint = self._hints.explain(error, context.request, self._service)

    async def apply_faults(
        self, answer: Response | StreamingResponse | FaultableResponse, context: RequestContext
    ) -> Response | StreamingResponse | FaultableResponse:
        """Return the response with its faults applied in order; a dropped connection stays as it is."""
        if isinstance(answer, Response) and answer.status == DROPPED:
            return answer
        tokens = 0 if context.plan is None else context.plan.usage.completion_tokens
        long = tokens * sum(fault.pieces for fault in context.faults) > _MAX_INLINE_PIECES
        if isinstance(answer, Response):
            long = long or len(answer.body) * len(context.faults) > INLINE_BYTES
        return await run_in_thread(self._apply_faults, answer, context) if long else self._apply_faults(answer, context)

    def _apply_faults(
        self, answer: Response | StreamingResponse | FaultableResponse, context: RequestContext
    ) -> FaultableResponse:
        if isinstance(answer, FaultableResponse):
            faultable = answer
        else:
            faultable = measure(answer, plan=context.plan, fields=self._vendor.fields)
        request, streamed = context.request, faultable.streamed  # the closure must not hold the context: a cycle

        def word_error(error: EmulatedError) -> bytes:
            whole = b"" if streamed else self._vendor.render_error(error, request, self._service).body
            return whole or self._vendor.render_late_error(error, request, self._service)

        bounds = self._emulator.bounds
        faultable = replace(faultable, render_error=word_error, max_added=bounds.added, writes=bounds.writes)

        def record_site(fault: AnyFault, before: FaultableResponse, after: FaultableResponse) -> None:
            context.fault_sites = locate_faults(
                context.fault_sites, fault.type, before, after, whole_events=fault.whole_events
            )

        sent = apply_faults(faultable, context.faults, record_site if self._emulator.journal.bodies else None)
        has_new_error = sent.status != faultable.status and _is_retried(sent.status)
        if has_new_error and self._emulator.clock.spares_backoff and not _names_wait(name for name, _ in sent.headers):
            sent = replace(sent, headers=(*sent.headers, *NO_WAIT.items()))
        return sent


def _explain_replay(recorded: RecordedExchange, match: Match) -> str:
    """Name the file of a recording, and the rule that changes how its response is sent."""
    rule = "" if match.rule is None else f", as rule {match.rule.name!r} says"
    return f"Replayed from {PurePath(recorded.exchange.source).name or 'a recording'}{rule}."


def _create_replayer(vendor: AnyVendor, settings: Replay, emulator: Emulator) -> Replayer:
    from emulator.handler.replay import Replayer  # not needed without a replay

    return Replayer(vendor, settings, emulator)


async def _fill_reply(match: Match, attributes: RequestAttributes, key: bytes, now: float, most: int) -> Match:
    """Return the match with the placeholders of its reply filled in.

    Raises:
        EmulatedError: the filled text exceeds ``most`` bytes.
    """
    reply = match.outcome.reply
    if reply is None or not reply.template or reply.text is None:
        return match
    when = match.rule.when if match.rule is not None else None
    captures = dict if when is None else partial(find_captures, when, attributes)
    given = (reply.text, attributes, key, now, most, captures)
    try:
        text = await run_in_thread(fill, *given) if is_heavy(reply.text, attributes) else fill(*given)
    except TooMuchTextError:
        name = "" if match.rule is None else match.rule.name
        log.error("the reply of rule %r exceeds %d bytes after its placeholders are filled in", name, most)
        raise EmulatedError(ErrorKind.INTERNAL, f"The reply of a rule takes more than {most} bytes.") from None
    filled = reply.model_copy(update={"text": text})
    return replace(match, outcome=match.outcome.model_copy(update={"reply": filled}))


def _render(call: InferenceCall, plan: Plan, request: Request) -> Response | StreamingResponse:
    """Render a plan in the vendor's format; a stream renders its events while they are written."""
    codec = call.codec
    return codec.stream(plan, request) if call.stream else codec.render(plan, request)


def _renders_long(call: InferenceCall, plan: Plan) -> bool:
    """Return whether rendering takes long and belongs in the worker thread."""
    if call.stream:
        return False
    if plan.vectors is None and plan.usage.completion_tokens <= _MAX_INLINE_TOKENS:
        return call.is_cpu_heavy
    vector = 0 if plan.vectors is None or not len(plan.vectors) else len(plan.vectors[0])
    return call.is_cpu_heavy or is_slow(call.request, call.deployment, vector)


def _explain_overrides(headers: Mapping[str, str]) -> str:
    """Return a sentence that names the headers of a request that asked for its error, fault or delay; else empty."""
    asked = [
        f"{name}: {escape(headers[name][:_MAX_SHOWN])}"
        for name in (ERROR_HEADER, FAULT_HEADER, TTFT_HEADER)
        if name in headers
    ]
    return f"The request asked for it itself: {', '.join(asked)}." if asked else ""


def _apply_overrides(match: Match, headers: Mapping[str, str], most: int) -> Match:
    """Return the match with its outcome replaced by what the request headers ask for."""
    if FAULT_HEADER not in headers and ERROR_HEADER not in headers and TTFT_HEADER not in headers:
        return match
    faults = headers.getall(FAULT_HEADER, []) if isinstance(headers, MultiMapping) else [headers.get(FAULT_HEADER, "")]
    outcome = apply_header_overrides(
        match.outcome, error=headers.get(ERROR_HEADER), faults=faults, ttft=headers.get(TTFT_HEADER), most=most
    )
    return replace(match, outcome=outcome)


def _has_capacity_error(match: Match) -> bool:
    """Return whether a rule refuses for lack of capacity or with a server error."""
    error = match.outcome.error
    return error is not None and error.kind in _CAPACITY


_NAMES = ("session", "error", "fault", "ttft", "timing", "token")


def validate_override_names(headers: Iterable[str]) -> None:
    """Validate that every ``x-emulator-*`` request header is a known one.

    Raises:
        HeaderOverrideError: a header is unknown; its message lists the known ones.
    """
    for header in headers:
        name = header.lower().removeprefix(HEADER_PREFIX)
        if len(name) < len(header) and name not in _NAMES:
            hint = find_nearest_name(name, _NAMES)
            meant = f"did you mean {HEADER_PREFIX}{hint}? There are" if hint else "there are"
            raise HeaderOverrideError(
                f"{HEADER_PREFIX}{name}: no such header; {meant} {', '.join(map(HEADER_PREFIX.__add__, _NAMES))}"
            )


_UNMATCHED_HEADERS = (("Content-Type", "application/json"), ("x-should-retry", "false"))


def _refuse_unmatched(request: Request, verdicts: Sequence[RuleResult]) -> Response:
    """Return the response of a strict scenario to a call that no rule matches."""
    log.warning("no rule matches %s %s: %s", request.method, request.path, describe_nearest(verdicts, loggable=True))
    return _refuse(f"No rule matches this call, and the scenario is strict. {describe_nearest(verdicts)}")


def _refuse(reason: str) -> Response:
    """Return the response to a call that nothing answers, in a form that every SDK shows.

    openai's SDK repeats a 501 unless ``x-should-retry`` says otherwise (`openai/_base_client.py`, ``_should_retry``).
    """
    body: JSON = {"error": {"message": reason, "type": "emulator_unmatched", "param": None, "code": None}}
    return Response(501, dump_json(body), _UNMATCHED_HEADERS)


def refuse_overrides(error: HeaderOverrideError) -> Response:
    """Return a 400 problem response, which is the emulator's own format."""
    detail = str(error).encode("utf-8", "replace").decode()  # headers may hold bytes that are not UTF-8
    problem: JSON = {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": detail}
    return Response(400, dump_json(problem), (("Content-Type", "application/problem+json"),))


def _is_retried(status: int) -> bool:
    """Return whether openai retries a response; a dropped connection has no status."""
    return status in _RETRIED or status >= 500


def _names_wait(headers: Iterable[str]) -> bool:
    return any(name.lower() in _WAITS for name in headers)


def _find_wait(response: Response) -> float | None:
    """Return the seconds of a vendor's own ``Retry-After``."""
    for name, value in response.headers:
        if name.lower() == _WAITS[0]:
            return float(value)
    return None


def _replace_wait(response: Response, error: EmulatedError) -> Response:
    """Return the response with the error's wait in its headers; without these headers if no wait helps."""
    waits = {} if error.is_final else dict(zip(_WAITS, (str(error.wait), str(error.wait_ms)), strict=True))
    headers = [
        (name, waits.get(name.lower(), value))
        for name, value in response.headers
        if not error.is_final or name.lower() not in _WAITS
    ]
    return replace(response, headers=(*headers,))


def with_headers(response: Response, headers: Mapping[str, str]) -> Response:
    """Return the response with an injected error's headers in place of those with equal names."""
    if not headers:
        return response
    replaced = {name.lower() for name in headers}
    others = tuple(pair for pair in response.headers if pair[0].lower() not in replaced)
    return replace(response, headers=(*others, *headers.items()))
