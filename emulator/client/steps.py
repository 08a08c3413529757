"""Methods of both clients as generators, which yield requests to the control API and receive its responses.

The synchronous and the asynchronous client differ only in how they send these requests.
"""

from collections.abc import Mapping, Sequence
from typing import Unpack
from urllib.parse import quote

from emulator.client.base import Target, Via
from emulator.client.facets import Calls, Filters, merge_where
from emulator.client.request import EmulatorError, Reply, Steps, ask
from emulator.client.scenario import Source, complete, compose, explain_refusal
from emulator.control.models import (
    ClockState,
    Listening,
    Ready,
    RequestDetail,
    RequestDetails,
    RequestEntry,
    Requests,
    RuleHits,
    Rules,
    ScenarioState,
    Usage,
    Verdict,
    Verified,
)
from emulator.core.json import JSON, dump_json, parse_json
from emulator.core.reply_call import ReplyFunction
from emulator.core.units import parse_duration
from emulator.scenario.source import Document
from emulator.vendors import environment_of

_ALL = 10_000  # entries; a journal keeps no more


def url(target: Target, /, vendor: str, via: Via | None = None) -> Steps[str]:
    """Return a vendor's base URL.

    Args:
        via: ``port``: a port of the session, opened on first use; ``path``: the front port, with the session in the
            path; ``root``: the vendor's port, for clients that name their session themselves.
            Default: ``port`` with a session, else ``root``; ``path`` if the front port is mapped, as other ports are
            not reachable then.
    """
    __tracebackhide__ = True
    way = via or target.via or (yield from _choose_via(target))
    if way == "path":
        return (yield from _find_path(target, vendor))
    if way == "root" or not target.session:
        return (yield from _find_root(target, vendor))
    if vendor not in target.ports:
        reply = yield from ask("POST", f"/sessions/{target.session}/listen", body={"vendor": vendor})
        target.ports[vendor] = target.reach(reply.read(Listening).url)
    return target.ports[vendor]


def _choose_via(target: Target) -> Steps[Via]:
    if not target.known:
        target.known.update((yield from ask("GET", "/ready")).read(Ready).urls)
    if not target.is_at(target.known["front"]):
        return "path"
    return "port" if target.session else "root"


def _find_path(target: Target, vendor: str) -> Steps[str]:
    __tracebackhide__ = True
    served = (yield from scenario(target)).vendors
    if vendor not in served:
        raise _not_served(vendor, served)
    return f"{target.url}/_s/{target.session}/{vendor}" if target.session else f"{target.url}/{vendor}"


def _find_root(target: Target, vendor: str) -> Steps[str]:
    __tracebackhide__ = True
    urls = (yield from ask("GET", "/ready")).read(Ready).urls
    if vendor not in urls:
        raise _not_served(vendor, [name for name in urls if name != "front"])
    return target.reach(urls[vendor])


def _not_served(vendor: str, served: Sequence[str]) -> EmulatorError:
    return EmulatorError(f"No vendor {vendor!r} is served; there are {', '.join(served)}.")


def env(target: Target, /, vendor: str, via: Via | None = None) -> Steps[dict[str, str]]:
    """Return the environment variables that a vendor's clients read."""
    return dict(environment_of(vendor, (yield from url(target, vendor, via))))


def scenario(target: Target, /) -> Steps[ScenarioState]:
    """Return the active scenario."""
    return (yield from ask("GET", "/scenario", target.query)).read(ScenarioState)


def load(target: Target, /, *sources: Source, **keys: object) -> Steps[ScenarioState]:
    """Activate a scenario from files, YAML or mappings; keys such as ``seed=7`` win over these.

    ``version`` and ``name`` may be left out.

    Raises:
        ScenarioError: it has mistakes; the previous scenario stays active.
    """
    __tracebackhide__ = True
    document = yield from compose(sources, keys)
    return (yield from _put(target, document))


def _as_json(filters: Filters) -> dict[str, JSON]:
    return {**filters}  # type: ignore[dict-item]  # all values are of JSON


def add_rule(target: Target, /, rule: Mapping[str, object], first: bool = True) -> Steps[ScenarioState]:
    """Add a rule before or after the others; counters and quotas begin again."""
    __tracebackhide__ = True
    state = yield from scenario(target)
    document = complete(state.document, state.name)
    rules = document.get("rules") or ()
    before = rules if isinstance(rules, Sequence) and not isinstance(rules, str) else ()
    added: JSON = parse_json(dump_json({**rule}))  # type: ignore[dict-item]  # the server validates
    document["rules"] = [added, *before] if first else [*before, added]
    return (yield from _put(target, Document(document)))


