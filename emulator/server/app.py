"""The road every request takes: accept, authenticate, parse, decide, play, record."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import quote

from aiohttp import web

from emulator.control.journal import Entry, Evidence, Journal
from emulator.core.delivery import Delivery
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import canonical_json
from emulator.core.plan import Plan
from emulator.core.seed import derive
from emulator.core.vendor import Call, Service, Vendor, VendorSettings
from emulator.core.wire import Headers, WireRequest, WireResponse, WireStream
from emulator.faults import AnyFault
from emulator.limits import Admission
from emulator.pipeline import Emulator, see
from emulator.scenario.asked import AskedError
from emulator.scenario.match import Match, Verdict
from emulator.scenario.outcomes import NOTHING
from emulator.server.asked import heed, heed_not, refuse_asked
from emulator.server.bend import bend
from emulator.server.body import read_body
from emulator.server.memo import Known, Memo
from emulator.server.metrics import VendorMetrics
from emulator.server.player import Played, Player
from emulator.server.pump import Sent
from emulator.server.refuse import NO_WAIT, refuse_unmatched, with_headers
from emulator.server.routing import Router

log = logging.getLogger("emulator")
_NO_QUERY: Mapping[str, str] = {}
_NO_ANSWER = WireResponse(204)
_BUG = WireResponse(  # our own mistakes never hide in a vendor's envelope
    500,
    b"The emulator itself failed; its log has the traceback. Please report it.\n",
    (("Content-Type", "text/plain; charset=utf-8"), ("x-emulator-bug", "1")),
    close=True,
)


@dataclass(slots=True, eq=False)
class _Answer:
    """What the road has found out so far; what is known is recorded even if it ends early."""

    identity: bytes = b""
    attempt: int = 0
    match: Match | None = None
    call: Call | None = None
    plan: Plan | None = None
    admission: Admission | None = None
    error: str | None = None

    @property
    def rule(self) -> str | None:
        """Name of the rule that took the request."""
        return self.match.rule.name if self.match is not None and self.match.rule is not None else None

    @property
    def faults(self) -> tuple[AnyFault, ...]:
        """What bends the answer, in order."""
        return self.match.outcome.faults if self.match is not None else ()


class VendorApp:
    """One vendor, mounted."""

    def __init__(
        self,
        vendor: Vendor,
        service: Service[VendorSettings],
        emulator: Emulator,
        journal: Journal,
        *,
        closing: asyncio.Event,
        header_faults: bool = True,
    ) -> None:
        self.vendor = vendor
        self.service = service
        self._metrics = cast(VendorMetrics, service.metrics)
        self.emulator = emulator
        self._journal = journal
        self._router = Router(vendor.endpoints)
        self._memo = Memo(vendor.reads)
        self._closing = closing
        self._heed = heed if header_faults else heed_not

    async def serve(self, http: web.BaseRequest, path: str, base_url: str) -> Played:
        """Answer one request; every outcome is played and recorded the same way."""
        emulator = self.emulator
        started = emulator.clock.now()
        wire = WireRequest(
            method=http.method,
            path=path,
            query=http.query if "?" in http.raw_path else _NO_QUERY,
            headers=http.headers,
            base_url=base_url,
            session=http.headers.get("x-emulator-session", ""),
        )
        metrics = self._metrics
        metrics.running += 1
        answer = _Answer()
        player = Player(http, emulator.clock, started, self._closing, self.vendor)
        try:
            response = await self._answer(http, wire, answer, started)
            player.extra = _extra(wire, answer)
            if answer.admission is not None and _has_left(http):
                return player.abort()
            return await player.play(response, answer.plan.due if answer.plan is not None else 0.0)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("bug in the emulator: %s %s", wire.method, wire.path)
            return player.abort() if player.sent.status else await player.play(_BUG)
        finally:
            metrics.running -= 1
            if answer.admission is not None:
                await self._release(answer.admission, answer, player.sent, started)
            self._record(wire, answer, player.sent, started)

    async def _answer(
        self, http: web.BaseRequest, wire: WireRequest, answer: _Answer, started: float
    ) -> WireResponse | WireStream | Delivery:
        response: WireResponse | WireStream
        try:
            wire.body = await read_body(http, self.vendor.body_limit)
            response = await self._decide(wire, answer, started)
        except EmulatedError as error:
            answer.error = error.kind
            answer.plan = None
            if not any(wire.key):
                await self._name(wire, answer)
            response = self._refuse(error, wire)
        except AskedError as error:
            answer.error = "asked"
            return refuse_asked(error)
        faults = answer.faults
        return bend(response, faults, self.vendor, self.service, wire, answer.call, answer.plan) if faults else response

    async def _decide(self, wire: WireRequest, answer: _Answer, started: float) -> WireResponse | WireStream:
        """Read a request and decide its answer; raises what the vendor refuses."""
        parsed = await self._read(wire, answer)
        match = await self.emulator.match(self.vendor.name, wire, parsed, answer.identity, answer.attempt, started)
        answer.match = match = self._heed(match, wire.headers)
        if isinstance(parsed, WireResponse):
            if match.outcome.error is not None:
                raise match.outcome.error.to_error()
            return parsed
        answer.call = parsed
        if match.outcome is NOTHING and self.emulator.strict:
            answer.error = "unmatched"
            return refuse_unmatched(wire, self.judge(wire, answer, parsed, started))
        gate = self.emulator.gate
        if gate is None or match.outcome.error is not None:
            repeated = answer.identity if answer.attempt and parsed.repeatable else None
            plan = self.emulator.decide(parsed, match, wire.key, started, repeated=repeated)
        else:
            plan, answer.admission = await self.emulator.admit(parsed, match, wire.key, started, gate)
        answer.plan = plan
        codec = parsed.codec
        return (codec.stream if parsed.stream else codec.render)(plan, parsed, self.service)

    async def _read(self, wire: WireRequest, answer: _Answer) -> Call | WireResponse:
        """Accept, authenticate, parse; what is known of an equal request is not found out again."""
        missing = endpoint = None
        try:
            endpoint, wire.params = self._router.resolve(wire.method, wire.path)
        except EmulatedError as error:
            missing = error
        if endpoint is None or not endpoint.open:
            wire.principal = self.vendor.authenticate(wire, self.service)
        known = self._memo.find(wire)
        await self._name(wire, answer, known)
        if known is not None:
            return replace(known.call, request=wire)
        if missing is not None or endpoint is None:
            raise missing or EmulatedError(ErrorKind.NOT_FOUND)
        parsed = endpoint.parse(wire, self.service)
        if answer.attempt and isinstance(parsed, Call):
            self._memo.remember(wire, answer.identity, parsed)
        return parsed

    async def _release(self, admission: Admission, answer: _Answer, sent: Sent, started: float) -> None:
        """Settle with what was sent, and give up the place when the answer was over, however late that is noticed."""
        now = self.emulator.clock.now()
        tokens = None if answer.plan is None else _count_sent(answer.plan, sent)
        await self.emulator.release(admission, tokens, min(now, started + sent.reached) if sent.whole else now)

    async def _name(self, wire: WireRequest, answer: _Answer, known: Known | None = None) -> None:
        """Give the request its key: identity and attempt."""
        answer.identity = identity = identify(self.vendor.name, wire) if known is None else known.identity
        answer.attempt = await self.emulator.state.count(wire.session, "attempt", identity)
        wire.key = derive(self.emulator.seed, "answer", identity, answer.attempt)

    def _refuse(self, error: EmulatedError, wire: WireRequest) -> WireResponse:
        """The vendor's words for a refusal; what a client is told to wait is in its own seconds."""
        clock, headers = self.emulator.clock, error.headers
        if error.retry_after:
            until = clock.now() + error.retry_after
            error.retry_after = clock.to_client(error.retry_after)
            if not error.retry_after:
                headers = {**NO_WAIT, **headers}
            asyncio.get_running_loop().call_soon(clock.leave_client, until)
        return with_headers(self.vendor.render_error(error, wire, self.service), headers)

    def explain(self, entry: Entry) -> tuple[Verdict, ...]:
        """What each rule said to a recorded request, up to the one that took it."""
        evidence = entry.evidence
        if evidence is None:
            return ()
        wire = evidence.request
        found: Call | WireResponse = _NO_ANSWER
        if entry.deployment is not None:  # a management route may not be run again
            endpoint, _ = self._router.resolve(wire.method, wire.path)
            found = endpoint.parse(wire, self.service)
            wire.forget_json()
        return self.judge(wire, evidence, found, entry.time)

    async def try_out(self, wire: WireRequest) -> tuple[tuple[Verdict, ...], str | None]:
        """What each rule says to a request, and the kind of refusal it meets; nothing is sent or recorded."""
        answer = _Answer()
        now = self.emulator.clock.now()
        try:
            await self._decide(wire, answer, now)
        except EmulatedError as error:
            answer.error = error.kind
        if answer.match is None:
            return (), answer.error
        return self.judge(wire, answer, answer.call or _NO_ANSWER, now), answer.error

    def judge(
        self, wire: WireRequest, seen: _Answer | Evidence, parsed: Call | WireResponse, now: float
    ) -> tuple[Verdict, ...]:
        """What each rule says to a request admitted at ``now``."""
        since_start = now - self.emulator.started
        facts = see(self.vendor.name, wire, parsed, seen.identity, seen.attempt, since_start)
        return self.emulator.explain(facts, seen.match or Match())

    def _record(self, wire: WireRequest, answer: _Answer, sent: Sent, started: float) -> None:
        now = self.emulator.clock.now()
        plan, call = answer.plan, answer.call
        usage = plan.usage if plan is not None else None
        entry = Entry(
            id=wire.key.hex(),
            time=started,
            vendor=self.vendor.name,
            method=wire.method,
            path=wire.path,
            status=sent.status,
            deployment=call.deployment.name if call is not None else None,
            principal=wire.principal,
            session=wire.session,
            rule=answer.rule,
            error=answer.error,
            prompt_tokens=usage.prompt_tokens if usage is not None else 0,
            completion_tokens=usage.completion_tokens if usage is not None else 0,
            sent_tokens=_count_sent(plan, sent) if plan is not None else 0,
            planned_ttft=_plan_ttft(plan, call) if plan is not None and call is not None else None,
            ttft=sent.first - started if sent.first else None,
            duration=now - started,
            whole=sent.whole,
            faults=tuple([fault.type for fault in answer.faults]),
        )
        if answer.match is not None and self.emulator.rules:
            wire.forget_json()
            entry.evidence = Evidence(self, wire, answer.match, answer.identity, answer.attempt)
        self._journal.add(entry)
        self._metrics.add(entry)


