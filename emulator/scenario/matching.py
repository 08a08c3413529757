"""Find the rule that takes a request, and explain why the others did not. The first match wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.executor import run_in_thread
from emulator.core.json import JSON, dump_text
from emulator.core.rng import derive_key, draw_uniform
from emulator.core.storage import State
from emulator.scenario.conditions import Condition
from emulator.scenario.matchers import (
    ABSENT,
    Absent,
    Extract,
    Matcher,
    RequestAttributes,
    Test,
    compile_when,
    count_searches,
)
from emulator.scenario.models import Rule, Scenario, Times
from emulator.scenario.outcomes import NOTHING, PASS, Outcome
from emulator.scenario.redaction import reads_secret, redact_found, redact_wanted
from emulator.scenario.regex import takes_long

__all__ = ["Match", "RequestAttributes", "RuleMatcher", "RuleResult", "compile_rules", "find_nearest"]

_LOGGABLE = ("vendor", "deployment", "task", "endpoint", "principal", "session", "tools", "messages.last.role")
_LONGEST = 80  # characters of a value


def compare(check: Matcher, facts: RequestAttributes, *, loggable: bool = False) -> str:
    """Why a check fails; ``loggable``: without what prompt, headers, query and body say. No credential is whole."""
    if check.parts:
        return _compare_parts(check, facts, loggable=loggable)
    value = check.extract(facts)
    wanted = f"wanted {format_match(redact_wanted(check.name, check.wanted))}"
    if value is ABSENT:
        return f"the call has none, {wanted}"
    if loggable and check.name not in _LOGGABLE and not isinstance(value, bool | int | float):
        return wanted
    found = redact_found(check.name, value, facts)
    return f"is {'gone' if found is ABSENT else format_match(found)}, {wanted}"


def _compare_parts(check: Matcher, facts: RequestAttributes, *, loggable: bool) -> str:
    """Of ``any`` what each item lacks; of ``not`` that all of it holds."""
    if check.name == "not":
        (refused,) = check.parts
        return f"all of it holds: {', '.join(_name(inner) for inner in refused)}"
    lacking = [next(inner for inner in part if not inner.holds(inner.extract(facts))) for part in check.parts]
    return "; ".join(f"{inner.name} {compare(inner, facts, loggable=loggable)}" for inner in lacking)


def _name(check: Matcher) -> str:
    return check.name if check.parts else f"{check.name} {format_match(redact_wanted(check.name, check.wanted))}"


def format_match(value: Condition | JSON) -> str:
    """A value as JSON, not too long."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    text = dump_text(value[0] if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_ADDRESS = ("vendor", "deployment", "task", "stream")  # facets that rules are indexed by
_MOST_ADDRESSES = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The rule that takes a call, if one does, and what it makes of it.

    Fields:
        outcome: the rule's, or the step of its sequence; ``NOTHING`` without a rule.
        counts: for each rule that counted the call, by name: the how-manieth it was, from 1.
    """

    rule: Rule | None = None
    outcome: Outcome = NOTHING
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a rule said to a call.

    Fields:
        failed: the first facet that does not hold, or ``times.<key>``; ``None``: the rule takes the call.
        detail: what was found and what was wanted, credentials cut short; ``loggable``: the same without
            what prompt, headers, query and body say.
        held: how many facets hold; ``missing``: how many do not.
        draw: the chance that was drawn, for a rule with a probability.
    """

    rule: str
    failed: str | None = None
    detail: str = ""
    loggable: str = ""
    held: int = 0
    missing: int = 0
    draw: float | None = None


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A rule ready to match.

    Fields:
        quick: what :meth:`RuleMatcher.match` checks, as bare tuples: the checks the index does not answer.
        counts: which call it is matters.
    """

    rule: Rule
    checks: tuple[Matcher, ...]
    quick: tuple[tuple[Extract, Test], ...]
    times: Times | None
    counts: bool

    def is_addressed(self, facts: RequestAttributes) -> bool:
        """The facets the index answers hold."""
        return all(check.holds(check.extract(facts)) for check in self.checks if check.name in _ADDRESS)

    def find_failed(self, facts: RequestAttributes) -> Sequence[Matcher]:
        """Every check that fails."""
        return [check for check in self.checks if not check.holds(check.extract(facts))]


class RuleMatcher:
    """The rules of one scenario, compiled.

    ``reads_secrets``: what they say can be explained only as long as a call's credentials are known.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.rules = scenario.rules
        self._rules = tuple(_compile(rule) for rule in scenario.rules)
        self._searches = sum(count_searches(compiled.checks) for compiled in self._rules)
        self._key = derive_key("chance", scenario.seed)
        self._by_address: dict[tuple[str | bool, ...], tuple[_Compiled, ...]] = {}
        self.reads_secrets = any(_read_secrets(compiled.checks) for compiled in self._rules)

    async def match(self, facts: RequestAttributes, state: State) -> Match:
        """Find the rule that takes the call, counting it for every rule it comes to that counts."""
        counts: dict[str, int] = {}
        holding: Iterable[_Compiled] = _find_holding(self._at_address(facts), facts)
        if facts.body_bytes > INLINE_BYTES or takes_long(self._searches, facts.body_bytes):
            holding = await run_in_thread(list, holding)
        for compiled in holding:
            rule, ordinal = compiled.rule, 0
            if compiled.counts:
                ordinal = 1 + await state.count(facts.session, "rule", _count_key(rule, facts))
                counts[rule.name] = ordinal
            times = compiled.times
            if times is None or _find_failed_time(times, ordinal, facts.since_start, self._draw(rule, facts)) is None:
                return Match(rule, _resolve(rule, ordinal), counts)
        return Match(counts=counts)

    def explain(self, facts: RequestAttributes, match: Match) -> tuple[RuleResult, ...]:
        """What each rule said, up to the one that took the call; counts nothing."""
        verdicts = []
        for compiled in self._rules:
            verdict = self._explain_rule(compiled, facts, match)
            verdicts.append(verdict)
            if verdict.failed is None:
                break
        return tuple(verdicts)

    def _explain_rule(self, compiled: _Compiled, facts: RequestAttributes, match: Match) -> RuleResult:
        rule, times = compiled.rule, compiled.times
        failed = compiled.find_failed(facts)
        held = len(compiled.checks) - len(failed)
        if failed:
            check, missing = failed[0], len(failed)
            detail, loggable = compare(check, facts), compare(check, facts, loggable=True)
            return RuleResult(rule.name, check.name, detail, loggable, held=held, missing=missing)
        if times is None:
            return RuleResult(rule.name, held=held)
        draw = self._draw(rule, facts)
        ordinal = match.counts.get(rule.name, 0)
        taken = match.rule is not None and match.rule.name == rule.name
        key = None if taken else _find_failed_time(times, ordinal, facts.since_start, draw)
        detail = _describe_time(times, key, ordinal, facts.since_start, draw) if key else ""
        missing = int(key is not None)
        return RuleResult(rule.name, key and f"times.{key}", detail, detail, held=held, missing=missing, draw=draw)

    def _at_address(self, facts: RequestAttributes) -> tuple[_Compiled, ...]:
        address = (facts.vendor, facts.deployment, facts.task, facts.stream, facts.ask is None)
        found = self._by_address.get(address)
        if found is None:
            if len(self._by_address) >= _MOST_ADDRESSES:
                self._by_address.clear()
            found = tuple(compiled for compiled in self._rules if compiled.is_addressed(facts))
            self._by_address[address] = found
        return found

    def _draw(self, rule: Rule, facts: RequestAttributes) -> float | None:
        if rule.times is None or rule.times.probability is None:
            return None
        return draw_uniform(self._key, rule.name, facts.fingerprint, facts.attempt)