def _put(target: Target, document: Document) -> Steps[ScenarioState]:
    __tracebackhide__ = True
    reply = yield from ask("PUT", "/scenario", target.query, document.data)
    problem = None if reply.is_success else reply.read_problem()
    if problem is not None and problem.errors:
        raise explain_refusal(problem, document)
    return reply.read(ScenarioState)


def reply(
    target: Target,
    text: str | ReplyFunction | None = None,
    /,
    *,
    when: Mapping[str, object] | None = None,
    times: int | Mapping[str, object] | None = None,
    name: str | None = None,
    **keys: object,
) -> Steps[ScenarioState]:
    """Add a rule, before the others, that fixes the answer.

    Args:
        text: text of the answer; in the process of the emulator also a function that takes a ``ReplyCall`` and returns
            the text, or the keys of a reply.
        when: fields of a rule's ``when``; absent: every call.
        times: number of matching calls to answer so, or the keys of a rule's ``times``; absent: all.
        name: name of the rule; absent: made of what it does.
        keys: keys of a reply, such as ``tool_calls``, ``finish_reason`` or ``template``.

    Raises:
        ScenarioError: it is no rule.
        EmulatorError: a function needs an emulator in this process.
    """
    __tracebackhide__ = True
    if callable(text):
        raise EmulatorError("a function as reply needs an emulator in this process: start(), or the fixture's own")
    given = keys if text is None else {"text": text, **keys}
    return (yield from _add(target, {"reply": given}, when, times, name or "reply"))


def refuse(
    target: Target,
    /,
    kind: str,
    *,
    when: Mapping[str, object] | None = None,
    times: int | Mapping[str, object] | None = None,
    name: str | None = None,
    **keys: object,
) -> Steps[ScenarioState]:
    """Add a rule, before the others, that refuses calls in the vendor's words.

    Args:
        kind: kind of the error, such as ``rate_limited`` or ``overloaded``.
        when, times, name: the same as in :func:`reply`.
        keys: keys of an error, such as ``retry_after`` or ``message``.

    Raises:
        ScenarioError: it is no rule.
    """
    __tracebackhide__ = True
    return (yield from _add(target, {"error": {"kind": kind, **keys}}, when, times, name or kind))


def fault(
    target: Target,
    /,
    type_: str,
    *,
    when: Mapping[str, object] | None = None,
    times: int | Mapping[str, object] | None = None,
    name: str | None = None,
    **keys: object,
) -> Steps[ScenarioState]:
    """Add a rule, before the others, that breaks the answer.

    Args:
        type_: type of the fault, such as ``disconnect`` or ``stall``.
        when, times, name: the same as in :func:`reply`.
        keys: keys of the fault, such as ``after_tokens``; ``for_`` is its ``for``.

    Raises:
        ScenarioError: it is no rule.
    """
    __tracebackhide__ = True
    given = {"type": type_, **{key.rstrip("_"): value for key, value in keys.items()}}
    return (yield from _add(target, {"faults": [given]}, when, times, name or type_))


def outage(
    target: Target,
    /,
    for_: str,
    *,
    after: str = "0s",
    kind: str = "overloaded",
    when: Mapping[str, object] | None = None,
    name: str | None = None,
) -> Steps[ScenarioState]:
    """Add a rule, before the others, that refuses every call for a time of the scenario's clock.

    Args:
        for_: duration of the outage.
        after: duration until it begins.
        kind: kind of the refusals' error.
        when, name: the same as in :func:`reply`.

    Raises:
        ScenarioError: it is no rule.
        ValueError: a duration is malformed.
    """
    __tracebackhide__ = True
    begin = parse_duration(after)  # adding a rule restarts scenario time
    times = {"between": [f"{begin:.6f}s", f"{begin + parse_duration(for_):.6f}s"]}
    return (yield from _add(target, {"error": {"kind": kind}}, when, times, name or "outage"))


