"""Match requests against rules, first match wins, and explain why a rule does not match."""

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
_MAX_VALUE = 80  # characters


def compare(check: Matcher, attributes: RequestAttributes, *, loggable: bool = False) -> str:
    """Describe why a matcher fails, with credentials redacted.

    ``loggable``: without content of prompt, headers, query and body.
    """
    if check.parts:
        return _compare_parts(check, attributes, loggable=loggable)
    value = check.extract(attributes)
    wanted = f"wanted {format_match(redact_wanted(check.name, check.wanted))}"
    if value is ABSENT:
        return f"the call has none, {wanted}"
    if loggable and check.name not in _LOGGABLE and not isinstance(value, bool | int | float):
        return wanted
    found = redact_found(check.name, value, attributes)
    return f"is {'gone' if found is ABSENT else format_match(found)}, {wanted}"


def _compare_parts(check: Matcher, attributes: RequestAttributes, *, loggable: bool) -> str:
    """Describe a failed ``any`` by the first failing field of each item, and a failed ``not`` by its fields."""
    if check.name == "not":
        (refused,) = check.parts
        return f"all of it holds: {', '.join(_name(inner) for inner in refused)}"
    lacking = [next(inner for inner in part if not inner.holds(inner.extract(attributes))) for part in check.parts]
    return "; ".join(f"{inner.name} {compare(inner, attributes, loggable=loggable)}" for inner in lacking)


def _name(check: Matcher) -> str:
    return check.name if check.parts else f"{check.name} {format_match(redact_wanted(check.name, check.wanted))}"


def format_match(value: Condition | JSON) -> str:
    """Format a value as JSON of up to 80 characters."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    text = dump_text(value[0] if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"


_ADDRESS = ("vendor", "deployment", "task", "stream")  # fields by which rules are indexed
_MAX_ADDRESSES = 1024  # entries of the index


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Result of matching: the matching rule, if any, and its outcome.

    Fields:
        outcome: of the rule, or of the step of its sequence; ``NOTHING`` without a rule.
        counts: ordinal of the request, from 1, by name of each rule that counted it.
    """

    rule: Rule | None = None
    outcome: Outcome = NOTHING
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleResult:
    """Result of one rule for one request.

    Fields:
        failed: the first field that does not match, or ``times.<key>``; ``None`` if the rule matches.
        detail: found and wanted value, with credentials redacted.
        loggable: the same without content of prompt, headers, query and body.
        held: number of fields that match; ``missing``: number of those that do not.
        draw: random draw from 0 to 1 of a rule with a probability.
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
    """Compiled rule.

    Fields:
        quick: pairs of extractor and test of the fields that are not in the index.
        counts: the rule needs the ordinal of the request.
    """

    rule: Rule
    checks: tuple[Matcher, ...]
    quick: tuple[tuple[Extract, Test], ...]
    times: Times | None
    counts: bool

    def is_addressed(self, attributes: RequestAttributes) -> bool:
        """Return whether the indexed fields match."""
        return all(check.holds(check.extract(attributes)) for check in self.checks if check.name in _ADDRESS)

    def find_failed(self, attributes: RequestAttributes) -> Sequence[Matcher]:
        """Return every matcher that fails."""
        return [check for check in self.checks if not check.holds(check.extract(attributes))]


class RuleMatcher:
    """Compiled rules of one scenario.

    ``reads_secrets``: a rule matches credentials, so a result cannot be explained once they are redacted.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.rules = scenario.rules
        self._rules = tuple(_compile(rule) for rule in scenario.rules)
        self._searches = sum(count_searches(compiled.checks) for compiled in self._rules)
        self._key = derive_key("chance", scenario.seed)
        self._by_address: dict[tuple[str | bool, ...], tuple[_Compiled, ...]] = {}
        self.reads_secrets = any(_read_secrets(compiled.checks) for compiled in self._rules)

    async def match(self, attributes: RequestAttributes, state: State) -> Match:
        """Return the first matching rule; count the request for each rule with counters up to that one."""
        counts: dict[str, int] = {}
        holding: Iterable[_Compiled] = _find_holding(self._at_address(attributes), attributes)
        if attributes.body_bytes > INLINE_BYTES or takes_long(self._searches, attributes.body_bytes):
            holding = await run_in_thread(list, holding)
        for compiled in holding:
            rule, ordinal = compiled.rule, 0
            if compiled.counts:
                ordinal = 1 + await state.count(attributes.session, "rule", _count_key(rule, attributes))
                counts[rule.name] = ordinal
            times = compiled.times
            if (
                times is None
                or _find_failed_time(times, ordinal, attributes.since_start, self._draw(rule, attributes)) is None
            ):
                return Match(rule, _resolve(rule, ordinal), counts)
        return Match(counts=counts)

    def explain(self, attributes: RequestAttributes, match: Match) -> tuple[RuleResult, ...]:
        """Return the result of each rule up to the one that matched, without counting."""
        verdicts = []
        for compiled in self._rules:
            verdict = self._explain_rule(compiled, attributes, match)
            verdicts.append(verdict)
            if verdict.failed is None:
                break
        return tuple(verdicts)

    def _explain_rule(self, compiled: _Compiled, attributes: RequestAttributes, match: Match) -> RuleResult:
        rule, times = compiled.rule, compiled.times
        failed = compiled.find_failed(attributes)
        held = len(compiled.checks) - len(failed)
        if failed:
            check, missing = failed[0], len(failed)
            detail, loggable = compare(check, attributes), compare(check, attributes, loggable=True)
            return RuleResult(rule.name, check.name, detail, loggable, held=held, missing=missing)
        if times is None:
            return RuleResult(rule.name, held=held)
        draw = self._draw(rule, attributes)
        ordinal = match.counts.get(rule.name, 0)
        taken = match.rule is not None and match.rule.name == rule.name
        key = None if taken else _find_failed_time(times, ordinal, attributes.since_start, draw)
        detail = _describe_time(times, key, ordinal, attributes.since_start, draw) if key else ""
        missing = int(key is not None)
        return RuleResult(rule.name, key and f"times.{key}", detail, detail, held=held, missing=missing, draw=draw)

    def _at_address(self, attributes: RequestAttributes) -> tuple[_Compiled, ...]:
        address = (
            attributes.vendor,
            attributes.deployment,
            attributes.task,
            attributes.stream,
            attributes.request is None,
        )
        found = self._by_address.get(address)
        if found is None:
            if len(self._by_address) >= _MAX_ADDRESSES:
                self._by_address.clear()
            found = tuple(compiled for compiled in self._rules if compiled.is_addressed(attributes))
            self._by_address[address] = found
        return found

    def _draw(self, rule: Rule, attributes: RequestAttributes) -> float | None:
        if rule.times is None or rule.times.probability is None:
            return None
        return draw_uniform(self._key, rule.name, attributes.fingerprint, attributes.attempt)