def compile_rules(scenario: Scenario) -> RuleMatcher:
    """Make the rules of a scenario ready to match."""
    return RuleMatcher(scenario)


def find_nearest(verdicts: Iterable[RuleResult]) -> RuleResult | None:
    """The rule that came closest to taking the call: most facets hold, of those fewest fail, then the first."""
    return max(verdicts, key=lambda verdict: (verdict.held, -verdict.missing), default=None)


def _compile(rule: Rule) -> _Compiled:
    checks = compile_when(rule.when)
    rest = tuple((check.extract, check.test) for check in checks if check.name not in _ADDRESS)
    counts = rule.sequence is not None or (rule.times is not None and rule.times.counts)
    return _Compiled(rule, checks, rest, rule.times, counts)


def _read_secrets(checks: Iterable[Matcher]) -> bool:
    return any(reads_secret(check.name) or any(map(_read_secrets, check.parts)) for check in checks)


def _find_holding(rules: Iterable[_Compiled], facts: RequestAttributes) -> Iterator[_Compiled]:
    """Rules all of whose facets hold. The hot loop: no call that can be spared, and no value taken out twice."""
    seen: dict[Extract, JSON | Absent] = {}
    for compiled in rules:
        for extract, test in compiled.quick:
            try:
                value = seen[extract]
            except KeyError:
                value = seen[extract] = extract(facts)
            if value.__class__ is tuple:
                if not any(map(test, value)):
                    break
            elif value is ABSENT or not test(value):
                break
        else:
            yield compiled


def _count_key(rule: Rule, facts: RequestAttributes) -> bytes:
    """The counter a call belongs to; sessions have counters of their own anyway."""
    match rule.scope:
        case "request":
            return derive_key(rule.name, "request", facts.fingerprint)
        case "principal":
            return derive_key(rule.name, "principal", facts.principal)
        case "deployment":
            return derive_key(rule.name, "deployment", facts.vendor, facts.deployment)
        case _:
            return derive_key(rule.name)


def _find_failed_time(times: Times, ordinal: int, since_start: float, draw: float | None) -> str | None:
    """The first key of ``times`` that does not hold."""
    holds = {
        "first": times.first is None or ordinal <= times.first,
        "nth": times.nth is None or ordinal in times.nth,
        "every": times.every is None or ordinal % times.every == 0,
        "after": times.after is None or ordinal > times.after,
        "between": times.between is None or times.between[0] <= since_start < times.between[1],
        "repeat": times.repeat is None or since_start % times.repeat.every < times.repeat.for_,
        "probability": draw is None or times.probability is None or draw < times.probability,
    }
    return next((key for key, held in holds.items() if not held), None)


def _resolve(rule: Rule, ordinal: int) -> Outcome:
    """What the rule makes of its ``ordinal``-th call."""
    steps = rule.sequence
    if steps is None:
        return rule
    if ordinal <= len(steps):
        return steps[ordinal - 1]
    if rule.then == "repeat":
        return steps[(ordinal - 1) % len(steps)]
    return steps[-1] if rule.then == "last" else PASS


def _describe_time(times: Times, key: str, ordinal: int, since_start: float, draw: float | None) -> str:
    wanted = format_match(getattr(times, key))
    if key == "probability":
        return f"drew {draw:.6f}, wanted below {wanted}"
    if key in ("between", "repeat"):
        return f"at {since_start:g} s, wanted {wanted}"
    return f"call {ordinal}, wanted {key} {wanted}"