def _add(
    target: Target,
    outcome: Mapping[str, object],
    when: Mapping[str, object] | None,
    times: int | Mapping[str, object] | None,
    name: str,
) -> Steps[ScenarioState]:
    """Add a rule before the others, with a number behind its name if that is taken."""
    __tracebackhide__ = True
    taken = (yield from scenario(target)).rules
    number = next(n for n in range(1, len(taken) + 2) if _number(name, n) not in taken)
    rule: dict[str, object] = {"name": _number(name, number), **outcome}
    if when is not None:
        rule["when"] = merge_where(when)
    if times is not None:
        rule["times"] = {"first": times} if isinstance(times, int) else times
    return (yield from add_rule(target, rule))


def _number(name: str, number: int) -> str:
    return name if number == 1 else f"{name} {number}"


def assert_no_unused_rules(target: Target, /) -> Steps[None]:
    """Assert that every rule took a call.

    Raises:
        AssertionError: some did not; the message names them.
    """
    __tracebackhide__ = True
    unused = yield from find_unused_rules(target)
    if unused:
        raise AssertionError(describe_unused(unused))


def find_unused_rules(target: Target) -> Steps[list[RuleHits]]:
    """Return the rules that took no call in the journal."""
    return [row for row in (yield from ask("GET", "/rules", target.query)).read(Rules).rules if not row.hits]


def describe_unused(unused: Sequence[RuleHits]) -> str:
    """Format the rules that took no call, one line each."""
    many = len(unused) > 1
    lines = [
        f"  {row.name!r}" + (f"   the nearest rule of {row.nearest} unmatched calls" if row.nearest else "")
        for row in unused
    ]
    return "\n".join([f"{len(unused)} rule{'s' if many else ''} took no call:", *lines])


def reset(target: Target, /) -> Steps[ScenarioState]:
    """Clear journal, counters and quotas; scenario and clock stay."""
    return (yield from ask("POST", "/reset", target.query)).read(ScenarioState)


def advance(target: Target, /, duration: str) -> Steps[ClockState]:
    """Advance the clock by a duration such as ``60s``."""
    return (yield from ask("POST", "/clock", target.query, {"advance": duration})).read(ClockState)


def clock(target: Target, /) -> Steps[ClockState]:
    """Return the state of the clock."""
    return (yield from ask("GET", "/clock", target.query)).read(ClockState)


def requests(target: Target, /, **filters: Unpack[Filters]) -> Steps[list[RequestDetail]]:
    """Return the recorded calls in full, oldest first.

    Filters are the fields of an entry (``status=429``, ``rule=None``), ``matched``, ``since``, ``limit`` and ``wait``.
    """
    query: dict[str, JSON] = {"limit": _ALL, **target.query, **_as_json(filters), "detail": True}
    reply = yield from ask("GET", "/requests", query, wait=_seconds(filters.get("wait")))
    return reply.read(RequestDetails).requests


def last(target: Target, /, **filters: Unpack[Filters]) -> Steps[RequestDetail]:
    """Return the latest call.

    Raises:
        AssertionError: there is none.
    """
    __tracebackhide__ = True
    newest: Filters = {**filters, "limit": 1}
    found = yield from requests(target, **newest)
    if not found:
        total = (yield from ask("GET", "/requests", {**target.query, "limit": 1})).read(Requests).total
        such = " with " + ", ".join(f"{name}={value!r}" for name, value in filters.items()) if filters else ""
        raise AssertionError(f"there is no call{such}; {total or 'none'} {'were' if total > 1 else 'was'} made")
    return found[-1]


def explain(target: Target, /, request: RequestEntry | str) -> Steps[RequestDetail]:
    """Return one call, by entry or id, with its request, its response and the result of each rule."""
    __tracebackhide__ = True
    name = request if isinstance(request, str) else request.id
    session = target.query if isinstance(request, str) else {"session": request.session}
    return (yield from ask("GET", f"/requests/{quote(name, safe='')}", session)).read(RequestDetail)


def verify(
    target: Target,
    /,
    *,
    calls: Mapping[str, object] | None = None,
    order: Sequence[Mapping[str, object]] | None = None,
    times: int | Mapping[str, int] | None = None,
    within: str | None = None,
) -> Steps[Verified]:
    """Verify that calls were as expected.

    Args:
        calls: match fields as in a rule's ``when``, and ``status``, ``error``, ``rule``, ``attempt`` and the like.
        order: instead of ``calls``: such calls came in this order.
        times: number of such calls, or ``{"at_least": 1, "at_most": 3}``; default: at least one.
        within: maximum time to wait until the expectation holds.

    Raises:
        AssertionError: the expectation fails; the message lists what was found instead.
    """
    __tracebackhide__ = True
    body: dict[str, JSON] = {
        "calls": None if calls is None else merge_where(calls),
        "order": None if order is None else [*map(merge_where, order)],
        "times": {"exactly": times} if isinstance(times, int) else times,
        "within": within,
    }
    given = {name: value for name, value in body.items() if value is not None}
    reply = yield from ask("POST", "/verify", target.query, given, wait=_seconds(within))
    _check(reply)
    return reply.read(Verified)


