"""Why a rule took a request, and why the others did not, in sentences."""

from collections.abc import Iterable

from emulator.scenario.match import Verdict, find_nearest


def describe_nearest(verdicts: Iterable[Verdict], *, loggable: bool = False) -> str:
    """Which rule came closest, what it found and what it wanted."""
    nearest = find_nearest(verdicts)
    return "There are no rules." if nearest is None else f"The nearest is {describe(nearest, loggable=loggable)}"


def describe(verdict: Verdict, *, loggable: bool = False) -> str:
    """One rule's word on a request; ``loggable``: without what prompt, headers, query and body say."""
    if verdict.failed is None:
        drawn = "" if verdict.draw is None else f" (drew {verdict.draw:.6f})"
        return f"{verdict.rule!r}: takes it{drawn}."
    found = verdict.loggable if loggable else verdict.detail
    detail = f" ({found})" if found else ""
    return f"{verdict.rule!r}: {verdict.failed} does not hold{detail}."