def compile_rules(scenario: Scenario) -> RuleMatcher:
    """Compile the rules of a scenario."""
    return RuleMatcher(scenario)


def find_nearest(verdicts: Iterable[RuleResult]) -> RuleResult | None:
    """Return the result with most matching fields, then fewest failing ones, then the first; ``None`` without rules."""
    return max(verdicts, key=lambda verdict: (verdict.held, -verdict.missing), default=None)


def _compile(rule: Rule) -> _Compiled:
    checks = compile_when(rule.when)
    rest = tuple((check.extract, check.test) for check in checks if check.name not in _ADDRESS)
    counts = rule.sequence is not None or (rule.times is not None and rule.times.counts)
    return _Compiled(rule, checks, rest, rule.times, counts)


def _read_secrets(checks: Iterable[Matcher]) -> bool:
    return any(reads_secret(check.name) or any(map(_read_secrets, check.parts)) for check in checks)


def _find_holding(rules: Iterable[_Compiled], attributes: RequestAttributes) -> Iterator[_Compiled]:
    """Yield rules of which all fields match.

    This is a hot loop: calls are inlined, and each attribute is extracted once.
    """
    seen: dict[Extract, JSON | Absent] = {}
    for compiled in rules:
        for extract, test in compiled.quick:
            try:
                value = seen[extract]
            except KeyError:
                value = seen[extract] = extract(attributes)
            if value.__class__ is tuple:
                if not any(map(test, value)):
                    break
            elif value is ABSENT or not test(value):
                break
        else:
            yield compiled


def _count_key(rule: Rule, attributes: RequestAttributes) -> bytes:
    """Return the key of a rule's counter within a session, by the rule's scope."""
    match rule.scope:
        case "request":
            return derive_key(rule.name, "request", attributes.fingerprint)
        case "principal":
            return derive_key(rule.name, "principal", attributes.principal)
        case "deployment":
            return derive_key(rule.name, "deployment", attributes.vendor, attributes.deployment)
        case _:
            return derive_key(rule.name)


def _find_failed_time(times: Times, ordinal: int, since_start: float, draw: float | None) -> str | None:
    """Return the first key of ``times`` that does not hold, or ``None``."""
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
    """Return the outcome of the ``ordinal``-th request of a rule."""
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
