"""Match requests against rules, first match wins, and explain why a rule does not match.

The handler matches requests so; the journal and ``emulator explain`` show the explanations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, partial
from itertools import chain

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.dataclass import fast_dataclass
from emulator.core.executor import run_in_thread
from emulator.core.json import JSON
from emulator.core.rng import derive_key, draw_uniform
from emulator.scenario.matchers import (
    ABSENT,
    Absent,
    Extract,
    Fold,
    Matcher,
    RequestAttributes,
    compile_when,
    count_searches,
    find_failed,
    find_search_limit,
    list_necessary,
    split_path,
)
from emulator.scenario.models import Rule, Scenario
from emulator.scenario.outcomes import NO_OUTCOME, PASS, Outcome
from emulator.scenario.redaction import reads_secret, redact_found, redact_wanted
from emulator.scenario.regex import find_max_quick, find_max_searched
from emulator.scenario.times import ShareTest, TimeTest, compile_count_key, compile_times, describe_time, format_match

__all__ = ["UNMATCHED", "Match", "RequestAttributes", "RuleMatcher", "RuleResult", "compile_rules", "find_nearest"]

_LOGGABLE = (
    "vendor",
    "deployment",
    "served",
    "task",
    "endpoint",
    "principal",
    "session",
    "tools",
    "tool_called",
    "messages.last.role",
)


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
    if (most := find_search_limit(check.wanted, value)) is not None:
        wanted += f"; only its first {most:,} characters were searched"
    if loggable and check.name not in _LOGGABLE and not isinstance(value, bool | int | float):
        return wanted
    found = redact_found(check.name, value, attributes)
    return f"is {'gone' if found is ABSENT else format_match(found)}, {wanted}"


def _compare_parts(check: Matcher, attributes: RequestAttributes, *, loggable: bool) -> str:
    """Describe a failed ``any`` by the first failing field of each item, and a failed ``not`` by its fields."""
    if check.name == "not":
        (refused,) = check.parts
        return f"all of it holds: {', '.join(_name(inner) for inner in refused)}"
    lacking = filter(None, [find_failed(part, attributes) for part in check.parts])
    return "; ".join(f"{inner.name} {compare(inner, attributes, loggable=loggable)}" for inner in lacking)


def _name(check: Matcher) -> str:
    return check.name if check.parts else f"{check.name} {format_match(redact_wanted(check.name, check.wanted))}"


_ADDRESS = ("vendor", "deployment", "task", "stream")  # fields by which rules are indexed
_OPTIONS = (*_ADDRESS, "served", "endpoint", "principal", "structured", "tools")  # equal for equal options of a caller
_MAX_ADDRESSES = 1024  # entries of the index
_MAX_ASKED = 64  # rules that are all asked for each new combination of options; of more, that would take long
Count = Callable[[str, str, bytes], int | Awaitable[int]]
"""Function that increments a counter of a session and scope by its key, and returns the value before."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Result of matching: the matching rule, if any, and its outcome.

    Fields:
        outcome: outcome of the rule, or of the step of its sequence; ``NO_OUTCOME`` without a rule.
        counts: ordinal of the request, from 1, by name of each rule that counted it.
    """

    rule: Rule | None = None
    outcome: Outcome = NO_OUTCOME
    counts: Mapping[str, int] = field(default_factory=dict)


UNMATCHED = Match()


@fast_dataclass(frozen=True, slots=True)
class RuleResult:
    """Result of one rule for one request.

    Fields:
        failed: the first field that does not match, or ``times.<key>``; ``None`` if the rule matches.
        detail: found and wanted value, with credentials redacted.
        loggable: ``detail`` without content of prompt, headers, query and body.
        held: number of fields that match.
        missing: number of fields that do not match.
        draw: random draw from 0 to 1 of a rule with a probability.
    """

    rule: str
    failed: str | None = None
    detail: str = ""
    loggable: str = ""
    held: int = 0
    missing: int = 0
    draw: float | None = None


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Compiled:
    """Compiled rule.

    Fields:
        position: position of the rule in the scenario, from 0.
        filed: matchers that :class:`_Candidates` find the rule by: one holds if the rule does; empty if all are costly.
        rest: the matchers of fields that are not in the index.
        count_key: returns the key of the rule's counter; ``None`` if the rule needs no ordinal.
        times: keys of ``times`` with their tests, in order.
        draw: draws a number from 0 to 1, by fingerprint and attempt, for a probability.
    """

    position: int
    rule: Rule
    checks: tuple[Matcher, ...]
    filed: tuple[Matcher, ...]
    rest: tuple[Matcher, ...]
    count_key: Callable[[RequestAttributes], bytes] | None
    times: tuple[tuple[str, TimeTest], ...]
    draw: Callable[[bytes, int], float] | None

    def is_addressed(self, attributes: RequestAttributes, is_shared: Callable[[str], bool]) -> bool:
        """Return whether the fields match that all requests of one address share."""
        return find_failed([check for check in self.checks if is_shared(check.name)], attributes) is None

    def find_failed_time(self, ordinal: int, attributes: RequestAttributes) -> str | None:
        """Return the first key of ``times`` that does not hold, or ``None``."""
        for key, test in self.times:
            if not test(ordinal, attributes):
                return key
        return None


def _is_option(name: str) -> bool:
    """Return whether a field is equal for all calls of a principal with equal options."""
    return name in _OPTIONS or (name.startswith("body.") and split_path(name)[1] not in ("messages", "user"))


_Filed = tuple[Callable[..., object], object, _Compiled]


class _Candidates:
    """Rules of one address, by the attribute that a matcher of theirs reads.

    An attribute is read once, an absent one rules out all its rules, and one lookup finds those that want its exact
    text. A comparison in C rules out most others: calls of Python functions cost more than all the rest. Rules with
    costly matchers only are asked in order, so the first match spares the others.
    """

    def __init__(self, rules: tuple[_Compiled, ...]) -> None:
        self._always: list[_Compiled] = []
        facets: dict[tuple[Extract, Fold | None], tuple[dict[JSON, list[_Compiled]], list[_Filed]]] = {}
        for compiled in rules:
            if not compiled.filed:
                self._always.append(compiled)
                if not (compiled.rest or compiled.times):
                    break  # it takes every call
            for check in compiled.filed:
                names = _list_exact(check)
                for name in names:
                    facets.setdefault((check.extract, None), ({}, []))[0].setdefault(name, []).append(compiled)
                for holds, operand, fold in () if names else list_necessary(check):
                    facets.setdefault((check.extract, fold), ({}, []))[1].append((holds, operand, compiled))
        self._facets = [(extract, fold, exact, filed) for (extract, fold), (exact, filed) in facets.items()]

    def find(self, attributes: RequestAttributes) -> Sequence[_Compiled]:
        """Return the rules that may match, in order."""
        found: list[_Compiled] = []
        for extract, fold, exact, filed in self._facets:
            value = extract(attributes)
            if value is ABSENT:
                continue
            for one in value if isinstance(value, tuple) else (value,):
                if exact:
                    found += exact.get(one, ())
                compared = one if fold is None else fold(one)
                for holds, operand, compiled in filed:
                    if holds(compared, operand):
                        found.append(compiled)
        return sorted({*self._always, *found}, key=_position) if found else self._always


def _find_holding(rules: Iterable[_Compiled], attributes: RequestAttributes) -> Iterator[_Compiled]:
    """Yield the rules of which all fields match, in order; each attribute is read once."""
    read: dict[Extract, JSON | Absent] = {}
    for compiled in rules:
        for check in compiled.rest:
            extract = check.extract
            if extract not in read:
                read[extract] = extract(attributes)
            if not check.holds(read[extract]):
                break
        else:
            yield compiled


class RuleMatcher:
    """Compiled rules of one scenario.

    Fields:
        reads_secrets: a rule matches credentials, so a result cannot be explained once they are redacted.
        max_searched: characters up to which every text of a request is searched to its end.
    """

    def __init__(self, scenario: Scenario, *, by_hash: bool = False) -> None:
        key = derive_key("chance", scenario.seed)
        self.rules = scenario.rules
        self._rules = tuple(
            _compile(position, rule, key, by_hash=by_hash) for position, rule in enumerate(scenario.rules)
        )
        tests = [test for compiled in self._rules for _, test in compiled.times]
        self._shares = [test for test in tests if isinstance(test, ShareTest)]
        searches = sum(count_searches(compiled.checks) for compiled in self._rules)
        self.max_searched = find_max_searched(searches)
        self._max_inline = min(INLINE_BYTES, find_max_quick(searches))
        names = {check.name for compiled in self._rules for check in compiled.checks if check.name not in _ADDRESS}
        self._by_options = len(self._rules) <= _MAX_ASKED and any(map(_is_option, names))
        self._by_address: dict[tuple[Hashable, ...], _Candidates] = {}
        self._group = lru_cache(_MAX_ADDRESSES)(_Candidates)  # most addresses have the same rules
        self.reads_secrets = any(_read_secrets(compiled.checks) for compiled in self._rules)

    def forget(self, session: str) -> None:
        """Forget what was counted for a session that has ended."""
        for share in self._shares:
            share.forget(session)

    def match(self, attributes: RequestAttributes, count: Count) -> Match | Awaitable[Match]:
        """Return the first matching rule; count the request for each rule with counters up to that one.

        The awaitable waits for a ``count`` that returns one, and for a thread if the request is long.
        """
        candidates = self._find_candidates(attributes)
        if attributes.body_bytes > self._max_inline:
            return self._choose(candidates, None, attributes, count)
        found = candidates.find(attributes)
        return self._choose(candidates, found, attributes, count) if found else UNMATCHED

    async def _choose(
        self,
        candidates: _Candidates,
        found: Sequence[_Compiled] | None,
        attributes: RequestAttributes,
        count: Count,
    ) -> Match:
        """Return the first match of the rules ``found``; ``None``: they are sought in a thread."""
        holding: Iterable[_Compiled]
        if found is None:
            holding = await run_in_thread(lambda: [*_find_holding(candidates.find(attributes), attributes)])
        else:
            holding = _find_holding(found, attributes)
        counts: dict[str, int] = {}
        for compiled in holding:
            rule, ordinal = compiled.rule, 0
            if compiled.count_key is not None:
                before = count(attributes.request.session, "rule", compiled.count_key(attributes))
                counts[rule.name] = ordinal = 1 + (before if isinstance(before, int) else await before)
            if compiled.find_failed_time(ordinal, attributes) is None:
                return Match(rule, _resolve(rule, ordinal), counts)
        return Match(counts=counts) if counts else UNMATCHED

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
        rule, times = compiled.rule, compiled.rule.times
        failed = [check for check in compiled.checks if not check.holds(check.extract(attributes))]
        held = len(compiled.checks) - len(failed)
        if failed:
            check, missing = failed[0], len(failed)
            detail, loggable = compare(check, attributes), compare(check, attributes, loggable=True)
            return RuleResult(rule.name, check.name, detail, loggable, held=held, missing=missing)
        if times is None:
            return RuleResult(rule.name, held=held)
        draw = None if compiled.draw is None else compiled.draw(attributes.fingerprint, attributes.attempt)
        ordinal = match.counts.get(rule.name, 0)
        taken = match.rule is not None and match.rule.name == rule.name
        key = None if taken else compiled.find_failed_time(ordinal, attributes)
        detail = describe_time(times, key, ordinal, attributes, draw) if key else ""
        missing = int(key is not None)
        return RuleResult(rule.name, key and f"times.{key}", detail, detail, held=held, missing=missing, draw=draw)

    def _find_candidates(self, attributes: RequestAttributes) -> _Candidates:
        """Return the rules that match the indexed fields."""
        vendor, call = attributes.vendor, attributes.call
        address: tuple[Hashable, ...] = (vendor,)
        is_shared: Callable[[str], bool] = _ADDRESS.__contains__
        if call is not None and call.options is not None and self._by_options:
            address = call.options, attributes.request.principal
            is_shared = _is_option
        elif call is not None:
            address = vendor, call.deployment.name, call.deployment.task, call.stream
        found = self._by_address.get(address)
        if found is None:
            if len(self._by_address) >= _MAX_ADDRESSES:
                del self._by_address[next(iter(self._by_address))]  # the oldest
            rules = tuple([compiled for compiled in self._rules if compiled.is_addressed(attributes, is_shared)])
            found = self._by_address[address] = self._group(rules)
        return found


def compile_rules(scenario: Scenario, *, by_hash: bool = False) -> RuleMatcher:
    """Compile the rules of a scenario; ``by_hash``: shares are drawn, as other processes have requests too."""
    return RuleMatcher(scenario, by_hash=by_hash)


def find_nearest(verdicts: Iterable[RuleResult]) -> RuleResult | None:
    """Return the result with most matching fields, then fewest failing ones, then the first; ``None`` without rules."""
    return max(verdicts, key=lambda verdict: (verdict.held, -verdict.missing), default=None)


def _compile(position: int, rule: Rule, key: bytes, *, by_hash: bool) -> _Compiled:
    checks = compile_when(rule.when)
    rest = [check for check in checks if check.name not in _ADDRESS]
    counts = rule.sequence is not None or (rule.times is not None and rule.times.counts)
    draw = partial(draw_uniform, key, rule.name) if rule.times and rule.times.probability is not None else None
    return _Compiled(
        position=position,
        rule=rule,
        checks=checks,
        filed=_choose_filed(rest),
        rest=tuple(rest),
        count_key=compile_count_key(rule) if counts else None,
        times=tuple(compile_times(rule, draw, key, by_hash=by_hash)),
        draw=draw,
    )


def _position(compiled: _Compiled) -> int:
    return compiled.position


def _choose_filed(checks: Iterable[Matcher]) -> tuple[Matcher, ...]:
    """Return cheap matchers of which one holds if all the checks do: a check, or one of each part of an ``any``."""
    cheap = [check for check in checks if list_necessary(check)]
    if cheap:
        return (next(filter(_list_exact, cheap), cheap[0]),)
    parts = [[*map(_choose_filed, check.parts)] for check in checks if check.name == "any"]
    return next((tuple(chain.from_iterable(filed)) for filed in parts if all(filed)), ())


def _list_exact(check: Matcher) -> Sequence[str]:
    """Return the texts of which a matcher wants one; empty if its condition is another or of a body, of any type."""
    match check.wanted:
        case str(text) if not check.name.startswith("body."):
            return (text,)
        case tuple(names) if "*" not in "".join(names):
            return names
    return ()


def _read_secrets(checks: Iterable[Matcher]) -> bool:
    return any(reads_secret(check.name) or any(map(_read_secrets, check.parts)) for check in checks)


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
