"""Coverage of failures: which errors and faults the calls of a test suite met, and which rules of verdicts applied.

Only the pytest plugin and ``emulator coverage`` use this module; a sweep does not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.control.models import RequestEntry, Verdict
from emulator.core.json import JSON, Object, as_array, as_integer, as_object, as_text, dump_text, parse_json
from emulator.sweep.calls import name_class
from emulator.sweep.cells import FAULTS, KINDS, STREAM_FAULTS, TOOL_FAULT

_SAVED = re.compile(r'<script type="application/json" id="saved">(.*?)</script>', re.DOTALL)
_CALLS_TOOLS = frozenset({"tool_calls", "tool_use", "function_call"})
_WIDTH = 100  # characters of a line


@dataclass(slots=True)
class Coverage:
    """Failures that each class of calls met.

    Fields:
        calls: number of calls that met each failure that they can meet, by class.
        rules: number of tests that judged each rule; none are known of a page of calls.
    """

    calls: dict[str, dict[str, int]] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)

    def add(self, call: RequestEntry) -> None:
        """Count one call; one that was refused before it addressed a deployment is of no class."""
        if call.vendor is None or call.operation is None or call.deployment is None:
            return
        possible = self.calls.setdefault(name_class(call), dict.fromkeys(_list_possible(call.stream), 0))
        if call.finish_reason in _CALLS_TOOLS:
            possible.setdefault(TOOL_FAULT, 0)
        for name in {call.error, *call.faults}:
            if name in possible or name == TOOL_FAULT:
                possible[name] = possible.get(name, 0) + 1

    def add_verdict(self, verdict: Verdict) -> None:
        """Count the rules that the calls of one test put at stake."""
        for row in verdict.rules:
            self.rules[row.rule] = self.rules.get(row.rule, 0) + (row.kept is not None)

    def join(self, other: "Coverage") -> None:
        """Add what another part of the suite met."""
        for name, possible in other.calls.items():
            _add_counts(self.calls.setdefault(name, {}), possible)
        _add_counts(self.rules, other.rules)

    @property
    def met(self) -> int:
        return sum(count > 0 for possible in self.calls.values() for count in possible.values())

    @property
    def cells(self) -> int:
        return sum(map(len, self.calls.values()))

    @property
    def percent(self) -> float:
        return 100 * self.met / self.cells if self.cells else 0.0

    def is_under(self, wanted: float) -> bool:
        return self.percent < wanted

    def dump(self) -> str:
        """Return the counts as JSON."""
        calls: Object = {name: {**possible} for name, possible in self.calls.items()}
        return dump_text({"calls": calls, "rules": {**self.rules}})

    def format(self) -> Iterator[str]:
        """Yield lines for a terminal; the last one has the figures."""
        for name, possible in sorted(self.calls.items()):
            met = [failure for failure, count in possible.items() if count]
            yield f"{name}: {len(met)} of {len(possible)}"
            yield from _wrap("met", met)
            yield from _wrap("not met", [failure for failure, count in possible.items() if not count])
        if self.rules:
            yield "rules of verdicts"
            yield from _wrap("at stake", [rule for rule, count in self.rules.items() if count])
            yield from _wrap("never at stake", [rule for rule, count in self.rules.items() if not count])
        yield f"failure coverage: {self.met} of {self.cells} cells, {int(self.percent)} %"


def _add_counts(into: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        into[name] = into.get(name, 0) + count


def _list_possible(stream: bool) -> list[str]:
    """Return the errors and faults that a call can meet."""
    faults = [name for name in FAULTS if name != TOOL_FAULT and (stream or name not in STREAM_FAULTS)]
    return [*KINDS, *faults]


def _wrap(title: str, names: Sequence[str]) -> Iterator[str]:
    line = f"  {title}:"
    for index, name in enumerate(names):
        word = f" {name}{',' if index < len(names) - 1 else ''}"
        if len(line) + len(word) > _WIDTH:
            yield line
            line = "   "
        line += word
    if names:
        yield line


def parse_coverage(text: str, name: str) -> Coverage:
    """Parse counts that were written, or the calls of a page that a test run or ``emulator report`` wrote.

    Raises:
        ValueError: it is neither.
    """
    page = _SAVED.search(text)
    try:
        if page is not None:
            return _read_page(as_object(parse_json(page[1])))
        found = as_object(parse_json(text))
        calls = {call: _read_counts(possible) for call, possible in as_object(found["calls"]).items()}
        return Coverage(calls, _read_counts(found["rules"]))
    except KeyError as error:
        raise ValueError(f"{name} is neither a coverage nor a report: it has no {error}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is neither a coverage nor a report: {error}") from None


def _read_counts(value: JSON) -> dict[str, int]:
    return {name: as_integer(count) for name, count in as_object(value).items()}


def _read_page(found: Object) -> Coverage:
    names = [as_text(name) for name in as_array(found["fields"])]
    coverage = Coverage()
    for row in as_array(found["calls"]):
        values = dict(zip(names, as_array(row), strict=True))
        coverage.add(RequestEntry.model_validate(values))
    return coverage