def _check(reply: Reply) -> None:
    __tracebackhide__ = True
    if reply.status == 406:
        raise AssertionError(str(reply.to_error()))


def wait_for(target: Target, /, within: str = "5s", **calls: Unpack[Calls]) -> Steps[RequestDetail]:
    """Wait for the first matching call and return it.

    Raises:
        AssertionError: none came in time.
    """
    __tracebackhide__ = True
    found = yield from verify(target, calls=calls, within=within)
    return (yield from explain(target, found.ids[0]))


def assert_called(
    target: Target,
    /,
    times: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    within: str | None = None,
    **calls: Unpack[Calls],
) -> Steps[Verified]:
    """Assert that matching calls were made, by default at least one.

    Raises:
        AssertionError: they were not.
    """
    __tracebackhide__ = True
    bounds = {"exactly": times, "at_least": at_least, "at_most": at_most}
    count = {name: bound for name, bound in bounds.items() if bound is not None}
    return (yield from verify(target, calls=calls, times=count or None, within=within))


def assert_not_called(target: Target, /, within: str | None = None, **calls: Unpack[Calls]) -> Steps[Verified]:
    """Assert that no matching call was made, and that none comes ``within`` a time.

    Raises:
        AssertionError: there was one.
    """
    __tracebackhide__ = True
    return (yield from verify(target, calls=calls, times=0, within=within))


def assert_order(
    target: Target, /, order: Sequence[Mapping[str, object]], within: str | None = None
) -> Steps[Verified]:
    """Assert that matching calls came in this order; others may come between them.

    Raises:
        AssertionError: they did not.
    """
    __tracebackhide__ = True
    return (yield from verify(target, order=order, within=within))


def verdict(target: Target, /) -> Steps[Verdict]:
    """Return which rules for sound clients the calls kept and which they broke."""
    return (yield from ask("GET", "/verdict", target.query)).read(Verdict)


def usage(target: Target, /) -> Steps[Usage]:
    """Return which of the tokens sent were delivered and which wasted, and what they cost."""
    return (yield from ask("GET", "/usage", target.query)).read(Usage)


def assert_sound(target: Target, /) -> Steps[Verdict]:
    """Assert that the calls broke no rule for sound clients.

    Raises:
        AssertionError: they did; the message has a sentence for each breach.
    """
    __tracebackhide__ = True
    found = yield from verdict(target)
    if not found.ok:
        raise AssertionError(describe_verdict(found))
    return found


def describe_verdict(found: Verdict) -> str:
    """Format the broken rules of a verdict, one line each."""
    return "\n".join(["the client broke these rules:", *(f"  {row.rule}: {row.sentence}" for row in found.broken)])


def report(target: Target, /, title: str = "emulator report", outcome: str = "") -> Steps[str]:
    """Return the console with the calls as one page of HTML; ``outcome`` is shown above them."""
    return (yield from ask("POST", "/report", body={**target.query, "title": title, "outcome": outcome})).read_text()


def har(target: Target, /) -> Steps[str]:
    """Return the stored calls as a HAR 1.2 document."""
    query = {**target.query, "format": "har", "limit": 10_000}
    return (yield from ask("GET", "/requests", query)).read_text()


def metrics(target: Target, /) -> Steps[str]:
    """Return the metrics in the Prometheus text format."""
    return (yield from ask("GET", "/metrics")).read_text()


def end(target: Target, /) -> Steps[None]:
    """End the session, if there is one, with its ports, clock, state and journal."""
    if target.session:
        reply = yield from ask("DELETE", f"/sessions/{target.session}")
        if not reply.is_success and reply.status != 404:
            raise reply.to_error()
        target.ports.clear()


def _seconds(duration: JSON) -> float:
    """Return the seconds of a duration; 0 if it is malformed, which the server then reports."""
    try:
        return parse_duration(duration) if isinstance(duration, str) else 0.0
    except ValueError:
        return 0.0
