"""What each method of a client does, written once: the clients only carry questions and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from emulator.client.base import Target, Via
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
    ScenarioState,
    Verified,
)
from emulator.core.json import JSON
from emulator.core.units import parse_duration
from emulator.scenario.source import Document
from emulator.vendors import environment_of

_ALL = 10_000  # entries, as many as a journal keeps


def url(world: Target, /, vendor: str, via: Via | None = None) -> Steps[str]:
    """A vendor's base URL.

    Args:
        via: ``port``: one that is the session's own, opened when it is first asked for; ``path``: on the front, the
            session in the path; ``root``: the port of the vendor, for clients that name their session themselves.
            Default: ``port`` where there is a session, else ``root``; where the front is reached at another port than
            the server's own, other ports lead elsewhere or nowhere, and the default is ``path``.
    """
    way = via or world.via or (yield from _find_way(world))
    if way == "path":
        return (yield from _find_path(world, vendor))
    if way == "root" or not world.session:
        return (yield from _find_root(world, vendor))
    if vendor not in world.ports:
        reply = yield from ask("POST", f"/sessions/{world.session}/listen", body={"vendor": vendor})
        world.ports[vendor] = world.reach(reply.read(Listening).url)
    return world.ports[vendor]


def _find_way(world: Target) -> Steps[Via]:
    if not world.known:
        world.known.update((yield from ask("GET", "/ready")).read(Ready).urls)
    if not world.is_at(world.known["front"]):
        return "path"
    return "port" if world.session else "root"


def _find_path(world: Target, vendor: str) -> Steps[str]:
    served = (yield from scenario(world)).vendors
    if vendor not in served:
        raise _not_served(vendor, served)
    return f"{world.url}/_s/{world.session}/{vendor}" if world.session else f"{world.url}/{vendor}"


def _find_root(world: Target, vendor: str) -> Steps[str]:
    urls = (yield from ask("GET", "/ready")).read(Ready).urls
    if vendor not in urls:
        raise _not_served(vendor, [name for name in urls if name != "front"])
    return world.reach(urls[vendor])


def _not_served(vendor: str, served: Sequence[str]) -> EmulatorError:
    return EmulatorError(f"No vendor {vendor!r} is served; there are {', '.join(served)}.")


def env(world: Target, /, vendor: str, via: Via | None = None) -> Steps[dict[str, str]]:
    """The variables that a vendor's clients read."""
    return dict(environment_of(vendor, (yield from url(world, vendor, via))))


def scenario(world: Target, /) -> Steps[ScenarioState]:
    """The scenario at work."""
    return (yield from ask("GET", "/scenario", world.query)).read(ScenarioState)


def load(world: Target, /, *sources: Source, **keys: JSON) -> Steps[ScenarioState]:
    """Put a scenario to work: files, YAML or mappings; keys such as ``seed=7`` win over what these say.

    ``version`` and ``name`` may be left out.

    Raises:
        ScenarioError: it has mistakes; the one before stays.
    """
    document = yield from compose(sources, keys)
    return (yield from _put(world, document))


def add_rule(world: Target, /, rule: Mapping[str, JSON], first: bool = True) -> Steps[ScenarioState]:
    """Add a rule before the others, or behind them; counters and quotas begin again."""
    state = yield from scenario(world)
    document = complete(state.document, state.name)
    rules = document.get("rules") or ()
    before = rules if isinstance(rules, Sequence) and not isinstance(rules, str) else ()
    document["rules"] = [rule, *before] if first else [*before, rule]
    return (yield from _put(world, Document(document)))


def _put(world: Target, document: Document) -> Steps[ScenarioState]:
    reply = yield from ask("PUT", "/scenario", world.query, document.data)
    problem = None if reply.is_success else reply.read_problem()
    if problem is not None and problem.errors:
        raise explain_refusal(problem, document)
    return reply.read(ScenarioState)


def reset(world: Target, /) -> Steps[ScenarioState]:
    """Clear journal, counters and quotas; scenario and clock stay."""
    return (yield from ask("POST", "/reset", world.query)).read(ScenarioState)


def advance(world: Target, /, duration: str) -> Steps[ClockState]:
    """Move the clock by ``60s``."""
    return (yield from ask("POST", "/clock", world.query, {"advance": duration})).read(ClockState)


def clock(world: Target, /) -> Steps[ClockState]:
    """What time it is."""
    return (yield from ask("GET", "/clock", world.query)).read(ClockState)


def requests(world: Target, /, **filters: JSON) -> Steps[list[RequestDetail]]:
    """The calls that were made, oldest first, each whole.

    Filters are the fields of an entry (``status=429``, ``rule=None``), ``matched``, ``since``, ``limit`` and ``wait``.
    """
    query = {"limit": _ALL, **world.query, **filters, "detail": True}
    reply = yield from ask("GET", "/requests", query, wait=_seconds(filters.get("wait")))
    return reply.read(RequestDetails).requests


