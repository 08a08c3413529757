"""Find parts of valid scenarios that are probably wrong, such as rules that can never match, and warn of them.

``emulator check`` prints the warnings.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import get_args

from emulator.core.requests import Deployment, Task
from emulator.scenario import codes
from emulator.scenario.conditions import When
from emulator.scenario.errors import Diagnostic, suggest_name
from emulator.scenario.locations import KeyPath, format_path
from emulator.scenario.matchers import compile_names
from emulator.scenario.models import Limit, Rule, Scenario
from emulator.scenario.odd_callers import (
    Finding,
    explain_unknown,
    find_odd_outages,
    find_shared_counts,
    list_principals,
)
from emulator.scenario.outcomes import Outcome, ReplyOutcome, Times
from emulator.scenario.parsed import ParsedScenario
from emulator.scenario.placeholders import PLACEHOLDERS
from emulator.scenario.shadowing import FoldedWhen, covers, find_contradiction, fold, is_stricter

Routes = Mapping[str, Collection[str]]
"""Paths by vendor, such as ``/serving-endpoints/{name}/invocations``; ``{rest:path}`` also spans slashes."""


class _Wild(Enum):
    ONE = "a character that is no slash"
    MANY = "any number of them"
    SOME = "a character"
    ANY = "any number of characters"


Pattern = tuple[str | _Wild, ...]
_REPEATED: tuple[Pattern, ...] = ((_Wild.MANY,), (_Wild.ANY,))
_ANYTHING = (_Wild.SOME, _Wild.ANY)
_CATCH_ALL = re.compile(r"[^{]*\{\w+:path\}")
_PARAMETER = re.compile(r"(\{\w+(?::path)?\})")


def find_unknown_endpoints(loaded: ParsedScenario, routes: Routes) -> Iterator[Diagnostic]:
    """Yield warnings about rules with an ``endpoint`` that no vendor of the rule has."""
    for position, rule in enumerate(loaded.scenario.rules):
        wanted = rule.when.endpoint
        paths = _list_paths(rule, routes)
        if wanted is None or not paths or any(_meets(glob, path) for glob in wanted for path in paths):
            continue
        message = f"no vendor the rule is about has the endpoint {', '.join(wanted)}{suggest_name(wanted[0], paths)}"
        yield loaded.row(("rules", position, "when", "endpoint"), message, code=codes.UNSERVED)


def _list_paths(rule: Rule, routes: Routes) -> list[str]:
    """Return the paths of the vendors of a rule, without catch-all routes."""
    is_vendor = compile_names(rule.when.vendor or ("*",))
    named = [path for vendor, paths in routes.items() if is_vendor(vendor) for path in paths]
    return [path for path in named if not _CATCH_ALL.fullmatch(path)]


def _meets(glob: str, route: str) -> bool:
    """Return whether some path matches both a glob and a route."""
    return _overlap(_read_glob(glob), _read_route(route))


def _read_glob(glob: str) -> Pattern:
    return tuple(_Wild.ANY if character == "*" else character for character in glob)


def _read_route(route: str) -> Pattern:
    pattern: list[str | _Wild] = []
    for part in _PARAMETER.split(route):
        if _PARAMETER.fullmatch(part):
            pattern += [_Wild.SOME, _Wild.ANY] if part.endswith(":path}") else [_Wild.ONE, _Wild.MANY]
        else:
            pattern += part
    return tuple(pattern)


def _overlap(left: Pattern, right: Pattern) -> bool:
    """Return whether some text matches both patterns."""
    seen: set[tuple[int, int]] = set()
    ahead = [(0, 0)]
    while ahead:
        place = i, j = ahead.pop()
        if place in seen:
            continue
        seen.add(place)
        if i == len(left) and j == len(right):
            return True
        one, other = left[i : i + 1], right[j : j + 1]
        if one in _REPEATED:
            ahead.append((i + 1, j))
        if other in _REPEATED:
            ahead.append((i, j + 1))
        if one and other and _share(*one, *other):
            ahead.append((i + (one not in _REPEATED), j + (other not in _REPEATED)))
    return False


def _share(one: str | _Wild, other: str | _Wild) -> bool:
    """Return whether some character matches both."""
    if one in _ANYTHING or other in _ANYTHING:
        return True
    if isinstance(one, _Wild):
        return isinstance(other, _Wild) or other != "/"
    return one != "/" if isinstance(other, _Wild) else one == other


KnownModels = Mapping[str, Mapping[str, Deployment]]
"""Deployments by vendor and name, computed on access to a vendor."""


def find_odd_limits(
    scenario: Scenario,
    served: Collection[str],
    principals: Collection[str] | None,
    catalogue: KnownModels | None,
) -> Iterator[Finding]:
    """Yield limits that charge no request, that another limit always preempts, or that no request can satisfy."""
    capacity = _find_capacity(scenario)
    for position, limit in enumerate(scenario.limits):
        path: KeyPath = ("limits", position)
        if (unknown := _find_unknown(limit, served, principals)) is not None:
            facet, reason = unknown
            yield codes.LIMIT_NEVER_REACHED, (*path, facet), f"the limit is never reached: {reason}"
            continue
        if (reserved := _find_reserved(limit, catalogue)) > limit.amount:
            yield (
                codes.NEVER_MET,
                (*path, "amount"),
                f"no call without max_tokens can ever meet it: {reserved} tokens are set aside for it",
            )
        if limit.unit == "concurrency" and capacity is not None and limit.amount >= capacity:
            text = f"the limit is never reached: load lets {capacity} calls in at the same time"
            yield codes.LIMIT_NEVER_REACHED, (*path, "amount"), text
            continue
        for other, stricter in enumerate(scenario.limits):
            if other != position and is_stricter(stricter, limit, earlier=other < position):
                text = f"the limit is never reached: limits[{other}] refuses first"
                yield codes.LIMIT_NEVER_REACHED, (*path, "amount"), text
                break


def _find_capacity(scenario: Scenario) -> int | None:
    """Return the largest number of concurrent requests; ``None``: no bound."""
    load = scenario.latency.load
    return None if load is None or load.queue is None else load.capacity + load.queue


def _find_unknown(limit: Limit, served: Collection[str], principals: Collection[str] | None) -> tuple[str, str] | None:
    """Return a field of a limit that names nothing known, and the reason; ``None`` if all names are known."""
    if limit.vendor is not None and not any(map(compile_names(limit.vendor), served)):
        return "vendor", f"{', '.join(limit.vendor)} is not served{suggest_name(limit.vendor[0], served)}"
    unknown = explain_unknown(limit.principal, principals)
    return None if unknown is None else ("principal", unknown)


def _find_reserved(limit: Limit, catalogue: KnownModels | None) -> int:
    """Return the tokens reserved for a request without ``max_tokens``, the least of all deployments."""
    if limit.unit not in ("output_tokens", "tokens") or catalogue is None:
        return 0
    is_vendor, is_name = compile_names(limit.vendor or ("*",)), compile_names(limit.deployment or ("*",))
    return min(
        (
            deployment.expected_answer()
            for vendor in filter(is_vendor, catalogue)
            for deployment in catalogue[vendor].values()
            if is_name(deployment.name) and deployment.task in ("chat", "completions")
        ),
        default=0,
    )


_DOUBLE = re.compile(r"\{\{[^{}\n]*\}\}")
_GENERATIVE = ("chat", "completions")
_WITH_TEXT = (*_GENERATIVE, "transcription")  # tasks with a text in their answer
_STREAMING = (*_WITH_TEXT, "speech")


def find_odd_outcomes(scenario: Scenario, catalogue: KnownModels | None) -> Iterator[Finding]:
    """Yield replies that their task cannot give or with unused placeholders, and faults without effect."""
    for position, rule in enumerate(scenario.rules):
        path: KeyPath = ("rules", position)
        tasks = _find_tasks(rule.when, catalogue)
        steps = [((*path, "sequence", number), step) for number, step in enumerate(rule.sequence or ())]
        outcomes: list[tuple[KeyPath, Outcome]] = [(path, rule), *steps]
        for place, outcome in outcomes:
            if outcome.reply is not None:
                yield from _find_odd_reply((*place, "reply"), outcome.reply, tasks)
            yield from _find_faults_of_nothing(place, outcome)
            yield from _find_unbroken_calls(place, outcome, rule.when, tasks)
            if rule.when.stream is False or not tasks & set(_STREAMING):
                yield from _find_idle_faults(place, outcome)


def _find_faults_of_nothing(path: KeyPath, outcome: Outcome) -> Iterator[Finding]:
    """Yield faults after one that leaves no response to change."""
    last = next((number for number, fault in enumerate(outcome.faults) if fault.leaves_nothing), len(outcome.faults))
    for number, fault in enumerate(outcome.faults[last + 1 :], last + 1):
        text = f"{fault.type} does nothing after {outcome.faults[last].type}, which leaves no answer to bend"
        yield codes.IDLE_FAULT, (*path, "faults", number), text


def _find_unbroken_calls(path: KeyPath, outcome: Outcome, when: When, tasks: set[str]) -> Iterator[Finding]:
    """Yield what breaks a tool call or a schema's instance in answers that have neither."""
    reply = outcome.reply
    has_call = "chat" in tasks and (reply is None or bool(reply.tool_calls or reply.generate))
    for number, fault in enumerate(outcome.faults):
        if fault.type == "bad_arguments" and not has_call:
            yield (
                codes.IDLE_FAULT,
                (*path, "faults", number),
                "bad_arguments does nothing to an answer without tool call",
            )
    if reply is not None and reply.generate is not None and when.structured is False and when.tools is None:
        text = "the rule is about calls without a schema, of which nothing can be generated"
        yield codes.NO_SUCH_REPLY, (*path, "reply", "generate"), text


