"""Request handler of one vendor: parse, decide, write and record every request.

``http/listeners.py`` calls :meth:`VendorApp.serve`, which runs the stages in order: ``parse.py`` parses the request,
``decide.py`` makes the response, ``http/writer.py`` writes it, ``recorder.py`` settles quotas and records the call.
``forward.py`` takes the place of the writer for a request that a real service answers.
"""

import asyncio
import logging
from contextlib import suppress
from functools import partial

from emulator.core.calls import InferenceCall, InnerRequest
from emulator.core.cancellation import CancellableResponse
from emulator.core.clock import read_wall
from emulator.core.compression import unpack
from emulator.core.errors import EmulatedError, shorten
from emulator.core.faultable import FaultableResponse
from emulator.core.http import NOTHING, Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.storage import DocumentsError
from emulator.core.vendor import AnyService, AnyVendor
from emulator.handler.context import RequestContext, RequestTarget
from emulator.handler.decide import ResponseDecider, refuse_overrides, validate_override_names
from emulator.handler.diagnostics import Suggestions
from emulator.handler.explain import Explainer, build_own_headers, explain_rules
from emulator.handler.forward import Forwarding
from emulator.handler.parse import RequestParser, too_large
from emulator.handler.planning import Emulator
from emulator.handler.recorder import CallRecorder
from emulator.handler.reply_functions import ReplyFunctions
from emulator.http.connection import BodyTooLargeError, IncomingRequest, RequestHead
from emulator.http.sessions import SessionRoute
from emulator.http.writer import TIMING_HEADER, ResponseWriter
from emulator.journal.journal import Journal
from emulator.observability.spans import Spans
from emulator.observability.timing import TimingAccuracy
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.scenario.header_overrides import HeaderOverrideError
from emulator.scenario.matching import RuleResult

log = logging.getLogger("emulator")
_BUG = Response(  # a bug of the emulator must not look like a vendor's error
    500,
    b"The emulator itself failed; its log has the traceback. Please report it.\n",
    (("Content-Type", "text/plain; charset=utf-8"), ("x-emulator-bug", "1")),
    close=True,
)