def last(world: Target, /, **filters: JSON) -> Steps[RequestDetail]:
    """The latest call.

    Raises:
        AssertionError: there is none.
    """
    __tracebackhide__ = True
    found = yield from requests(world, **{**filters, "limit": 1})
    if not found:
        total = (yield from ask("GET", "/requests", {**world.query, "limit": 1})).read(Requests).total
        such = " with " + ", ".join(f"{name}={value!r}" for name, value in filters.items()) if filters else ""
        raise AssertionError(f"there is no call{such}; {total or 'none'} {'were' if total > 1 else 'was'} made")
    return found[-1]


def explain(world: Target, /, request: RequestEntry | str) -> Steps[RequestDetail]:
    """One call, by itself or its id, as it is now: what was sent and said, and what each rule said to it."""
    name = request if isinstance(request, str) else request.id
    session = world.query if isinstance(request, str) else {"session": request.session}
    return (yield from ask("GET", f"/requests/{quote(name, safe='')}", session)).read(RequestDetail)


def verify(
    world: Target,
    /,
    *,
    calls: Mapping[str, JSON] | None = None,
    order: Sequence[Mapping[str, JSON]] | None = None,
    times: int | Mapping[str, int] | None = None,
    within: str | None = None,
) -> Steps[Verified]:
    """Whether calls were as expected.

    Args:
        calls: facets as in a rule's ``when``, and ``status``, ``error``, ``rule``, ``attempt`` and the like.
        order: in place of ``calls``; such calls came in this order.
        times: how many, or ``{"at_least": 1, "at_most": 3}``; default: at least one.
        within: how long to wait until it holds.

    Raises:
        AssertionError: they were not; its text says what was found instead.
    """
    __tracebackhide__ = True
    body: dict[str, JSON] = {
        "calls": calls,
        "order": order,
        "times": {"exactly": times} if isinstance(times, int) else times,
        "within": within,
    }
    given = {name: value for name, value in body.items() if value is not None}
    reply = yield from ask("POST", "/verify", world.query, given, wait=_seconds(within))
    _check(reply)
    return reply.read(Verified)


def _check(reply: Reply) -> None:
    __tracebackhide__ = True
    if reply.status == 406:
        raise AssertionError(str(reply.to_error()))


def wait_for(world: Target, /, within: str = "5s", **calls: JSON) -> Steps[RequestDetail]:
    """The first such call, as soon as there is one.

    Raises:
        AssertionError: none came in time.
    """
    __tracebackhide__ = True
    found = yield from verify(world, calls=calls, within=within)
    return (yield from explain(world, found.ids[0]))


def assert_called(
    world: Target,
    /,
    times: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    within: str | None = None,
    **calls: JSON,
) -> Steps[Verified]:
    """Such calls were made; as often as told, else at least once.

    Raises:
        AssertionError: they were not.
    """
    __tracebackhide__ = True
    bounds = {"exactly": times, "at_least": at_least, "at_most": at_most}
    count = {name: bound for name, bound in bounds.items() if bound is not None}
    return (yield from verify(world, calls=calls, times=count or None, within=within))


def assert_not_called(world: Target, /, within: str | None = None, **calls: JSON) -> Steps[Verified]:
    """No such call was made, nor comes ``within`` a time.

    Raises:
        AssertionError: there was one.
    """
    __tracebackhide__ = True
    return (yield from verify(world, calls=calls, times=0, within=within))


def assert_order(world: Target, /, order: Sequence[Mapping[str, JSON]], within: str | None = None) -> Steps[Verified]:
    """Such calls came in this order, others between them allowed.

    Raises:
        AssertionError: they did not.
    """
    __tracebackhide__ = True
    return (yield from verify(world, order=order, within=within))


def report(world: Target, /, title: str = "emulator report", outcome: str = "") -> Steps[str]:
    """The console with the calls inside, as one page of HTML; ``outcome`` is shown above them."""
    return (yield from ask("POST", "/report", body={**world.query, "title": title, "outcome": outcome})).read_text()


def metrics(world: Target, /) -> Steps[str]:
    """Totals in Prometheus' text form."""
    return (yield from ask("GET", "/metrics")).read_text()


def end(world: Target, /) -> Steps[None]:
    """End the session, if there is one: its ports, clock, state and journal."""
    if world.session:
        reply = yield from ask("DELETE", f"/sessions/{world.session}")
        if not reply.is_success and reply.status != 404:
            raise reply.to_error()
        world.ports.clear()


def _seconds(duration: JSON) -> float:
    """How long the server was asked to wait; what is no duration it refuses itself."""
    try:
        return parse_duration(duration) if isinstance(duration, str) else 0.0
    except ValueError:
        return 0.0
