"""The calls of a test, a line each, for whoever reads why it failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.control.models import RequestDetail

_MOST_LINES = 60
_MOST_LETTERS = 160  # of a line that explains
_REFUSED = 400  # the least status that is no answer to what was asked


def describe_calls(calls: Sequence[RequestDetail]) -> str:
    """One line for each call, and why, where no rule took it or it was refused."""
    if not calls:
        return "no calls were made"
    lines = [line for call in calls for line in _describe(call)]
    if len(lines) > _MOST_LINES:
        lines = [f"  … {len(lines) - _MOST_LINES} lines before these", *lines[-_MOST_LINES:]]
    return "\n".join([f"{len(calls)} call{'s' if len(calls) > 1 else ''} made:", *lines])


def describe_unmatched(calls: Sequence[RequestDetail]) -> str:
    """Calls that a strict scenario refused, each with the rule that came nearest."""
    count = f"{len(calls)} calls match" if len(calls) > 1 else "1 call matches"
    return "\n".join([f"{count} no rule, and the scenario is strict:", *(line for c in calls for line in _describe(c))])


def _describe(call: RequestDetail) -> Iterator[str]:
    parts = [
        f"  #{call.seq} {call.method} {call.path} {call.status or 'no answer'}",
        *((f"attempt {call.attempt}",) if call.attempt > 1 else ()),
        *((call.error,) if call.error else ()),
        *((f"rule {call.rule!r}",) if call.rule else ()),
        *((f"faults {', '.join(call.faults)}",) if call.faults else ()),
        *(() if call.whole else ("the client left",) if call.client_left else ("cut short",)),
        f"{call.duration:.3f} s",
    ]
    yield "  ".join(parts)
    if call.rule is None and (call.status >= _REFUSED or call.error):
        summary = " ".join(call.summary.split())
        yield f"      {summary if len(summary) <= _MOST_LETTERS else summary[: _MOST_LETTERS - 1] + '…'}"
