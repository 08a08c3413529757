"""Why a rule took a request: what each rule says to it, now or long after it was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.control.journal import Entry
from emulator.core.wire import WireResponse
from emulator.pipeline import Emulator, read_facts
from emulator.scenario.match import Facts, Match, Verdict
from emulator.server.exchange import Exchange

if TYPE_CHECKING:
    from emulator.server.read import Reader

_NO_ANSWER = WireResponse(204)


class Explainer:
    """Explains the answers of one vendor."""

    def __init__(self, vendor: str, reader: Reader, emulator: Emulator) -> None:
        self._vendor = vendor
        self._reader = reader
        self._emulator = emulator

    def explain(self, entry: Entry) -> tuple[Verdict, ...]:
        """What each rule said to a recorded request, up to the one that took it."""
        evidence = entry.evidence
        if evidence is None:
            return ()
        kept = entry.kept
        if kept is None or kept.request_cut:
            return ()
        wire = kept.request
        exchange = Exchange(
            wire, entry.time, identity=evidence.identity, attempt=evidence.attempt, match=evidence.match
        )
        if entry.deployment is not None:  # a management route may not be run again
            exchange.parsed = self._reader.parse_again(wire)
            wire.forget_json()
        return judge(self._emulator, self._vendor, exchange)


def judge(emulator: Emulator, vendor: str, exchange: Exchange) -> tuple[Verdict, ...]:
    """What each rule says to a request."""
    return emulator.explain(read_exchange(emulator, vendor, exchange), exchange.match or Match())


def read_exchange(emulator: Emulator, vendor: str, exchange: Exchange) -> Facts:
    """A request as the rules see it."""
    since_start = exchange.started - emulator.started
    parsed = exchange.parsed or _NO_ANSWER
    return read_facts(vendor, exchange.wire, parsed, exchange.identity, exchange.attempt, since_start)
