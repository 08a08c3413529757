"""Errors, faults and latency that a request asks for in its own headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from emulator.core.json import dump_json
from emulator.core.wire import WireResponse
from emulator.scenario.asked import ERROR, FAULT, TTFT, AskedError, ask_for
from emulator.scenario.match import Match

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy


def heed(match: Match, headers: Mapping[str, str]) -> Match:
    """What a rule makes of a call, or what the headers ask for in its place.

    Raises:
        AskedError: they ask for what there is not.
    """
    if FAULT not in headers and ERROR not in headers and TTFT not in headers:
        return match
    faults = cast("CIMultiDictProxy[str]", headers).getall(FAULT, [])
    outcome = ask_for(match.outcome, error=headers.get(ERROR), faults=faults, ttft=headers.get(TTFT))
    return replace(match, outcome=outcome)


def heed_not(match: Match, headers: Mapping[str, str]) -> Match:
    """Only what the rule says."""
    return match


def refuse_asked(error: AskedError) -> WireResponse:
    """400 in the emulator's own words; no vendor's."""
    problem = {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": str(error)}
    return WireResponse(400, dump_json(problem), (("Content-Type", "application/problem+json"),))
