"""Find quotas, counts and outages whose callers, vendors or deployments do not exist, for the warnings of ``lint``."""

from collections.abc import Collection, Iterator, Mapping

from emulator.scenario import codes
from emulator.scenario.errors import suggest_name
from emulator.scenario.locations import KeyPath
from emulator.scenario.matchers import compile_names
from emulator.scenario.models import Scenario
from emulator.scenario.outages import Outage

ONLY_CALLER = "default"
"""Principal of every caller where a scenario has no keys, and of callers whose key a vendor does not ask for."""

Finding = tuple[str, KeyPath, str]
"""Code, path and message."""


def list_principals(scenario: Scenario) -> frozenset[str]:
    """Return the principals that calls can have."""
    return frozenset({ONLY_CALLER, *(key.principal for key in scenario.keys or ())})


def explain_unknown(wanted: tuple[str, ...] | None, principals: Collection[str] | None) -> str | None:
    """Return why no principal has one of these names; ``None`` if one may have."""
    if wanted is None or principals is None or any(map(compile_names(wanted), principals)):
        return None
    what = "among the keys" if len(principals) > 1 else f"a caller: `keys` name none but {ONLY_CALLER}"
    return f"{', '.join(wanted)} is not {what}{suggest_name(wanted[0], principals)}"


def find_shared_counts(scenario: Scenario, principals: Collection[str] | None) -> Iterator[Finding]:
    """Yield what counts callers apart although all of them are one."""
    if scenario.keys is not None or principals is None:
        return
    paths: list[KeyPath] = [("limits", n, "per") for n, limit in enumerate(scenario.limits) if limit.per == "principal"]
    for n, rule in enumerate(scenario.rules):
        if rule.per == "principal":
            paths.append(("rules", n, "per"))
        if rule.times is not None and rule.times.per == "principal":
            paths.append(("rules", n, "times", "per"))
    for path in paths:
        yield codes.ONE_CALLER, path, f"all callers share it: without `keys` every caller is {ONLY_CALLER}"


def find_odd_outages(
    scenario: Scenario,
    served: Collection[str],
    principals: Collection[str] | None,
    catalogue: Mapping[str, Collection[str]] | None,
) -> Iterator[Finding]:
    """Yield the names in outages that no call can have.

    Args:
        principals: ``None``: unknown, and not checked.
        catalogue: names of deployments by vendor; ``None``: unknown, and not checked.
    """
    for position, outage in enumerate(scenario.outages):
        path: KeyPath = ("outages", position)
        if (unknown := explain_unknown(outage.principal, principals)) is not None:
            yield codes.NEVER_REACHED, (*path, "principal"), f"the outage affects no call: {unknown}"
        for name in outage.vendor or ():
            if not any(map(compile_names((name,)), served)):
                text = f"the outage affects no call of {name}, which is not served{suggest_name(name, served)}"
                yield codes.NEVER_REACHED, (*path, "vendor"), text
        if catalogue is not None:
            yield from _find_unserved(path, outage, catalogue)


def _find_unserved(path: KeyPath, outage: Outage, catalogue: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    is_vendor = compile_names(outage.vendor or ("*",))
    names = [name for vendor in catalogue if is_vendor(vendor) for name in catalogue[vendor]]
    for wanted in outage.deployments or () if names else ():
        if not any(map(compile_names((wanted,)), names)):
            hint = suggest_name(wanted, names)
            text = f"the outage affects no call to {wanted}, which no vendor it is about serves{hint}"
            yield codes.UNSERVED, (*path, "deployments"), text