class VendorApp:
    """Request handler of one vendor under one scenario."""

    def __init__(
        self,
        vendor: AnyVendor,
        service: AnyService,
        emulator: Emulator,
        journal: Journal,
        timing: TimingAccuracy,
        metrics: VendorMetrics,
        *,
        hints: Suggestions,
        closing: asyncio.Event,
        header_faults: bool = True,
        spans: Spans | None = None,
        forwarding: Forwarding | None = None,
        functions: ReplyFunctions | None = None,
    ) -> None:
        self.vendor = vendor
        self.service = service
        self.emulator = emulator
        self._metrics = metrics
        metrics.register(service.deployments)
        self._reader = RequestParser(vendor, service, emulator)
        self._forwarding = forwarding
        self._decider = ResponseDecider(
            vendor,
            service,
            emulator,
            hints,
            header_faults=header_faults,
            forwarding=forwarding,
            functions=functions,
        )
        self.explainer = explainer = Explainer(vendor.name, self._reader, emulator)
        self._recorder = CallRecorder(vendor.name, emulator, journal, timing, metrics, explainer)
        self._spans = spans
        self._max_body = min(vendor.body_limit, emulator.bounds.body)
        self._closing = closing
        self._announces_close = vendor.announces_close(service.settings)
        self._journal = journal
        self.open: set[RequestContext] = set()

    def find_target(self, head: RequestHead, route: SessionRoute, path: str, base_url: str) -> RequestTarget:
        """Return the target of all requests with this head."""
        if self.vendor.literal_paths and "%" in (written := head.target.partition("?")[0]):
            path = written
        request = Request(head.method, path, head.query, route.headers, b"", NOTHING, base_url, "", route.session)
        request.key_suffix = route.key_suffix
        return self._reader.find_target(request, overrides=route.overrides)

    async def serve(self, http: IncomingRequest, target: RequestTarget) -> bool:
        """Respond to a request, settle its quotas and close its record; return whether its connection may stay open."""
        context = self._receive(target)
        clock, on_complete = self.emulator.clock, self._recorder.record
        writer = ResponseWriter(self.vendor, clock, self._closing, http, context, on_complete=on_complete)
        writer.announces_close = self._announces_close
        self._metrics.running += 1
        self.open.add(context)
        left = False
        try:
            context.response = response = await self._respond(http, context)
            self._metrics.begin(context.call)
            if context.is_forwarded and self._forwarding is not None:
                return await self._forwarding.forward(
                    http, self.vendor.name, context, on_complete, records=self.emulator.unmatched == "record"
                )
            own = build_own_headers(context.request.key, context.rule)
            context.extra = self._add_warnings(own, context) if self.emulator.retires else own
            if context.overrides and target.headers.get(TIMING_HEADER) == "1":
                writer.planned_ttft = context.planned_ttft or 0.0
            if context.admission is not None and not http.connection.is_open:
                left = True  # while the call waited for admission
                return writer.abort()
            if isinstance(response, Response) and (context.plan is None or not context.plan.due):
                return writer.send(response) or await writer.finish()
            return await self._write(writer, context, response)
        except (ConnectionError, asyncio.CancelledError):
            left = True
            raise
        except Exception:
            log.exception("bug in the emulator: %s %s", target.method, target.path)
            return writer.abort() if context.sent.status else await writer.write(_BUG)
        finally:
            if context.is_settled:
                self._close(context, left=left)
            else:
                await self._settle(context, left=left)

    def _add_warnings(self, headers: Headers, context: RequestContext) -> Headers:
        """Return headers with those that announce the retirement of a call's deployment."""
        if context.call is None:
            return headers
        return (*headers, *self.emulator.list_warnings(context.call.deployment, context.started))

    async def _settle(self, context: RequestContext, *, left: bool) -> None:
        """Settle the budget and the quotas of a request, then close its record; all of it, even if cancelled."""
        try:
            if context.spending is not None:
                await self._recorder.spend(context, context.spending)
        finally:
            try:
                if context.admission is not None:
                    await self._recorder.settle(context, context.admission)
            finally:
                self._close(context, left=left)

    def _close(self, context: RequestContext, *, left: bool) -> None:
        """Close the call record and the span of a request; ``left``: the client left, or the server cancelled."""
        self._metrics.running -= 1
        self.open.discard(context)
        if context.response is not None:
            self._metrics.end(context.call)
        record = self._recorder.close(context, left=left)
        if self._spans is not None and context.span is not None:
            self._journal.flush()  # the record has its number among equal requests then
            self._spans.end(context.span, self.vendor, context, record, self.emulator.clock)

    async def _write(
        self,
        writer: ResponseWriter,
        context: RequestContext,
        response: Response | StreamingResponse | FaultableResponse,
    ) -> bool:
        """Write the response when it is due; register it meanwhile under the call's cancel ids.

        A cancel request stops a response early; it aborts a response with faults.
        """
        plan, call = context.plan, context.call
        due = 0.0 if plan is None else plan.due
        if plan is None or call is None or call.cancel_ids is None:
            return await writer.write(response, due)
        names = call.cancel_ids(plan.key)
        running, session = self.service.running, context.request.session
        writer.stoppable = not isinstance(response, FaultableResponse)
        stop = partial(self._stop, writer, context, call, plan) if writer.stoppable else None
        cancellable = CancellableResponse(stop, writer.abort)
        running.enter(session, names, cancellable)
        try:
            return await writer.write(response, due)
        finally:
            running.leave(session, names, cancellable)

    def _stop(self, writer: ResponseWriter, context: RequestContext, call: InferenceCall, plan: Plan) -> None:
        if context.sent.whole:
            return
        context.is_stopped = True
        context.plan = plan = plan.stop(self.emulator.clock.now() - context.started)
        codec = call.codec
        writer.stop(codec.stream(plan, context.request) if call.stream else codec.render(plan, context.request))

    def _receive(self, target: RequestTarget) -> RequestContext:
        session, journal = target.session, self._journal
        request, clock = target.open_request(), self.emulator.clock
        clock.catch_up()  # if many requests come at once, due streams are served between them
        context = RequestContext(
            request, target, clock.now(), journal.epoch(session), journal.next_seq(), target.overrides
        )
        if not clock.is_wall:
            context.sent.began = read_wall()
        if self._spans is not None:
            context.span = self._spans.begin(target.method, target.headers)
        return context

    async def _respond(
        self, http: IncomingRequest | None, context: RequestContext
    ) -> Response | StreamingResponse | FaultableResponse:
        """Read the body, parse the request, decide the response and apply its faults.

        A refusal is replaced by a recorded answer, forwarded, or rendered in the vendor's words. ``http``: holds the
        body; ``None``: the request has it already.
        """
        response: Response | StreamingResponse | FaultableResponse
        try:
            if http is not None and not self._read_now(http, context):
                await self._read(http, context)
            response = await self._decide(context)
        except EmulatedError as error:
            found = await self._decider.replay_refused(error, context)
            if found is not None:
                return found
            context.error, context.refusal = error.kind, error
            context.plan = None
            await self._assign_key(context)
            response = await self._decider.refuse(error, context)
            error.clear_traceback()
        except HeaderOverrideError as error:
            context.error, context.hint = "asked", str(error)
            await self._assign_key(context)
            return refuse_overrides(error)
        return await self._decider.apply_faults(response, context) if context.faults else response

    async def _decide(self, context: RequestContext) -> Response | StreamingResponse | FaultableResponse:
        """Parse the request and decide the response; repeat once with the session's stored documents."""
        try:
            parsed = await self._reader.parse(context)
            context.set_parsed(parsed)
            response = await self._decider.decide(context, self)
        except DocumentsError:
            self._reader.require_documents(context.request)
            return await self._decide(context)
        if context.repeats:
            self._reader.remember(context, parsed)
        return response

    def _read_now(self, http: IncomingRequest, context: RequestContext) -> bool:
        """Set the size limits of the request's content, and its body if that has arrived whole.

        Returns:
            Whether the body needs nothing further; otherwise :meth:`_read` waits for it and decompresses it.

        Raises:
            EmulatedError: ``PAYLOAD_TOO_LARGE``.
            HeaderOverrideError: an ``x-emulator-*`` header of the request is unknown.
        """
        request, limits = context.request, self.emulator.bounds
        if context.overrides:
            validate_override_names(request.headers)
        request.max_values, request.max_text = limits.values, limits.text
        try:
            body = http.read_now(self._max_body)
        except BodyTooLargeError:
            raise too_large(self._max_body) from None
        if body is None:
            return False
        request.body = body
        return not context.target.encoding

    async def _read(self, http: IncomingRequest, context: RequestContext) -> None:
        """Wait for the whole body unless it is there, and decompress it.

        Raises:
            EmulatedError: ``PAYLOAD_TOO_LARGE``.
        """
        request, encoding = context.request, context.target.encoding
        if not request.body:
            try:
                request.body = await http.read(self._max_body)
            except BodyTooLargeError:
                raise too_large(self._max_body) from None
        if encoding:
            limit = min(self.vendor.body_limit, self.emulator.bounds.decompressed)
            request.body = await unpack(request.body, encoding, limit)

    async def _assign_key(self, context: RequestContext) -> None:
        """Assign a response key even if parsing failed."""
        if not context.request.has_key:
            with suppress(EmulatedError):  # the store is unreachable: the request counts as the first attempt
                await self._reader.assign_key(context)

    async def answer_inner(self, inner: InnerRequest, outer: Request) -> tuple[int, bytes]:
        """Return status and body of a request within another one, and record it as a call of its own."""
        request = Request(inner.method, inner.path, NOTHING, outer.headers, b"", NOTHING, outer.base_url)
        request.session, request.key_suffix = outer.session, outer.key_suffix
        context = self._receive(self._reader.find_target(request, overrides=False))
        context.is_inner = True
        context.request.body = inner.body
        context.request.max_values, context.request.max_text = outer.max_values, outer.max_text
        self._metrics.running += 1
        self.open.add(context)
        try:
            context.response = response = await self._respond(None, context)
            self._metrics.begin(context.call)
            status, body = _read_whole(response)
            context.sent.complete(status, len(body), context.started + (context.planned_ttft or 0.0))
        finally:
            if context.is_settled:
                self._close(context, left=False)
            else:
                await self._settle(context, left=False)
        return status, body

    async def try_out(self, request: Request) -> tuple[tuple[RuleResult, ...], str | None, str]:
        """Return the result of each rule, the kind of error and its reason for a request; nothing is sent or recorded.

        The reason of a refusal that no rule asks for is its hint, or else the vendor's words.
        """
        target = self._reader.find_target(request)
        request.params = target.params
        context = RequestContext(request, target, self.emulator.clock.now())
        try:
            await self._decide(context)
        except EmulatedError as error:
            context.error = error.kind
            self._decider.explain(error, context)
            if not context.hint and (context.match is None or context.match.outcome.error is None):
                words = self.vendor.render_error(error, context.request, self.service).body
                context.hint = shorten(words.decode(errors="replace").strip())
        results = () if context.match is None else explain_rules(self.emulator, self.vendor.name, context)
        return results, context.error, context.hint


def _read_whole(response: Response | StreamingResponse | FaultableResponse) -> tuple[int, bytes]:
    """Return status and body of a response that is not sent."""
    if isinstance(response, StreamingResponse):
        return 200, b"".join(data for _, data, _, _ in response.events)
    return response.status, response.body