def _find_idle_faults(path: KeyPath, outcome: Outcome) -> Iterator[Finding]:
    """Yield faults of streams in rules for responses that are not streamed."""
    for number, fault in enumerate(outcome.faults):
        if fault.needs_events:
            text = f"{fault.type} does nothing to an answer that is not streamed"
            yield codes.IDLE_FAULT, (*path, "faults", number), text


def _find_tasks(when: When, catalogue: KnownModels | None) -> set[str]:
    """Return the tasks of the requests that a rule can match."""
    is_task = compile_names(when.task or ("*",))
    tasks = set(filter(is_task, get_args(Task)))
    if when.deployment is None or catalogue is None:
        return tasks
    is_vendor, is_name = compile_names(when.vendor or ("*",)), compile_names(when.deployment)
    served = {
        deployment.task
        for vendor in filter(is_vendor, catalogue)
        for deployment in catalogue[vendor].values()
        if is_name(deployment.name)
    }
    return tasks & served if served else tasks


def _find_odd_reply(path: KeyPath, reply: ReplyOutcome, tasks: set[str]) -> Iterator[Finding]:
    for name, able in _list_able(reply):
        if tasks and not tasks & set(able):
            text = f"the rule is about {' and '.join(sorted(tasks))}, which cannot answer so"
            yield codes.NO_SUCH_REPLY, (*path, name), text
    if reply.text is None or reply.template:
        return
    place = (*path, "text" if reply.file is None else "file")
    if (found := _DOUBLE.search(reply.text)) is not None:
        text = f"{found[0]} is sent as it is; with template: true {found[0][1:-1]} may be filled in"
        yield codes.PLACEHOLDER, place, text
    elif named := [name for name in PLACEHOLDERS if f"{{{name}}}" in reply.text]:
        yield codes.PLACEHOLDER, place, f"{{{named[0]}}} is sent as it is; template: true fills it in"


