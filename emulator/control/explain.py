"""Why a rule took a request, and why the others did not, in sentences."""

from collections.abc import Iterable

from emulator.scenario.match import Verdict, find_nearest


def describe_nearest(verdicts: Iterable[Verdict]) -> str:
    """Which rule came closest, and what it wanted."""
    nearest = find_nearest(verdicts)
    return "There are no rules." if nearest is None else f"The nearest is {describe(nearest)}"


def describe(verdict: Verdict) -> str:
    """One rule's word on a request."""
    if verdict.failed is None:
        drawn = "" if verdict.draw is None else f" (drew {verdict.draw:.6f})"
        return f"{verdict.rule!r}: takes it{drawn}."
    detail = f" ({verdict.detail})" if verdict.detail else ""
    return f"{verdict.rule!r}: {verdict.failed} does not hold{detail}."
