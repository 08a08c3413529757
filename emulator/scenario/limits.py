"""Build quotas from ``limits`` of a scenario, and select those that a call is charged to.

``handler/planning.py`` gives them to the admission controller.
"""

from collections.abc import Callable, Mapping, Sequence

from emulator.core.quota import Quota
from emulator.scenario.matchers import compile_names
from emulator.scenario.models import Limit


def list_quotas(limits: Sequence[Limit]) -> Sequence[Quota]:
    """Build the quota of each limit."""
    return [_to_quota(limit, position) for position, limit in enumerate(limits)]


def name_principals(limits: Sequence[Limit]) -> Mapping[str, str]:
    """Return the principals that each limit is restricted to, by the name of its quota."""
    pairs = zip(list_quotas(limits), limits, strict=True)
    return {quota.name: ", ".join(limit.principal or ()) for quota, limit in pairs}


def compile_limits(limits: Sequence[Limit]) -> Callable[[str, str, str], Sequence[Quota]]:
    """Compile a function from vendor, deployment and principal to the quotas that a request is charged to."""
    compiled = [
        (tuple(compile_names(names or ("*",)) for names in (limit.vendor, limit.deployment, limit.principal)), quota)
        for limit, quota in zip(limits, list_quotas(limits), strict=True)
    ]

    def select(*names: str) -> Sequence[Quota]:
        return tuple(
            quota for tests, quota in compiled if all(test(name) for test, name in zip(tests, names, strict=True))
        )

    return select


def _to_quota(limit: Limit, position: int) -> Quota:
    return Quota(
        name=limit.name or f"limits[{position}]",
        unit=limit.unit,
        amount=limit.amount,
        window=limit.window or 0.0,
        strategy=limit.strategy,
        per=limit.per,
    )
