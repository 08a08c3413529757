"""Explain refused requests: exceeded limits, unknown paths and deployments, with a suggestion of what was meant.

The suggestion becomes the ``hint`` of the call in the journal; ``decide.py`` asks for it. Nothing is computed for
requests that succeed.
"""

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
from emulator.journal.entry import LimitCheck
from emulator.ratelimit import LimitError
from emulator.scenario.errors import find_nearest_name

_NAMES = ("name", "model", "deployment", "id")  # path parameters that hold a deployment's name
_MAX_NAMES = 3
_ANYWHERE = "OPTIONS"  # a vendor may accept this method at any path, even at unknown ones
_MAX_NAME_CHARS = 60


class Suggestions:
    """Diagnostics over the served vendors; ``urls``: their base URLs, filled once they listen."""

    def __init__(self, vendors: Vendors, served: Sequence[str], urls: Mapping[str, str]) -> None:
        self._all = vendors
        self._served = served
        self._urls = urls
        self._routers: dict[str, Router] = {}

    @cached_property
    def _vendors(self) -> Mapping[str, AnyVendor]:
        """Import the served vendors on first use."""
        return {name: self._all[name] for name in self._served}

    def explain(self, error: EmulatedError, request: Request, service: AnyService) -> str:
        """Return why the emulator refuses a request; empty if the error is clear by itself."""
        if isinstance(error, LimitError):
            return "; ".join(describe_limit(charge, balance) for charge, balance in error.refusing)
        match error.kind:
            case ErrorKind.OVERLOADED if "capacity" in error.details:
                details = error.details
                return f"at capacity: {details['capacity']} calls run and {details['queue']} wait, which is the maximum"
            case ErrorKind.RATE_LIMITED if "reason" in error.details:
                return str(error.details["reason"])
            case ErrorKind.METHOD_NOT_ALLOWED if error.details.get("allow", _ANYWHERE) != _ANYWHERE:
                return f"the path takes {error.details['allow']}"
            case ErrorKind.UNAUTHENTICATED if service.keys is not None:
                return "no key of the scenario came with it"
            case ErrorKind.NOT_FOUND | ErrorKind.METHOD_NOT_ALLOWED if "path" in error.details:
                return self._explain_path(service.name, request)
            case ErrorKind.NOT_FOUND | ErrorKind.NOT_READY:
                return _explain_deployment(request, service)
        return _explain_deployment(request, service) if error.param == "model" else ""

    def elsewhere(self, method: str, path: str, but: str = "") -> tuple[str, ...]:
        """Return the vendors that serve a path; of several, those whose pattern is the most specific."""
        ranks = {name: self._rank(name, method, path) for name in self._vendors if name != but}
        best = min((rank for rank in ranks.values() if rank is not None), default=None)
        return tuple(name for name, rank in ranks.items() if rank is not None and rank == best)

    def explain_front(self, method: str, path: str) -> str:
        """Return a suggestion for a path of the front port without a known vendor prefix."""
        first, slash, rest = path[1:].partition("/")
        vendors = self.elsewhere(method, path)
        if vendors:
            return f"{self._list(vendors)}; here it is /{vendors[0]}{path}."
        nearest = find_nearest_name(first, self._vendors)
        return f"did you mean /{nearest}{slash}{rest}?" if nearest else ""

    def _explain_path(self, vendor: str, request: Request) -> str:
        refusal = f"{self._vendors[vendor].title} has no such path"
        first, _, rest = request.path[1:].partition("/")
        if first in self._vendors and self._rank(first, request.method, f"/{rest}") is not None:
            at = f" {self._where(first)}" if first != vendor else ""
            return f"{refusal}; /{first} is for the front port, without it{at} has it"
        others = self.elsewhere(request.method, request.path, vendor)
        if others:
            return f"{refusal}; {self._list(others)}"
        nearest = find_nearest_name(request.path, [row.path for row in self._vendors[vendor].endpoints])
        return f"{refusal}; did you mean {nearest}?" if nearest else refusal

    def _list(self, vendors: Sequence[str]) -> str:
        return f"{_join(map(self._where, vendors))} {'has' if len(vendors) == 1 else 'have'} it"

    def _where(self, vendor: str) -> str:
        """Return a vendor with its port: ``databricks (port 4011)``."""
        port = self._urls.get(vendor, "").rpartition(":")[2]
        return f"{vendor} (port {port})" if port else vendor

    def _rank(self, vendor: str, method: str, path: str) -> int | None:
        """Return how specific a vendor's pattern for a path is: 0 literal, 1 with parameters, 2 with a rest parameter.

        ``None``: no pattern matches, or only one that begins with a parameter.
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
    """Return the check of each limit that refused a call."""
    if not isinstance(error, LimitError):
        return ()
    return tuple(
        LimitCheck(charge.quota.name, charge.quota.unit, charge.cost, balance.left, _compute_wait(charge, balance))
        for charge, balance in error.refusing
    )


def _compute_wait(charge: Charge, balance: Balance) -> float | None:
    never = charge.cost > charge.quota.amount
    return None if never or balance.wait is None or balance.wait == inf else round(balance.wait, 6)


def describe_limit(charge: Charge, balance: Balance) -> str:
    """Return the reason: ``limits[0] refuses: 400 output tokens asked, 60 of 4000 left, enough in 12.5 s``."""
    quota = charge.quota
    unit = quota.unit.replace("concurrency", "calls").replace("_", " ")
    unit = unit.removesuffix("s") if charge.cost == 1 else unit
    unit += " at once" if quota.unit == "concurrency" else ""
    if charge.cost > quota.amount:
        return f"{quota.name} can never be met: {charge.cost} {unit} asked, there are {quota.amount} in all"
    wait = _compute_wait(charge, balance)
    then = "the wait is unknown" if wait is None else f"enough in {wait:g} s"
    return f"{quota.name} refuses: {charge.cost} {unit} asked, {balance.left} of {quota.amount} left, {then}"


def _explain_deployment(request: Request, service: AnyService) -> str:
    """Return what is wrong with the deployment that a request names; empty if nothing is."""
    name = _find_name(request)
    if not name:
        return ""
    deployment = service.deployments.get(name)
    if deployment is not None:
        return "" if deployment.state == "ready" else f"`{_truncate(name)}` is {deployment.state}"
    return _suggest(_truncate(name), tuple(service.deployments))


@scenario_lru  # clients repeat a wrong name, and each comparison takes milliseconds
def _suggest(name: str, deployments: tuple[str, ...]) -> str:
    meant = find_nearest_name(name, deployments)
    if meant is not None:
        return f"no deployment `{name}`; did you mean `{meant}`?"
    more = f" and {len(deployments) - _MAX_NAMES} more" if len(deployments) > _MAX_NAMES else ""
    alike = sorted(deployments, key=lambda other: -difflib.SequenceMatcher(None, name, other).ratio())[:_MAX_NAMES]
    there = f"there are {', '.join(alike)}{more}" if deployments else "there are none"
    return f"no deployment `{name}`; {there}"


def _find_name(request: Request) -> str:
    """Return the deployment a request names: in its path, else as ``model`` of its body."""
    for key in _NAMES:
        if request.params.get(key):
            return request.params[key]
    model = request.json_members().get("model")
    return model if isinstance(model, str) else ""


def _truncate(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else name[: _MAX_NAME_CHARS - 1] + "…"


def _join(parts: Iterable[str]) -> str:
    """Join names as a list in prose: ``a, b and c``."""
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last
