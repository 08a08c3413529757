"""Build the refusal of a call that exceeds quotas, with the seconds until a retry (``Retry-After``).

Each strategy in ``strategies.py`` computes its own wait; the longest counts.
"""

from collections.abc import Sequence
from math import inf

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge


@fast_dataclass(slots=True, eq=False)
class LimitError(EmulatedError):
    """Refusal by quotas; ``refusing``: the charge and balance of each insufficient quota."""

    refusing: Sequence[tuple[Charge, Balance]] = ()


def build_limit_error(charges: Sequence[Charge], balances: Sequence[Balance], deployment: str) -> LimitError:
    """Return the error of a call for which a quota is insufficient; it names the one with the longest wait.

    It names no wait if a quota can never hold the call. ``retry_after`` is in scenario seconds; the handler converts
    it, and the vendor's ``errors`` writes the header.
    """
    pairs = zip(balances, charges, strict=True)
    refusing = [(balance.wait, balance, charge) for balance, charge in pairs if balance.wait is not None]
    wait, balance, charge = max(refusing, key=lambda item: item[0])
    quota = charge.quota
    is_final = any(charge.cost > charge.quota.amount for _, _, charge in refusing)
    details: dict[str, JSON] = {
        "unit": quota.unit,
        "amount": quota.amount,
        "window": int(quota.window) if quota.window.is_integer() else quota.window,
        "per": quota.per,
        "deployment": deployment,
        "used": quota.amount - balance.left,
        "asked": charge.cost,
        "balances": [[each.quota.unit, each.quota.amount, each.left] for each in balances],
    }
    return LimitError(
        ErrorKind.RATE_LIMITED,
        limit=quota.unit,
        retry_after=None if is_final or wait == inf else round(wait, 6),
        details=details,
        is_final=is_final,
        refusing=[(charge, balance) for _, balance, charge in refusing],
    )
