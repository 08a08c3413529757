"""Why a call was refused, and what may have been meant: found out once it is refused, so that others pay nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import inf

from emulator.core.cache import scenario_lru
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.quota import Balance, Charge
from emulator.core.vendor import AnyService, AnyVendor, Vendors
from emulator.http.routing import Router
from emulator.journal.record import LimitCheck
from emulator.ratelimit import LimitError
from emulator.scenario.errors import find_nearest_name

_NAMES = ("name", "model", "deployment", "id")  # what path patterns call a deployment
_MOST_NAMES = 3
_ANYWHERE = "OPTIONS"  # a method that a vendor may take at any path: the path need not be there
_MOST_LETTERS = 60  # of a name as it is shown


class Suggestions:
    """Knows the vendors that are served, and by ``urls`` their ports once they listen."""

    def __init__(self, vendors: Vendors, served: Sequence[str], urls: Mapping[str, str]) -> None:
        self._all = vendors
        self._served = served
        self._urls = urls
        self._routers: dict[str, Router] = {}

    @cached_property
    def _vendors(self) -> Mapping[str, AnyVendor]:
        """All that are served; they are imported when something has to be explained."""
        return {name: self._all[name] for name in self._served}

    def explain(self, error: EmulatedError, wire: Request, service: AnyService) -> str:
        """Why the emulator itself refuses a request; empty if the refusal says all."""
        if isinstance(error, LimitError):
            return "; ".join(describe_limit(charge, balance) for charge, balance in error.refusing)
        match error.kind:
            case ErrorKind.OVERLOADED if "capacity" in error.details:
                details = error.details
                return f"no room: {details['capacity']} calls run and {details['queue']} wait, as many as may"
            case ErrorKind.METHOD_NOT_ALLOWED if error.details.get("allow", _ANYWHERE) != _ANYWHERE:
                return f"the path takes {error.details['allow']}"
            case ErrorKind.UNAUTHENTICATED if service.keys is not None:
                return "no key of the scenario came with it"
            case ErrorKind.NOT_FOUND | ErrorKind.METHOD_NOT_ALLOWED if "path" in error.details:
                return self._explain_path(service.name, wire)
            case ErrorKind.NOT_FOUND | ErrorKind.NOT_READY:
                return _explain_deployment(wire, service)
        return _explain_deployment(wire, service) if error.param == "model" else ""

    def elsewhere(self, method: str, path: str, but: str = "") -> tuple[str, ...]:
        """The vendors that have a path, those that name it in full before those that take anything."""
        ranks = {name: self._rank(name, method, path) for name in self._vendors if name != but}
        best = min((rank for rank in ranks.values() if rank is not None), default=None)
        return tuple(name for name, rank in ranks.items() if rank is not None and rank == best)

    def explain_front(self, method: str, path: str) -> str:
        """What may be meant by a path of the front that no vendor has."""
        first, slash, rest = path[1:].partition("/")
        vendors = self.elsewhere(method, path)
        if vendors:
            return f"{self._list(vendors)}; here it is /{vendors[0]}{path}."
        known = find_nearest_name(first, self._vendors)
        return f"did you mean /{known}{slash}{rest}?" if known else ""

    def _explain_path(self, vendor: str, wire: Request) -> str:
        says = f"{self._vendors[vendor].title} has no such path"
        first, _, rest = wire.path[1:].partition("/")
        if first in self._vendors and self._rank(first, wire.method, f"/{rest}") is not None:
            at = f" {self._where(first)}" if first != vendor else ""
            return f"{says}; /{first} is for the front port, without it{at} has it"
        others = self.elsewhere(wire.method, wire.path, vendor)
        if others:
            return f"{says}; {self._list(others)}"
        known = find_nearest_name(wire.path, [row.path for row in self._vendors[vendor].endpoints])
        return f"{says}; did you mean {known}?" if known else says

    def _list(self, vendors: Sequence[str]) -> str:
        return f"{_join(map(self._where, vendors))} {'has' if len(vendors) == 1 else 'have'} it"

    def _where(self, vendor: str) -> str:
        """``databricks (port 4011)``."""
        port = self._urls.get(vendor, "").rpartition(":")[2]
        return f"{vendor} (port {port})" if port else vendor

    def _rank(self, vendor: str, method: str, path: str) -> int | None:
        """How vaguely a vendor names a path: 0 in full, 1 with a name in it, 2 with any rest; ``None``: not at all.

        A row that takes any path whatever it begins with names none.
        """
        router = self._routers.get(vendor)
        if router is None:
            router = self._routers[vendor] = Router(self._vendors[vendor].endpoints)
        try:
            pattern = router.resolve(method, path)[0].path
        except EmulatedError:
            return None
        if ":path}" not in pattern:
            return int("{" in pattern)
        return None if pattern.startswith("/{") else 2


def check_limits(error: EmulatedError) -> tuple[LimitCheck, ...]:
    """What a refused call asked of each limit that refused it."""
    if not isinstance(error, LimitError):
        return ()
    return tuple(
        LimitCheck(charge.quota.name, charge.quota.unit, charge.cost, balance.left, _known_wait(charge, balance))
        for charge, balance in error.refusing
    )


def _known_wait(charge: Charge, balance: Balance) -> float | None:
    never = charge.cost > charge.quota.amount
    return None if never or balance.wait is None or balance.wait == inf else round(balance.wait, 6)


def describe_limit(charge: Charge, balance: Balance) -> str:
    """``limits[0] refuses: 400 output tokens asked, 60 of 4000 left, enough in 12.5 s``."""
    quota = charge.quota
    unit = "calls at once" if quota.unit == "concurrency" else quota.unit.replace("_", " ")
    if charge.cost > quota.amount:
        return f"{quota.name} can never be met: {charge.cost} {unit} asked, there are {quota.amount} in all"
    wait = _known_wait(charge, balance)
    then = "nobody knows when there is enough" if wait is None else f"enough in {wait:g} s"
    return f"{quota.name} refuses: {charge.cost} {unit} asked, {balance.left} of {quota.amount} left, {then}"


def _explain_deployment(wire: Request, service: AnyService) -> str:
    """What is wrong with the name of the deployment that a request asks for."""
    name = _find_name(wire)
    if not name:
        return ""
    deployment = service.deployments.get(name)
    if deployment is not None:
        return "" if deployment.state == "ready" else f"`{_cut(name)}` is {deployment.state}"
    return _suggest(_cut(name), tuple(service.deployments))


@scenario_lru  # whoever asks for the wrong one asks again, and to look takes milliseconds
def _suggest(name: str, known: tuple[str, ...]) -> str:
    meant = find_nearest_name(name, known)
    if meant is not None:
        return f"no deployment `{name}`; did you mean `{meant}`?"
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    alike = sorted(known, key=lambda other: -difflib.SequenceMatcher(None, name, other).ratio())[:_MOST_NAMES]
    there = f"there are {', '.join(alike)}{more}" if known else "there are none"
    return f"no deployment `{name}`; {there}"


def _find_name(wire: Request) -> str:
    """The deployment a request names: in its path, else as ``model`` of its body."""
    for key in _NAMES:
        if wire.params.get(key):
            return wire.params[key]
    try:
        body = wire.json()
    except ValueError:
        return ""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else ""


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else name[: _MOST_LETTERS - 1] + "…"


def _join(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last