_ABLE = (
    ("reasoning", "chat"),
    ("tool_calls", "chat"),
    ("generate", "chat"),
    ("embedding", "embeddings"),
    ("embeddings", "embeddings"),
)


def _list_able(reply: ReplyOutcome) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each kind of reply that is set, and the tasks that support it."""
    for name in ("text", "file", "chunks"):
        if name in reply.model_fields_set:
            yield name, _WITH_TEXT
            break
    if reply.has_json:
        yield "json", _GENERATIVE
    if reply.refusal is not None:
        yield "refusal", _GENERATIVE
    for name, task in _ABLE:
        if name in reply.model_fields_set:
            yield name, (task,)


def lint(
    loaded: ParsedScenario,
    vendors: Collection[str],
    catalogue: KnownModels | None = None,
    *,
    knows_keys: bool = True,
) -> list[Diagnostic]:
    """Return the warnings about a scenario, sorted by position.

    Args:
        vendors: names of all vendors.
        catalogue: deployments under this scenario; ``None``: unknown, and not checked.
        knows_keys: the scenario has all its keys; otherwise principals are not checked.
    """
    scenario = loaded.scenario
    principals = list_principals(scenario) if knows_keys else None
    served = [name for name in vendors if scenario.vendors.get(name) is not False]
    findings = [*_find_unreached_rules(scenario, served, principals), *_find_odd_probabilities(scenario)]
    if catalogue is not None:
        findings += _find_unserved(scenario, catalogue)
    findings += [
        *find_odd_limits(scenario, served, principals, catalogue),
        *find_odd_outcomes(scenario, catalogue),
        *find_odd_outages(scenario, served, principals, catalogue),
        *find_shared_counts(scenario, principals),
        *_find_order_dependence(loaded),
    ]
    rows = [loaded.row(path, message, code=code) for code, path, message in findings]
    rows += _find_wrong_ignores(loaded.ignored)
    return sorted(rows, key=lambda row: (row.file, row.line, row.column))


def _find_wrong_ignores(ignored: codes.Ignored) -> Iterator[Diagnostic]:
    """Yield comments that name no code, an unknown one, or that of an error."""
    for (file, line), named in ignored.items():
        wrong = sorted(code for code in named if code not in codes.CODES or codes.find_severity(code) == "error")
        if named and not wrong:
            continue
        message = "`# emulator: ignore` takes the codes of warnings and notes, such as EM012"
        if wrong:
            what = "is no code" if wrong[0] not in codes.CODES else "is an error, which cannot be ignored"
            message = f"{wrong[0]} {what}"
        yield Diagnostic(file, line, 1, "", message, code=codes.IGNORED)


def _find_unreached_rules(
    scenario: Scenario, served: Collection[str], principals: Collection[str] | None
) -> Iterator[Finding]:
    """Yield rules that match no request, or none that an earlier rule leaves over."""
    reached: list[tuple[Rule, FoldedWhen]] = []
    for position, rule in enumerate(scenario.rules):
        path: KeyPath = ("rules", position)
        contradiction = find_contradiction(rule.when, served, principals)
        if contradiction is not None:
            facet, reason = contradiction
            yield codes.NEVER_REACHED, (*path, "when", facet), f"the rule is never reached: {reason}"
            continue
        never = None if rule.times is None else _explain_never(rule.times)
        if never is not None:
            yield codes.NEVER_REACHED, (*path, "times"), f"the rule is never reached: {never}"
            continue
        folded = fold(rule.when)
        wider = next((earlier for earlier, general in reached if covers(general, folded)), None)
        if wider is not None:
            text = f"the rule is never reached: {wider.name!r} takes every call it is about"
            yield codes.NEVER_REACHED, (*path, "name"), text
        elif rule.times is None or _is_always(rule.times):
            reached.append((rule, folded))


def _find_unserved(scenario: Scenario, catalogue: KnownModels) -> Iterator[Finding]:
    """Yield rules and limits for deployments that no vendor serves."""
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
        hint = suggest_name(wanted[0], names)
        text = f"the {what} is never reached: no vendor it is about serves {', '.join(wanted)}{hint}"
        yield codes.UNSERVED, path, text


def _is_always(times: Times) -> bool:
    """Return whether a rule with these ``times`` takes every matching request."""
    bursts = times.repeat is not None and times.repeat.for_ < times.repeat.every
    some = times.first is not None or times.nth is not None or times.between is not None or bursts
    some = some or times.share is not None
    chance = 1.0 if times.probability is None else times.probability
    return not some and times.every in (None, 1) and times.after in (None, 0) and chance >= 1.0


def _explain_never(times: Times) -> str | None:
    """Return why a rule with these ``times`` never takes a request; ``None`` if it can."""
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
            yield codes.PROBABILITY, path, f"a probability lies between 0 and 1, {chance:g} means {meaning}"


def _find_order_dependence(loaded: ParsedScenario) -> Iterator[Finding]:
    """Yield parts that depend on the order of requests, in one message for each file."""
    by_file: dict[str, list[KeyPath]] = {}
    for path in _list_order_dependence(loaded.scenario):
        location = loaded.locations.find(path)
        by_file.setdefault("" if location is None else location.file, []).append(path)
    for first, *others in by_file.values():
        text = "which calls it hits depends on request order; concurrent runs may differ"
        if others:
            text += f"; the same holds for {', '.join(map(format_path, others))}"
        last = {path[-1] for path in (first, *others)}
        if last & {"times", "sequence"}:
            text += "; `per: request` avoids it"
        if "share" in last:
            text += "; over several replicas or workers each request of a share is drawn by itself"
        yield codes.ORDER, first, text


def _list_order_dependence(scenario: Scenario) -> Iterator[KeyPath]:
    for position, rule in enumerate(scenario.rules):
        for path in _list_in_rule(rule):
            yield "rules", position, *path
    for position, _ in enumerate(scenario.limits):
        yield "limits", position
    if scenario.latency.load is not None:
        yield "latency", "load"


def _list_in_rule(rule: Rule) -> Iterator[KeyPath]:
    times = rule.times
    if rule.scope != "request":
        if rule.sequence is not None:
            yield ("sequence",)
        elif times is not None and times.counts:
            yield ("times",)
    if times is not None and times.share is not None:
        yield "times", "share"
    if rule.latency is not None and rule.latency.load is not None:
        yield "latency", "load"
