"""Format the calls of a failed test, one line each, for pytest's report."""

from collections.abc import Iterator, Sequence

from emulator.control.models import RequestDetail

_MAX_LINES = 60
_MAX_SUMMARY = 160  # characters
_MIN_ERROR_STATUS = 400


def describe_calls(calls: Sequence[RequestDetail]) -> str:
    """Format calls one line each, with the reason if no rule matched or the call was refused."""
    if not calls:
        return "no calls were made"
    lines = [line for call in calls for line in _describe(call)]
    if len(lines) > _MAX_LINES:
        lines = [f"  … {len(lines) - _MAX_LINES} lines before these", *lines[-_MAX_LINES:]]
    return "\n".join([f"{len(calls)} call{'s' if len(calls) > 1 else ''} made:", *lines])


def describe_unmatched(calls: Sequence[RequestDetail]) -> str:
    """Format the calls that a strict scenario refused, each with the nearest rule."""
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
    if call.rule is None and (call.status >= _MIN_ERROR_STATUS or call.error):
        summary = " ".join(call.summary.split())
        yield f"      {summary if len(summary) <= _MAX_SUMMARY else summary[: _MAX_SUMMARY - 1] + '…'}"
