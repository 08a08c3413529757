"""The road every request takes: read, decide, play, record."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from urllib.parse import quote

from aiohttp import web

from emulator.core.cancellation import CancellableResponse
from emulator.core.compression import unpack
from emulator.core.errors import EmulatedError
from emulator.core.faultable import FaultableResponse
from emulator.core.http import NOTHING, Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.storage import DocumentsError, LocalState
from emulator.core.vendor import AnyService, AnyVendor, InferenceCall
from emulator.handler.context import RequestContext
from emulator.handler.decide import ResponseDecider, check_headers, refuse_overrides
from emulator.handler.diagnostics import Suggestions
from emulator.handler.explain import Explainer, judge
from emulator.handler.parse import RequestParser, read_body
from emulator.handler.planning import Emulator
from emulator.handler.record import CallRecorder
from emulator.http.cached_head import CachedHead, Name
from emulator.http.fast_path import FastHandler
from emulator.http.response_head import identify_response
from emulator.http.sessions import SessionRoute
from emulator.http.stream_writer import TIMING
from emulator.http.writer import ResponseWriter, WriteResult
from emulator.journal.journal import Journal
from emulator.observability.spans import Spans
from emulator.observability.timing import TimingReport
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.scenario.header_overrides import HeaderOverrideError
from emulator.scenario.matching import RuleResult

log = logging.getLogger("emulator")
_BUG = Response(  # our own mistakes never hide in a vendor's envelope
    500,
    b"The emulator itself failed; its log has the traceback. Please report it.\n",
    (("Content-Type", "text/plain; charset=utf-8"), ("x-emulator-bug", "1")),
    close=True,
)


class VendorApp:
    """One vendor, mounted."""

    def __init__(
        self,
        vendor: AnyVendor,
        service: AnyService,
        emulator: Emulator,
        journal: Journal,
        timing: TimingReport,
        metrics: VendorMetrics,
        *,
        hints: Suggestions,
        closing: asyncio.Event,
        header_faults: bool = True,
        spans: Spans | None = None,
    ) -> None:
        self.vendor = vendor
        self.service = service
        self.emulator = emulator
        self._metrics = metrics
        metrics.register(service.deployments)
        self._reader = RequestParser(vendor, service, emulator)
        self._decider = ResponseDecider(vendor, service, emulator, hints, header_faults=header_faults)
        self.explainer = explainer = Explainer(vendor.name, self._reader, emulator)
        self._recorder = CallRecorder(vendor.name, emulator, journal, timing, metrics, explainer)
        self._quick: FastHandler | None = None
        self._spans = spans
        if emulator.has_no_rules and isinstance(emulator.state, LocalState) and spans is None:
            self._quick = FastHandler(
                vendor, service, emulator, emulator.state, self._reader.memo, self._recorder, metrics
            )
        self._closing = closing
        self._journal = journal

    async def serve(self, http: web.BaseRequest, found: SessionRoute, path: str, base_url: str) -> WriteResult:
        """Answer one request; every outcome is played and recorded the same way."""
        exchange = self._receive(http, found, path, base_url)
        player = ResponseWriter(self.vendor, self.emulator.clock, self._closing, http, exchange, self._recorder.record)
        self._metrics.running += 1
        left = False
        try:
            exchange.answer = answer = await self._answer(http, exchange)
            self._metrics.work(exchange.call, 1)
            exchange.extra = _extra(exchange)
            if exchange.overrides and found.headers.get(TIMING) == "1":
                player.planned_ttft = exchange.planned_ttft or 0.0
            if exchange.admission is not None and _has_left(http):
                left = True
                return player.abort()
            return await self._play(player, exchange, answer)
        except (ConnectionError, asyncio.CancelledError):
            left = True
            raise
        except Exception:
            log.exception("bug in the emulator: %s %s", http.method, path)
            return player.abort() if exchange.sent.status else await player.write(_BUG)
        finally:
            self._metrics.running -= 1
            if exchange.answer is not None:
                self._metrics.work(exchange.call, -1)
            if exchange.admission is not None:
                await self._recorder.settle(exchange, exchange.admission)
            trace = self._recorder.close(exchange, left=left)
            if self._spans is not None and exchange.span is not None:
                self._spans.end(exchange.span, self.vendor, exchange, trace, self.emulator.clock)

    async def _play(
        self, player: ResponseWriter, exchange: RequestContext, answer: Response | StreamingResponse | FaultableResponse
    ) -> WriteResult:
        """Send the answer; meanwhile another request may stop it by a name of the call, or, bent by a fault, cut it."""
        plan, call = exchange.plan, exchange.call
        due = 0.0 if plan is None else plan.due
        if plan is None or call is None or call.cancel_ids is None:
            return await player.write(answer, due)
        running, session, names = self.service.running, exchange.wire.session, call.cancel_ids(plan.key)
        player.stoppable = not isinstance(answer, FaultableResponse)
        stop = partial(self._stop, player, exchange, call, plan) if player.stoppable else None
        answering = CancellableResponse(stop, player.abort)
        running.enter(session, names, answering)
        try:
            return await player.write(answer, due)
        finally:
            running.leave(session, names, answering)

    def _stop(self, player: ResponseWriter, exchange: RequestContext, call: InferenceCall, plan: Plan) -> None:
        if exchange.sent.whole:
            return
        exchange.plan = plan = plan.stop(self.emulator.clock.now() - exchange.started)
        codec = call.codec
        player.stop(codec.stream(plan, exchange.wire) if call.stream else codec.render(plan, exchange.wire))

    def _receive(self, http: web.BaseRequest, found: SessionRoute, path: str, base_url: str) -> RequestContext:
        session, journal = found.session, self._journal
        span = None if self._spans is None else self._spans.begin(http.method, found.headers)
        wire = Request(http.method, path, _query(http), found.headers, b"", NOTHING, base_url, "", session)
        wire.key_suffix = found.key_suffix
        exchange = RequestContext(
            wire, self.emulator.clock.now(), journal.epoch(session), journal.next_seq(), found.overrides
        )
        exchange.span = span
        return exchange

    async def _answer(
        self, http: web.BaseRequest, exchange: RequestContext
    ) -> Response | StreamingResponse | FaultableResponse:
        wire = exchange.wire
        response: Response | StreamingResponse
        try:
            if exchange.overrides:
                check_headers(wire.headers)
            bounds = self.emulator.bounds
            wire.most_values, wire.most_text = bounds.values, bounds.text
            wire.body = await read_body(http, min(self.vendor.body_limit, bounds.body))
            if "Content-Encoding" in http.headers:
                most = min(self.vendor.body_limit, bounds.decompressed)
                wire.body = await unpack(wire.body, http.headers["Content-Encoding"], most)
            response = await self._decide(exchange)
        except EmulatedError as error:
            exchange.error, exchange.refusal = error.kind, error
            exchange.plan = None
            await self._name(exchange)
            response = await self._decider.refuse(error, exchange)
            error.clear_traceback()
        except HeaderOverrideError as error:
            exchange.error, exchange.hint = "asked", str(error)
            await self._name(exchange)
            return refuse_overrides(error)
        return await self._decider.apply_faults(response, exchange)

    async def _decide(self, exchange: RequestContext) -> Response | StreamingResponse:
        """What is read, and decided; once more where documents turn out to have a say."""
        try:
            return await self._decide_once(exchange)
        except DocumentsError:
            self._reader.begin_again(exchange.wire)
            return await self._decide_once(exchange)

    async def _decide_once(self, exchange: RequestContext) -> Response | StreamingResponse:
        exchange.parsed = parsed = await self._reader.parse(exchange)
        try:
            return await self._decider.decide(exchange)
        finally:
            self._reader.remember(exchange, parsed)

    async def _name(self, exchange: RequestContext) -> None:
        """A request that was refused early has a name all the same."""
        if not exchange.wire.has_key:
            with suppress(EmulatedError):  # the store is away: it counts as the first attempt
                await self._reader.name(exchange)

    def cache_head(
        self,
        name: Name,
        http: web.BaseRequest,
        found: SessionRoute,
        path: str,
        base_url: str,
        worlds: tuple[object, object],
    ) -> CachedHead | None:
        """What is known of a head that came before; ``None``: each of its requests takes the long road."""
        if self._quick is None:
            return None
        endpoint, params = self._reader.find("POST", path)
        if endpoint is None or endpoint.is_public:
            return None
        head = CachedHead(
            name,
            *worlds,
            self._quick,
            endpoint,
            path,
            _query(http),
            params,
            found.headers,
            self._reader.limit(found.headers),
            base_url,
            found.session,
            found.key_suffix,
            self.vendor.is_stateful or endpoint.is_stateful,
        )
        head.place = self._reader.memo.place(head.open(b""))
        return head

    async def try_out(self, wire: Request) -> tuple[tuple[RuleResult, ...], str | None, str]:
        """What each rule says to a request, the kind of refusal it meets, and why; nothing is sent or recorded."""
        exchange = RequestContext(wire, self.emulator.clock.now())
        try:
            await self._decide(exchange)
        except EmulatedError as error:
            exchange.error = error.kind
            self._decider.explain(error, exchange)
        verdicts = () if exchange.match is None else judge(self.emulator, self.vendor.name, exchange)
        return verdicts, exchange.error, exchange.hint


def _query(http: web.BaseRequest) -> Mapping[str, str]:
    return http.query if "?" in http.raw_path else NOTHING


def _has_left(http: web.BaseRequest) -> bool:
    """The client hung up, as it may while it waits for a slot."""
    return http.transport is None or http.transport.is_closing()


def _extra(exchange: RequestContext) -> Headers:
    name = identify_response(exchange.wire.key)
    rule = exchange.rule
    return (name, ("x-emulator-rule", quote(rule, safe=" !#$&'()*+,/:;=?@[]"))) if rule else (name,)
