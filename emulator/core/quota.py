"""Quotas, their shares, the charges that a call makes to them, and their levels and balances: data without behaviour.

``ratelimit`` charges them, ``storage`` keeps their state.
"""

from collections.abc import Sequence
from typing import Literal

from emulator.core.dataclass import fast_dataclass

Unit = Literal["requests", "input_tokens", "output_tokens", "tokens", "concurrency"]
Strategy = Literal["bucket", "fixed", "sliding"]
Per = Literal["principal", "deployment"]


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Limit of ``amount`` units per ``window`` seconds.

    Fields:
        name: identifies the quota among those of a scenario.
        amount: number of units.
        window: seconds; 0 for ``concurrency``, which is freed when a call ends.
        strategy: a ``bucket`` refills continuously, by ``amount`` in a window; ``fixed`` windows follow one
            another; in a ``sliding`` window each charge returns a window after it was made.
        per: each principal or deployment has a share of its own; ``None``: one share for all.
    """

    name: str
    unit: Unit
    amount: int
    window: float = 0.0
    strategy: Strategy = "bucket"
    per: Per | None = None


@fast_dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Shares of quotas that the calls of one caller are charged to.

    Fields:
        rows: quota, scope as in :class:`Charge`, and number of the unit of each share.
        has_places: some are quotas of concurrency, whose charges are places.
    """

    rows: Sequence[tuple[Quota, str, int]]
    has_places: bool


Left = Sequence[tuple[Quota, int]]
"""Whole units left of each quota that a call is charged to."""


@fast_dataclass(frozen=True, slots=True)
class Charge:
    """Units that one call takes from a quota.

    Fields:
        scope: principal or ``vendor/deployment`` of the quota share; empty for the share of all.
        cost: units reserved on admission.
        least: units charged if there is no response, as when the process that handles the call dies.
        held: further units that must be available, and are not charged.
    """

    quota: Quota
    scope: str
    cost: int
    least: int = 0
    held: int = 0

    @property
    def needed(self) -> int:
        """Return the units that must be available; a charge without cost needs none."""
        return self.cost + self.held if self.cost else 0


@fast_dataclass(frozen=True, slots=True)
class Level:
    """Current level of one share of a quota.

    Fields:
        scope: principal or ``vendor/deployment``, as in :class:`Charge`.
        left: whole units available now.
        full_in: seconds until the whole amount is available; ``None``: unknown.
    """

    quota: Quota
    scope: str
    left: int
    full_in: float | None


@fast_dataclass(frozen=True, slots=True)
class Balance:
    """Result of a charge to a quota.

    Fields:
        left: whole units available now.
        wait: seconds until the charge could be made, infinite if unknown; ``None``: the quota was sufficient.
    """

    quota: Quota
    left: int
    wait: float | None = None
