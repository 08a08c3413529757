"""Compare journal entries with the requests that a test expects (``/_emulator/verify``), field by field."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Final

from emulator.control.models import Calls
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.journal.entry import JournalEntry
from emulator.journal.payload import Payload
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
from emulator.scenario.regex import find_max_quick


class Evicted(Enum):
    """Sentinel: the request, or this part of it, was evicted or truncated; no condition holds."""

    EVICTED = auto()


EVICTED: Final = Evicted.EVICTED
Value = JSON | Absent | Evicted

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

_RECORDED: Mapping[str, Callable[[JournalEntry], JSON | Absent]] = {  # fields that every journal entry has
    "vendor": lambda entry: entry.vendor or ABSENT,
    "deployment": lambda entry: entry.deployment or ABSENT,
    "served": lambda entry: entry.served or ABSENT,
    "task": lambda entry: entry.operation or ABSENT,
    "endpoint": lambda entry: entry.path,
    "principal": lambda entry: entry.principal or ABSENT,
    "session": lambda entry: entry.session or ABSENT,
    "stream": lambda entry: ABSENT if entry.deployment is None else entry.stream,
    "body_bytes": lambda entry: entry.bytes_in,
    **_OUTCOME,
}

_OUTSIDE_BODY = ("header.", "query.")  # fields that a truncated body does not hide


@fast_dataclass(frozen=True, slots=True)
class FieldComparison:
    """Comparison of one field of one entry: wanted value, found value, and whether it holds."""

    name: str
    wanted: Condition | JSON
    value: Value
    holds: bool


class Pattern:
    """Compiled pattern of the requests that a test expects."""

    def __init__(self, calls: Calls) -> None:
        checks = (*compile_when(calls), *_compile_outcome(calls))
        self._order = {check.name: position for position, check in enumerate(checks)}
        self._entry_checks = tuple(check for check in checks if check.name in _RECORDED)
        self._request_checks = tuple(check for check in checks if check.name not in _RECORDED)
        self._known: dict[int, int] = {}
        self._searches = count_searches(checks)
        self.facets: Sequence[tuple[str, Condition | JSON]] = [
            (check.name, redact_wanted(check.name, check.wanted)) for check in checks
        ]

    def holds(self, entry: JournalEntry) -> bool:
        """Return whether all fields of an entry match."""
        if not all(check.holds(_RECORDED[check.name](entry)) for check in self._entry_checks):
            return False
        return self._count_request_fields(entry) == len(self._request_checks)

    def takes_long(self, entry: JournalEntry) -> bool:
        """Return whether matching an entry may take more than 50 ms."""
        return entry.bytes_in > find_max_quick(self._searches)

    def count(self, entry: JournalEntry) -> int:
        """Count the fields of an entry that match."""
        recorded = sum(check.holds(_RECORDED[check.name](entry)) for check in self._entry_checks)
        return recorded + self._count_request_fields(entry)

    def _count_request_fields(self, entry: JournalEntry) -> int:
        """Count the matching fields of the request; cached by entry, as a request never changes."""
        if not self._request_checks:
            return 0
        known = self._known.get(entry.seq)
        if known is None:
            known = self._known[entry.seq] = sum(finding.holds for finding in self._compare_request_fields(entry))
        return known

    def judge(self, entry: JournalEntry) -> list[FieldComparison]:
        """Compare each field of an entry, in the order of the pattern."""
        findings = self._compare_request_fields(entry)
        for check in self._entry_checks:
            value = _RECORDED[check.name](entry)
            findings.append(
                FieldComparison(check.name, redact_wanted(check.name, check.wanted), value, check.holds(value))
            )
        return sorted(findings, key=lambda finding: self._order[finding.name])

    def _compare_request_fields(self, entry: JournalEntry) -> list[FieldComparison]:
        if not self._request_checks:
            return []
        kept = entry.payload
        attributes = None if entry.explainer is None else entry.explainer.read(entry)
        findings = []
        for check in self._request_checks:
            value = ABSENT if entry.vendor is None else _extract(check, kept, attributes)
            holds = value is not EVICTED and check.holds(value)
            findings.append(FieldComparison(check.name, redact_wanted(check.name, check.wanted), value, holds))
        return findings


def _extract(check: Matcher, kept: Payload | None, attributes: RequestAttributes | None) -> Value:
    if attributes is None or kept is None:
        return EVICTED
    hidden = kept.request_cut and not check.name.startswith(_OUTSIDE_BODY)
    return EVICTED if hidden else check.extract(attributes)


def _compile_outcome(calls: Calls) -> list[Matcher]:
    """Compile a matcher for each field of the outcome that is set."""
    given = ((name, getattr(calls, name)) for name in _OUTCOME if name in calls.model_fields_set)
    return [Matcher(name, _extract_nothing, compile_condition(wanted), wanted) for name, wanted in given]


def _extract_nothing(attributes: RequestAttributes) -> Absent:
    """Return ``ABSENT``: the outcome is no part of the request."""
    return ABSENT
