"""Hold back a part of each quota after an outage of ``kind: slow_recovery``; the part shrinks to none with time.

``admission.py`` calls it around each charge; ``scenario/outage_effects.py`` finds the outage and the part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.quota import Balance, Charge
from emulator.core.rng import derive_key, draw_uniform

_TOLERANCE = 1e-9  # units; shares are inexact


@fast_dataclass(frozen=True, slots=True)
class Recovery:
    """State of a call's quotas during the recovery from an outage.

    Fields:
        outage: name of the outage that took the quotas away.
        missing: share of each amount that is not back, from 1 down to 0.
        left: seconds until all is back.
    """

    outage: str
    missing: float
    left: float

    def hold(self, charges: Sequence[Charge]) -> list[Charge]:
        """Return the charges, each with the units of its quota that are held back; none of a concurrency quota."""
        return [replace(charge, held=self._count_held(charge)) for charge in charges]

    def _count_held(self, charge: Charge) -> int:
        quota = charge.quota
        return 0 if quota.unit == "concurrency" else max(0, ceil(quota.amount * self.missing - _TOLERANCE))

    def correct(self, charges: Sequence[Charge], balances: Sequence[Balance]) -> tuple[Balance, ...]:
        """Return the balances as a client sees them: without the units that are held back.

        A balance whose quota has too few units left has the seconds until the charge can be made: until enough of the
        held units are back, and no less than the quota itself takes where it was insufficient without them.
        """
        return tuple(map(self._correct, charges, balances))

    def _correct(self, charge: Charge, balance: Balance) -> Balance:
        if not charge.held:
            return balance
        wait = balance.wait
        if wait is not None:
            over = charge.cost + charge.held - balance.left
            back = min(self.left, over * self.left / (charge.quota.amount * self.missing))
            wait = max(back, wait) if charge.cost > balance.left else back
        return Balance(balance.quota, max(0, balance.left - charge.held), wait)

    def refuse_share(self, key: bytes) -> EmulatedError | None:
        """Return the refusal of a call without quotas, drawn with the share of capacity that is missing.

        ``key``: response key of the call. ``None``: the call is not refused.
        """
        draw = draw_uniform(derive_key("recovery", self.outage), key)
        if draw >= self.missing:
            return None
        wait = self.left * (1.0 - draw / self.missing)
        reason = f"after the outage {self.outage}, {1.0 - self.missing:.0%} of the capacity is back"
        return EmulatedError(ErrorKind.RATE_LIMITED, retry_after=round(wait, 6), details={"reason": reason})


FindRecovery = Callable[[str, str, str, float], Recovery | None]
"""Function of vendor, deployment, principal and seconds since the start; ``None``: all is back."""
