"""Reject scenarios that several workers without a shared store cannot serve, as each would count requests alone."""

from collections.abc import Iterator

from emulator.latency import Latency
from emulator.scenario.errors import sort_diagnostics
from emulator.scenario.locations import KeyPath
from emulator.scenario.models import Rule, Scenario
from emulator.scenario.outcomes import Outcome
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.scenario.placeholders import asks_for

Found = tuple[KeyPath, str]


def validate_for_workers(loaded: ParsedScenario, scenario: Scenario) -> None:
    """Raise if an outcome depends on requests that another process serves.

    Args:
        scenario: scenario of ``loaded`` with command-line overrides applied.

    Raises:
        ScenarioError: with a row for each part that needs a shared store.
    """
    rows = [loaded.row(path, f"{what}; for several workers pass --state-url") for path, what in _find(scenario)]
    if rows:
        raise ScenarioError(sort_diagnostics(rows))


def _find(scenario: Scenario) -> Iterator[Found]:
    for position in range(len(scenario.limits)):
        yield ("limits", position), "a limit counts the requests of all processes"
    if scenario.budget is not None and scenario.budget.enforce:
        yield ("budget", "enforce"), "a budget that is enforced counts the calls of all processes"
    yield from _find_load(scenario.latency, ("latency",))
    for position, rule in enumerate(scenario.rules):
        yield from _find_in_rule(rule, ("rules", position))


def _find_in_rule(rule: Rule, path: KeyPath) -> Iterator[Found]:
    times = rule.times
    if times is not None and times.counts:
        yield (*path, "times"), "the ordinal of a request counts those of all processes"
    if times is not None and times.probability is not None:
        yield (*path, "times", "probability"), "a draw depends on the attempt number, which all processes count"
    yield from _find_in_outcome(rule, path)
    if rule.sequence is not None:
        yield (*path, "sequence"), "the step of a sequence depends on the requests of all processes"
        for position, step in enumerate(rule.sequence):
            yield from _find_in_outcome(step, (*path, "sequence", position))


def _find_in_outcome(outcome: Outcome, path: KeyPath) -> Iterator[Found]:
    if outcome.latency is not None:
        yield from _find_load(outcome.latency, (*path, "latency"))
    reply = outcome.reply
    if reply is not None and reply.template and asks_for(reply.text or "", "attempt"):
        yield (*path, "reply"), "{attempt} counts the equal requests of all processes"


def _find_load(latency: Latency, path: KeyPath) -> Iterator[Found]:
    if latency.load:
        yield (*path, "load"), "load depends on the requests of all processes"
