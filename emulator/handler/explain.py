"""Explain which rule matched a request: evaluate every rule again, at once or long after the response."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.core.errors import EmulatedError
from emulator.core.http import Response
from emulator.core.storage import LocalState
from emulator.core.vendor import Parsed
from emulator.handler.context import RequestContext
from emulator.handler.planning import Emulator, read_attributes
from emulator.journal.entry import JournalEntry
from emulator.scenario.matching import Match, RequestAttributes, RuleResult

if TYPE_CHECKING:
    from emulator.handler.parse import RequestParser

_NO_ANSWER = Response(204)


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
        parsed: Parsed = _NO_ANSWER
        if entry.deployment is not None and not payload.request_cut:  # parsing a management route may have effects
            with suppress(EmulatedError):
                parsed = self._reader.parse_again(request)
        since_start = entry.time - self._emulator.started
        attributes = read_attributes(self._vendor, request, parsed, evidence.fingerprint, evidence.attempt, since_start)
        return replace(attributes, body_bytes=entry.bytes_in)  # before redaction


def explain_rules(emulator: Emulator, vendor: str, context: RequestContext) -> tuple[RuleResult, ...]:
    """Return the result of each rule for a request."""
    return emulator.explain(read_context_attributes(emulator, vendor, context), context.match or Match())


def read_context_attributes(emulator: Emulator, vendor: str, context: RequestContext) -> RequestAttributes:
    """Return the attributes of a request that rules match on."""
    since_start = context.started - emulator.started
    parsed = context.parsed or _NO_ANSWER
    return read_attributes(vendor, context.request, parsed, context.fingerprint, context.attempt, since_start)
