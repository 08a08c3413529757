"""Why a rule took a request: what each rule says to it, now or long after it was answered."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.core.errors import EmulatedError
from emulator.core.http import Response
from emulator.core.storage import LocalState
from emulator.core.vendor import Parsed
from emulator.handler.context import RequestContext
from emulator.handler.planning import Emulator, read_facts
from emulator.journal.record import JournalEntry
from emulator.scenario.matching import Match, RequestAttributes, RuleResult

if TYPE_CHECKING:
    from emulator.handler.parse import RequestParser

_NO_ANSWER = Response(204)


class Explainer:
    """Explains the answers of one vendor."""

    def __init__(self, vendor: str, reader: RequestParser, emulator: Emulator) -> None:
        self.held = 0
        self._vendor = vendor
        self._reader = reader
        self._emulator = emulator
        self.tokens = emulator.tokens

    def explain(self, entry: JournalEntry) -> tuple[RuleResult, ...]:
        """What each rule said to a recorded request, up to the one that took it."""
        kept, evidence = entry.payload, entry.evidence
        facts = self.read(entry)
        if facts is None or kept is None or kept.request_cut or evidence is None or evidence.match is None:
            return ()
        return self._emulator.explain(facts, evidence.match)

    def read(self, entry: JournalEntry) -> RequestAttributes | None:
        """A recorded request as the rules saw it; ``None``: it is no longer kept."""
        evidence, kept = entry.evidence, entry.payload
        if evidence is None or kept is None:
            return None
        wire = replace(kept.request)  # what it finds out of its body goes with it
        state = self._emulator.state
        if isinstance(state, LocalState):
            wire.documents = state.fetch_now(wire.session, self._vendor)  # as they are now
        parsed: Parsed = _NO_ANSWER
        if entry.deployment is not None and not kept.request_cut:  # a management route may not be run again
            with suppress(EmulatedError):
                parsed = self._reader.parse_again(wire)
        since_start = entry.time - self._emulator.started
        facts = read_facts(self._vendor, wire, parsed, evidence.fingerprint, evidence.attempt, since_start)
        return replace(facts, body_bytes=entry.bytes_in)  # of the body as it came


def judge(emulator: Emulator, vendor: str, exchange: RequestContext) -> tuple[RuleResult, ...]:
    """What each rule says to a request."""
    return emulator.explain(read_exchange(emulator, vendor, exchange), exchange.match or Match())


def read_exchange(emulator: Emulator, vendor: str, exchange: RequestContext) -> RequestAttributes:
    """A request as the rules see it."""
    since_start = exchange.started - emulator.started
    parsed = exchange.parsed or _NO_ANSWER
    return read_facts(vendor, exchange.wire, parsed, exchange.fingerprint, exchange.attempt, since_start)
