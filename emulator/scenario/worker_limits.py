"""What of a scenario takes a count of all calls, so that several processes can only do it with a store they share."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.latency import Latency
from emulator.scenario.errors import sort_diagnostics
from emulator.scenario.locations import KeyPath
from emulator.scenario.models import Rule, Scenario
from emulator.scenario.outcomes import Outcome
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.scenario.template import asks_for

Found = tuple[KeyPath, str]


def validate_for_workers(loaded: ParsedScenario, scenario: Scenario) -> None:
    """Take a scenario, as flags have it, whose outcome no call depends on that another process answers.

    Raises:
        ScenarioError: there is more to it; a row for each reason.
    """
    rows = [loaded.row(path, f"{what}: workers need a store for it, --state-url") for path, what in _find(scenario)]
    if rows:
        raise ScenarioError(sort_diagnostics(rows))


def _find(scenario: Scenario) -> Iterator[Found]:
    for position in range(len(scenario.limits)):
        yield ("limits", position), "a limit is one for all calls"
    yield from _find_load(scenario.latency, ("latency",))
    for position, rule in enumerate(scenario.rules):
        yield from _find_in_rule(rule, ("rules", position))


def _find_in_rule(rule: Rule, path: KeyPath) -> Iterator[Found]:
    times = rule.times
    if times is not None and times.counts:
        yield (*path, "times"), "which call it is takes a count of all"
    if times is not None and times.probability is not None:
        yield (*path, "times", "probability"), "chance has regard to how often a request came"
    yield from _find_in_outcome(rule, path)
    if rule.sequence is not None:
        yield (*path, "sequence"), "which step comes takes a count of all calls"
        for position, step in enumerate(rule.sequence):
            yield from _find_in_outcome(step, (*path, "sequence", position))


def _find_in_outcome(outcome: Outcome, path: KeyPath) -> Iterator[Found]:
    if outcome.latency is not None:
        yield from _find_load(outcome.latency, (*path, "latency"))
    reply = outcome.reply
    if reply is not None and reply.template and asks_for(reply.text or "", "attempt"):
        yield (*path, "reply"), "{attempt} takes a count of equal requests"


def _find_load(latency: Latency, path: KeyPath) -> Iterator[Found]:
    if latency.load:
        yield (*path, "load"), "load is that of all calls"