def _has_left(http: web.BaseRequest) -> bool:
    """The client hung up, as it may while it waits for a place."""
    return http.transport is None or http.transport.is_closing()


def _count_sent(plan: Plan, sent: Sent) -> int:
    """Tokens of the answer that went out."""
    if sent.tokens is not None:
        return sent.tokens
    return plan.usage.completion_tokens if sent.whole else plan.count_due(sent.reached)


def _plan_ttft(plan: Plan, call: Call) -> float:
    """Seconds after admission at which the body is to begin."""
    due = plan.choices[0].due if call.stream and plan.choices else ()
    return float(due[0]) if len(due) else plan.due


def identify(vendor: str, wire: WireRequest) -> bytes:
    """What makes a request the same as another: no header, no session, no key order of its body."""
    body = wire.body
    if body:
        with suppress(ValueError, RecursionError):
            body = canonical_json(wire.json())
    query = "&".join(sorted(f"{k}={v}" for k, v in wire.query.items())) if wire.query else ""
    return derive(vendor, wire.method, wire.path, query, body, wire.principal)


def _extra(wire: WireRequest, answer: _Answer) -> Headers:
    name = ("x-emulator-request-id", wire.key.hex())
    return (name, ("x-emulator-rule", quote(answer.rule, safe=" !#$&'()*+,/:;=?@[]"))) if answer.rule else (name,)
