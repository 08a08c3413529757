"""What loads and is probably a mistake: rules and limits that are never reached, answers that depend on the order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from emulator.scenario.comparisons import compile_names
from emulator.scenario.conditions import When
from emulator.scenario.cover import covers, find_contradiction
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.locations import KeyPath
from emulator.scenario.mistakes import Row, nearest
from emulator.scenario.quota_cover import is_stricter
from emulator.scenario.schema import Limit, Rule, Scenario
from emulator.scenario.times import Times

Finding = tuple[KeyPath, str]
Catalogue = Mapping[str, Collection[str]]
"""Names of deployments by vendor."""


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
    findings += [*_find_unreached_limits(scenario, served), *_find_order_dependence(scenario)]
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
        names = [name for vendor, served in catalogue.items() if is_vendor(vendor) for name in served]
        if wanted is None or not names or any(map(compile_names(wanted), names)):
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


def _find_unreached_limits(scenario: Scenario, served: Collection[str]) -> Iterator[Finding]:
    """Limits that no call is charged to, or that another always refuses before."""
    capacity = _find_capacity(scenario)
    for position, limit in enumerate(scenario.limits):
        path: KeyPath = ("limits", position)
        if limit.vendor is not None and not any(map(compile_names(limit.vendor), served)):
            close = nearest(limit.vendor[0], served)
            hint = f"; did you mean {close}?" if close else ""
            yield (*path, "vendor"), f"the limit is never reached: {', '.join(limit.vendor)} is not served{hint}"
            continue
        if limit.unit == "concurrency" and capacity is not None and limit.amount >= capacity:
            yield (*path, "amount"), f"the limit is never reached: load lets {capacity} calls in at the same time"
            continue
        for other, stricter in enumerate(scenario.limits):
            if other != position and is_stricter(stricter, limit, earlier=other < position):
                yield (*path, "amount"), f"the limit is never reached: limits[{other}] refuses first"
                break


def _find_capacity(scenario: Scenario) -> int | None:
    """Most calls that can be in at the same time; ``None``: any number."""
    load = scenario.latency.load
    return None if load is None or load.queue is None else load.capacity + load.queue


def _find_order_dependence(scenario: Scenario) -> Iterator[Finding]:
    """Parts whose outcome depends on which call comes first."""
    for position, rule in enumerate(scenario.rules):
        path: KeyPath = ("rules", position)
        if rule.scope != "request":
            counted = "sequence" if rule.sequence is not None else "times"
            if rule.sequence is not None or (rule.times is not None and rule.times.counts):
                yield (
                    (*path, counted),
                    f"depends on the order of calls: counts per {rule.scope}; per: request does not",
                )
        if rule.latency is not None and rule.latency.load is not None:
            yield (*path, "latency", "load"), "depends on which calls run at the same time"
    for position, _ in enumerate(scenario.limits):
        yield ("limits", position), "depends on the order of calls"
    if scenario.latency.load is not None:
        yield ("latency", "load"), "depends on which calls run at the same time"
