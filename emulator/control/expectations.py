"""Whether a call that was made is like one that a test expects: facet by facet."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from emulator.control.models import Calls
from emulator.core.json import JSON
from emulator.journal.record import JournalEntry, Payload
from emulator.scenario.conditions import Condition
from emulator.scenario.matchers import (
    ABSENT,
    Absent,
    Matcher,
    RequestAttributes,
    compile_condition,
    compile_when,
    count_searches,
)
from emulator.scenario.redaction import redact_wanted
from emulator.scenario.regex import takes_long


class UnkeptError(Enum):
    """The request, or this part of it, is no longer kept; no condition holds."""

    UNKEPT = auto()


UNKEPT: Final = UnkeptError.UNKEPT
Value = JSON | Absent | UnkeptError

_TRACE = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")  # W3C
_OUTCOME: Mapping[str, Callable[[JournalEntry], JSON | Absent]] = {
    "status": lambda entry: entry.status,
    "error": lambda entry: entry.error or ABSENT,
    "rule": lambda entry: ABSENT if entry.rule is None else entry.rule,
    "fault": lambda entry: entry.faults or ABSENT,
    "attempt": lambda entry: entry.attempt,
    "retries": lambda entry: entry.retries,
    "whole": lambda entry: entry.whole,
    "client_left": lambda entry: entry.client_left,
    "traced": lambda entry: _TRACE.fullmatch(entry.traceparent or "") is not None,
    "finish_reason": lambda entry: entry.finish_reason or ABSENT,
    "completion_tokens": lambda entry: entry.completion_tokens,
}

_RECORDED: Mapping[str, Callable[[JournalEntry], JSON | Absent]] = {  # what the journal says by itself, of every call
    "vendor": lambda entry: entry.vendor or ABSENT,
    "deployment": lambda entry: entry.deployment or ABSENT,
    "task": lambda entry: entry.operation or ABSENT,
    "endpoint": lambda entry: entry.path,
    "principal": lambda entry: entry.principal or ABSENT,
    "session": lambda entry: entry.session or ABSENT,
    "stream": lambda entry: ABSENT if entry.deployment is None else entry.stream,
    "body_bytes": lambda entry: entry.bytes_in,
    **_OUTCOME,
}

_BESIDE_BODY = ("header.", "query.")  # facets that a body which was cut does not hide


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """One facet of one call: what was wanted, what was found, and whether it holds."""

    name: str
    wanted: Condition | JSON
    value: Value
    holds: bool


class Pattern:
    """The calls that a test means."""

    def __init__(self, calls: Calls) -> None:
        checks = (*compile_when(calls), *_compile_outcome(calls))
        self._order = {check.name: position for position, check in enumerate(checks)}
        self._recorded = tuple(check for check in checks if check.name in _RECORDED)
        self._asked = tuple(check for check in checks if check.name not in _RECORDED)
        self._known: dict[int, int] = {}
        self._searches = count_searches(checks)
        self.facets: Sequence[tuple[str, Condition | JSON]] = [
            (check.name, redact_wanted(check.name, check.wanted)) for check in checks
        ]

    def holds(self, entry: JournalEntry) -> bool:
        """All facets hold of a call."""
        if not all(check.holds(_RECORDED[check.name](entry)) for check in self._recorded):
            return False
        return self._count_asked(entry) == len(self._asked)

    def takes_long(self, entry: JournalEntry) -> bool:
        """To hold a call against it may take more than 50 ms."""
        return takes_long(self._searches, entry.bytes_in)

    def count(self, entry: JournalEntry) -> int:
        """How many facets hold of a call."""
        recorded = sum(check.holds(_RECORDED[check.name](entry)) for check in self._recorded)
        return recorded + self._count_asked(entry)

    def _count_asked(self, entry: JournalEntry) -> int:
        """How many of those hold that are about the request; found out once, as it never changes."""
        if not self._asked:
            return 0
        known = self._known.get(entry.seq)
        if known is None:
            known = self._known[entry.seq] = sum(finding.holds for finding in self._find_asked(entry))
        return known

    def judge(self, entry: JournalEntry) -> list[FieldComparison]:
        """Each facet of a call."""
        findings = self._find_asked(entry)
        for check in self._recorded:
            value = _RECORDED[check.name](entry)
            findings.append(
                FieldComparison(check.name, redact_wanted(check.name, check.wanted), value, check.holds(value))
            )
        return sorted(findings, key=lambda finding: self._order[finding.name])

    def _find_asked(self, entry: JournalEntry) -> list[FieldComparison]:
        if not self._asked:
            return []
        kept = entry.payload
        facts = None if entry.explainer is None else entry.explainer.read(entry)
        findings = []
        for check in self._asked:
            value = ABSENT if entry.vendor is None else _extract(check, kept, facts)
            holds = value is not UNKEPT and check.holds(value)
            findings.append(FieldComparison(check.name, redact_wanted(check.name, check.wanted), value, holds))
        return findings


def _extract(check: Matcher, kept: Payload | None, facts: RequestAttributes | None) -> Value:
    if facts is None or kept is None:
        return UNKEPT
    hidden = kept.request_cut and not check.name.startswith(_BESIDE_BODY)
    return UNKEPT if hidden else check.extract(facts)


def _compile_outcome(calls: Calls) -> list[Matcher]:
    """One check for each facet of the outcome that is given."""
    given = ((name, getattr(calls, name)) for name in _OUTCOME if name in calls.model_fields_set)
    return [Matcher(name, _not_asked, compile_condition(wanted), wanted) for name, wanted in given]


def _not_asked(facts: RequestAttributes) -> Absent:
    """What became of a call is no part of the request."""
    return ABSENT
