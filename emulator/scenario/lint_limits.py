"""Limits that load and are probably not meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from emulator.core.call import Deployment
from emulator.scenario.comparisons import compile_names
from emulator.scenario.locations import KeyPath
from emulator.scenario.mistakes import nearest
from emulator.scenario.quota_cover import is_stricter
from emulator.scenario.schema import Limit, Scenario

Finding = tuple[KeyPath, str]
Catalogue = Mapping[str, Mapping[str, Deployment]]
"""Deployments by vendor and name; a vendor's are found out when they are asked for."""


def find_odd_limits(scenario: Scenario, served: Collection[str], catalogue: Catalogue | None) -> Iterator[Finding]:
    """Limits that no call is charged to, that another always refuses before, or that calls cannot meet."""
    principals = None if scenario.keys is None else {key.principal for key in scenario.keys}
    capacity = _find_capacity(scenario)
    for position, limit in enumerate(scenario.limits):
        path: KeyPath = ("limits", position)
        if (unknown := _find_unknown(limit, served, principals)) is not None:
            facet, reason = unknown
            yield (*path, facet), f"the limit is never reached: {reason}"
            continue
        if (reserved := _find_reserved(limit, catalogue)) > limit.amount:
            yield (
                (*path, "amount"),
                f"no call without max_tokens can ever meet it: {reserved} tokens are set aside for it",
            )
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


def _find_unknown(limit: Limit, served: Collection[str], principals: Collection[str] | None) -> tuple[str, str] | None:
    """A name of which there is none."""
    for facet, wanted, names, what in (
        ("vendor", limit.vendor, served, "served"),
        ("principal", limit.principal, principals, "among the keys"),
    ):
        if wanted is not None and names is not None and not any(map(compile_names(wanted), names)):
            close = nearest(wanted[0], names)
            return facet, f"{', '.join(wanted)} is not {what}" + (f"; did you mean {close}?" if close else "")
    return None


def _find_reserved(limit: Limit, catalogue: Catalogue | None) -> int:
    """Tokens set aside for an answer without a limit of its own, by the deployment that sets aside least."""
    if limit.unit not in ("output_tokens", "tokens") or catalogue is None:
        return 0
    is_vendor, is_name = compile_names(limit.vendor or ("*",)), compile_names(limit.deployment or ("*",))
    return min(
        (
            deployment.usual_output()
            for vendor in filter(is_vendor, catalogue)
            for deployment in catalogue[vendor].values()
            if is_name(deployment.name) and deployment.task in ("chat", "completions")
        ),
        default=0,
    )
