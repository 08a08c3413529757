"""Explain in the journal which rule matched a request: evaluate every rule again, also long after the response."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from emulator.core.calls import InferenceCall, Parsed
from emulator.core.errors import EmulatedError
from emulator.core.faultable import FaultableResponse
from emulator.core.http import Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.quota import Left
from emulator.core.storage import LocalState
from emulator.handler.context import RequestContext
from emulator.handler.planning import Emulator
from emulator.http.response_head import identify_response
from emulator.journal.entry import JournalEntry, RecordedResponse
from emulator.scenario.matching import UNMATCHED, Match, RequestAttributes, RuleResult
from emulator.scenario.outcomes import Outcome

if TYPE_CHECKING:
    from emulator.handler.parse import RequestParser

MAX_TOKENS_AGAIN = 1024
"""Completion tokens of a response that is made again when its record is read: 0.5 ms."""


class Explainer:
    """Explains the rule matches of one vendor's recorded calls."""

    def __init__(self, vendor: str, reader: RequestParser, emulator: Emulator) -> None:
        self.held = 0
        self._vendor = vendor
        self._reader = reader
        self._emulator = emulator
        self.tokens = emulator.tokens

    def explain(self, entry: JournalEntry) -> tuple[RuleResult, ...]:
        """Return the result of each rule for a recorded request, up to the rule that matched."""
        payload, evidence = entry.payload, entry.evidence
        attributes = self.read(entry)
        if attributes is None or payload is None or payload.request_cut or evidence is None or evidence.match is None:
            return ()
        return self._emulator.explain(attributes, evidence.match)

    def read(self, entry: JournalEntry) -> RequestAttributes | None:
        """Return the attributes of a recorded request; ``None`` if its payload is gone."""
        evidence, payload = entry.evidence, entry.payload
        if evidence is None or payload is None:
            return None
        request = replace(payload.request)  # a copy, so that its cached JSON is dropped afterwards
        state = self._emulator.state
        if isinstance(state, LocalState):
            request.documents = state.fetch_now(request.session, self._vendor)  # the current documents
        parsed: Parsed | None = None
        if entry.deployment is not None and not payload.request_cut:  # parsing a management route may have effects
            with suppress(EmulatedError):
                parsed = self._reader.parse_again(request)
        call = parsed if isinstance(parsed, InferenceCall) else None
        given = evidence.fingerprint, evidence.attempt, entry.time, self._emulator.started
        return RequestAttributes(self._vendor, request, call, entry.bytes_in, *given)

    def respond_again(self, request: Request, match: Match, started: float, quota: Left) -> RecordedResponse:
        """Return the response to a request whose response :func:`can_respond_again`."""
        call = self._reader.parse_again(request)
        assert isinstance(call, InferenceCall)
        plan = replace(self._emulator.decide(call, match, request.key, started), quota=quota)
        response = call.codec.stream(plan, request) if call.stream else call.codec.render(plan, request)
        rule = None if match.rule is None else match.rule.name
        headers = (*response.headers, *build_own_headers(request.key, rule))
        if isinstance(response, Response):
            return RecordedResponse(headers, response.body, plan.choices[0])
        return RecordedResponse(headers, None, plan.choices[0], encode_stream=partial(_join_events, response))


def _join_events(response: StreamingResponse) -> bytes:
    return b"".join([event[1] for event in response.events])


def can_respond_again(context: RequestContext, call: InferenceCall, plan: Plan, most: int) -> bool:
    """Return whether request and match alone determine the response, and it is made again in little time.

    ``most``: bytes kept of a body; a request that is cut cannot be parsed again.
    """
    admission, match, request = context.admission, context.match, context.request
    return (
        call.repeatable
        and call.store_result is None
        and call.fallback is None
        and not call.is_stopped
        and not isinstance(context.response, FaultableResponse)
        and not context.is_stopped
        and not context.overrides
        and not request.documents
        and len(request.body) <= most
        and len(plan.choices) > 0
        and plan.usage.completion_tokens <= MAX_TOKENS_AGAIN
        and (admission is None or admission.slot is None)
        and (match is UNMATCHED or (match is not None and _is_repeatable(match.outcome)))
    )


def _is_repeatable(outcome: Outcome) -> bool:
    return not outcome.faults and (outcome.reply is None or not outcome.reply.template)


def build_own_headers(key: bytes, rule: str | None) -> Headers:
    """Return the headers that the emulator adds to a response."""
    name = identify_response(key)
    return (name, ("x-emulator-rule", quote(rule, safe=" !#$&'()*+,/:;=?@[]"))) if rule else (name,)


def explain_rules(emulator: Emulator, vendor: str, context: RequestContext) -> tuple[RuleResult, ...]:
    """Return the result of each rule for a request."""
    return emulator.explain(read_context_attributes(emulator, vendor, context), context.match or Match())


def read_context_attributes(emulator: Emulator, vendor: str, context: RequestContext) -> RequestAttributes:
    """Return the attributes of a request that rules match on."""
    request = context.request
    call, size, key = context.call, len(request.body), context.fingerprint
    return RequestAttributes(vendor, request, call, size, key, request.attempt, context.started, emulator.started)
