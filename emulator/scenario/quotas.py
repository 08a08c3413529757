"""Which quotas cover a deployment's calls."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from emulator.core.quota import Quota
from emulator.scenario.comparisons import compile_names
from emulator.scenario.schema import Limit

_MOST_ADDRESSES = 1024


def compile_limits(limits: Sequence[Limit]) -> Callable[[str, str], Sequence[Quota]]:
    """A function from a vendor's and a deployment's name to the quotas that a call to it is charged to."""
    everyone = compile_names(("*",))
    compiled = [
        (
            everyone if limit.vendor is None else compile_names(limit.vendor),
            everyone if limit.deployment is None else compile_names(limit.deployment),
            _to_quota(limit, position),
        )
        for position, limit in enumerate(limits)
    ]

    @lru_cache(maxsize=_MOST_ADDRESSES)
    def select(vendor: str, deployment: str) -> Sequence[Quota]:
        return tuple(quota for is_vendor, is_name, quota in compiled if is_vendor(vendor) and is_name(deployment))

    return select


def _to_quota(limit: Limit, position: int) -> Quota:
    return Quota(
        name=f"limits[{position}]",
        unit=limit.unit,
        amount=limit.amount,
        window=limit.window or 0.0,
        strategy=limit.strategy,
        per=limit.per,
    )
