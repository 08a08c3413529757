"""Which quotas cover a call."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from emulator.core.quota import Quota
from emulator.scenario.matchers import Test, compile_names
from emulator.scenario.models import Limit

_MOST_CALLERS = 1024


def list_quotas(limits: Sequence[Limit]) -> Sequence[Quota]:
    """The quota that each limit sets."""
    return [_to_quota(limit, position) for position, limit in enumerate(limits)]


def compile_limits(limits: Sequence[Limit]) -> Callable[[str, str, str], Sequence[Quota]]:
    """A function from the names of a vendor, a deployment and a principal to the quotas that a call is charged to."""
    compiled = [
        (tuple(compile_names(names or ("*",)) for names in (limit.vendor, limit.deployment, limit.principal)), quota)
        for limit, quota in zip(limits, list_quotas(limits), strict=True)
    ]

    @lru_cache(maxsize=_MOST_CALLERS)
    def select(*names: str) -> Sequence[Quota]:
        return tuple(quota for tests, quota in compiled if all(map(_holds, tests, names)))

    return select


def _holds(test: Test, name: str) -> bool:
    return test(name)


def _to_quota(limit: Limit, position: int) -> Quota:
    return Quota(
        name=f"limits[{position}]",
        unit=limit.unit,
        amount=limit.amount,
        window=limit.window or 0.0,
        strategy=limit.strategy,
        per=limit.per,
    )
