"""What loads and is probably a mistake: rules and limits that are never reached, answers that depend on the order."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from emulator.scenario.comparisons import compile_names
from emulator.scenario.conditions import When
from emulator.scenario.cover import covers, find_contradiction
from emulator.scenario.lint_limits import Catalogue, Finding, find_odd_limits
from emulator.scenario.lint_outcomes import find_odd_outcomes
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.locations import KeyPath, format_path
from emulator.scenario.mistakes import Row, nearest
from emulator.scenario.schema import Limit, Rule, Scenario
from emulator.scenario.times import Times


def lint(loaded: LoadedScenario, vendors: Collection[str], catalogue: Catalogue | None = None) -> list[Row]:
    """Warnings about a scenario, in the order of its text.

    Args:
        vendors: the names there are.
        catalogue: what they serve under this scenario; ``None``: not known, so nothing is said of it.
    """
    scenario = loaded.scenario
    served = [name for name in vendors if scenario.vendors.get(name) is not False]
    findings = [*_find_unreached_rules(scenario, served), *_find_odd_probabilities(scenario)]
    if catalogue is not None:
        findings += _find_unserved(scenario, catalogue)
    findings += [
        *find_odd_limits(scenario, served, catalogue),
        *find_odd_outcomes(scenario, catalogue),
        *_find_order_dependence(loaded),
    ]
    rows = [loaded.row(path, message) for path, message in findings]
    return sorted(rows, key=lambda row: (row.file, row.line, row.column))


def _find_unreached_rules(scenario: Scenario, served: Collection[str]) -> Iterator[Finding]:
    """Rules that take no call, or none that an earlier rule leaves."""
    principals = None if scenario.keys is None else {key.principal for key in scenario.keys}
    reached: list[Rule] = []
    for position, rule in enumerate(scenario.rules):
        path: KeyPath = ("rules", position)
        contradiction = find_contradiction(rule.when, served, principals)
        if contradiction is not None:
            facet, reason = contradiction
            yield (*path, "when", facet), f"the rule is never reached: {reason}"
            continue
        never = None if rule.times is None else _explain_never(rule.times)
        if never is not None:
            yield (*path, "times"), f"the rule is never reached: {never}"
            continue
        wider = next((earlier for earlier in reached if covers(earlier.when, rule.when)), None)
        if wider is not None:
            yield (*path, "name"), f"the rule is never reached: {wider.name!r} takes every call it is about"
        elif rule.times is None or _is_always(rule.times):
            reached.append(rule)


def _find_unserved(scenario: Scenario, catalogue: Catalogue) -> Iterator[Finding]:
    """Rules and limits about deployments that nobody serves."""
    parts: list[tuple[KeyPath, str, When | Limit]] = [
        *((("rules", n, "when", "deployment"), "rule", rule.when) for n, rule in enumerate(scenario.rules)),
        *((("limits", n, "deployment"), "limit", limit) for n, limit in enumerate(scenario.limits)),
    ]
    for path, what, about in parts:
        wanted = about.deployment
        is_vendor = compile_names(about.vendor or ("*",))
        if wanted is None:
            continue
        names = [name for vendor in catalogue if is_vendor(vendor) for name in catalogue[vendor]]
        if not names or any(map(compile_names(wanted), names)):
            continue
        close = nearest(wanted[0], names)
        hint = f"; did you mean {close}?" if close else ""
        yield path, f"the {what} is never reached: no vendor it is about serves {', '.join(wanted)}{hint}"


def _is_always(times: Times) -> bool:
    """Every matching call is taken."""
    bursts = times.repeat is not None and times.repeat.for_ < times.repeat.every
    some = times.first is not None or times.nth is not None or times.between is not None or bursts
    chance = 1.0 if times.probability is None else times.probability
    return not some and times.every in (None, 1) and times.after in (None, 0) and chance >= 1.0


def _explain_never(times: Times) -> str | None:
    """Why no matching call is ever taken, if so."""
    if times.probability is not None and times.probability <= 0:
        return f"a probability of {times.probability:g} never comes true"
    if times.repeat is not None and times.repeat.for_ == 0:
        return "its bursts last no time"
    every, after = times.every or 1, times.after or 0
    most = float("inf") if times.first is None else times.first
    possible = times.nth or (every * (after // every + 1),)
    if not any(after < n <= most and n % every == 0 for n in possible):
        return "no count is meant by all of first, nth, every and after"
    return None


def _find_odd_probabilities(scenario: Scenario) -> Iterator[Finding]:
    for position, rule in enumerate(scenario.rules):
        chance = rule.times.probability if rule.times else None
        if chance is not None and not 0 <= chance <= 1:
            meaning = "never" if chance < 0 else "always"
            path = ("rules", position, "times", "probability")
            yield path, f"a probability lies between 0 and 1, {chance:g} means {meaning}"


def _find_order_dependence(loaded: LoadedScenario) -> Iterator[Finding]:
    """Parts whose outcome depends on which call comes first; all of a file in one sentence."""
    by_file: dict[str, list[KeyPath]] = {}
    for path in _list_order_dependence(loaded.scenario):
        location = loaded.locations.find(path)
        by_file.setdefault("" if location is None else location.file, []).append(path)
    for first, *others in by_file.values():
        text = "which calls it hits depends on the order in which they come, so two runs may differ"
        if others:
            text += f"; so it is with {', '.join(map(format_path, others))}"
        if any(path[-1] in ("times", "sequence") for path in (first, *others)):
            text += "; what counts per: request is free of it"
        yield first, text


def _list_order_dependence(scenario: Scenario) -> Iterator[KeyPath]:
    for position, rule in enumerate(scenario.rules):
        if rule.scope != "request":
            if rule.sequence is not None:
                yield "rules", position, "sequence"
            elif rule.times is not None and rule.times.counts:
                yield "rules", position, "times"
        if rule.latency is not None and rule.latency.load is not None:
            yield "rules", position, "latency", "load"
    for position, _ in enumerate(scenario.limits):
        yield "limits", position
    if scenario.latency.load is not None:
        yield "latency", "load"
