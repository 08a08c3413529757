"""Quotas: how much of what a caller may have in how much time, and what a call takes of them."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["requests", "input_tokens", "output_tokens", "tokens", "concurrency"]
Strategy = Literal["bucket", "fixed", "sliding"]
Per = Literal["principal", "deployment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """So many of a unit in so much time.

    Fields:
        name: which it is among a scenario's quotas.
        amount: in units.
        window: seconds; 0 for ``concurrency``, which comes back when a call ends.
        strategy: a ``bucket`` refills continuously, by ``amount`` in a window; ``fixed`` windows follow one
            another; in a ``sliding`` one each charge comes back a window after it was made.
        per: whose shares are apart; ``None``: one for all.
    """

    name: str
    unit: Unit
    amount: int
    window: float = 0.0
    strategy: Strategy = "bucket"
    per: Per | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """What one call takes of a quota.

    Fields:
        scope: names whose share of it.
        least: what it comes to if nothing is answered, as when the process dies that was to answer.
    """

    quota: Quota
    scope: str
    cost: int
    least: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """How one share of a quota stands.

    Fields:
        scope: whose share it is, as in :class:`Charge`.
        left: whole units that can be had at once.
        full_in: seconds until all of it can be had; ``None``: nobody knows.
    """

    quota: Quota
    scope: str
    left: int
    full_in: float | None


@dataclass(frozen=True, slots=True)
class Balance:
    """What is left of a quota.

    Fields:
        left: whole units that can be had at once.
        wait: seconds until the charge could be made, infinite if nobody knows; ``None``: there was enough.
    """

    quota: Quota
    left: int
    wait: float | None = None
