"""Refuse the calls of a session once its budget is spent (``budget: {enforce: true}``).

The budget counts output tokens, cost and attempts of one request, in the store that replicas share.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.quota import Charge, Quota
from emulator.core.storage import State
from emulator.scenario.expect import BudgetSettings
from emulator.scenario.models import Scenario
from emulator.verdicts.prices import Price, PriceList, load_units

QUOTA_PREFIX = "[budget] "
"""Beginning of the names of a budget's quotas; no limit of a scenario is called so."""
_TOKENS, _COST, _ATTEMPTS = f"{QUOTA_PREFIX}output tokens", f"{QUOTA_PREFIX}cost", f"{QUOTA_PREFIX}attempts"
_LIFETIME = 1e9  # seconds; no session lasts longer, so that nothing comes back
_TOKEN = 1_000_000  # parts of a token: an open call reserves one of them
_DOLLAR = 1_000_000_000  # parts of a USD
_MAX_PARTS = 2**52
_ATTEMPT = 1_000_000  # parts of a failed attempt
_OPEN_ATTEMPT = 10_000  # parts that an open attempt reserves: of a bucket they take months to come back
_NUMBERS = count()  # of all tickets of this process


@fast_dataclass(frozen=True, slots=True)
class _Bound:
    """One bound of a budget.

    Fields:
        text: name of the bound in messages.
        limit: name in a refusal of what is exceeded.
        per_request: each request has its own.
        reserved: parts that an open call takes.
    """

    quota: Quota
    text: str
    limit: str | None = None
    per_request: bool = False
    reserved: int = 1


@fast_dataclass(frozen=True, slots=True, eq=False)
class BudgetReservation:
    """Right of an admitted call to add to the budget; ``ticket`` identifies it in the store."""

    ticket: bytes


class SessionBudgets:
    """Budget of each session, in the store that replicas share.

    A call is refused after tokens or money are spent, so the call that overruns them may end; and after so many
    failed attempts of the same request since its last whole answer.
    """

    def __init__(self, scenario: Scenario, budget: BudgetSettings, state: State) -> None:
        self._state = state
        self._prices = read_prices(scenario)
        self._bounds = list(_list_bounds(budget))

    async def reserve(self, request: Request, fingerprint: bytes, now: float) -> BudgetReservation:
        """Let a call begin; ``now``: seconds since the start of the scenario.

        Raises:
            EmulatedError: ``RATE_LIMITED``: the budget is spent.
        """
        scope = fingerprint.hex()
        charges = [Charge(one.quota, scope if one.per_request else "", one.reserved) for one in self._bounds]
        ticket = b"b" + next(_NUMBERS).to_bytes(8, "big")
        balances = await self._state.spend(request.session, ticket, charges, now)
        for one, balance in zip(self._bounds, balances, strict=True):
            if balance.wait is not None:
                text = f"the budget of {one.text} is spent"
                raise EmulatedError(ErrorKind.RATE_LIMITED, limit=one.limit, details={"reason": text}, is_final=True)
        return BudgetReservation(ticket)

    async def settle(
        self,
        spending: BudgetReservation,
        call: InferenceCall,
        session: str,
        *,
        prompt_tokens: int,
        output_tokens: int,
        failed: bool,
        now: float,
    ) -> None:
        """Add the tokens and cost of a call that has ended; a whole answer resets its count of attempts."""
        price = self._prices.find(call.served, call.deployment.name, call.deployment)
        cost = 0.0 if price is None else price.find_cost(prompt_tokens, output_tokens)
        taken = {
            _TOKENS: output_tokens * _TOKEN,
            _COST: round(cost * _DOLLAR),
            _ATTEMPTS: _ATTEMPT if failed else -_MAX_PARTS,
        }
        costs = [taken[one.quota.name] for one in self._bounds]
        await self._state.settle(session, spending.ticket, costs, now)


def open_budget(scenario: Scenario, state: State) -> SessionBudgets | None:
    """Return the budget of a scenario; ``None`` unless it has one that is enforced."""
    budget = scenario.budget
    return SessionBudgets(scenario, budget, state) if budget is not None and budget.enforce else None


def _list_bounds(budget: BudgetSettings) -> Iterator[_Bound]:
    """Yield the bounds of a budget, each as a quota of which nothing comes back."""
    if (tokens := budget.output_tokens) is not None:
        quota = Quota(name=_TOKENS, unit="output_tokens", amount=tokens * _TOKEN, window=_LIFETIME, strategy="fixed")
        yield _Bound(quota, f"{tokens} output tokens", "output_tokens")
    if (cost := budget.cost) is not None:
        amount = min(round(cost * _DOLLAR), _MAX_PARTS)
        quota = Quota(name=_COST, unit="tokens", amount=amount, window=_LIFETIME, strategy="fixed")
        yield _Bound(quota, f"{f'{cost:.9f}'.rstrip('0').rstrip('.')} USD")
    if (attempts := budget.attempts) is not None:
        quota = Quota(name=_ATTEMPTS, unit="requests", amount=attempts * _ATTEMPT, window=_LIFETIME)
        yield _Bound(quota, f"{attempts} attempts", "requests", per_request=True, reserved=_OPEN_ATTEMPT)


def read_prices(scenario: Scenario) -> PriceList:
    """Return the prices by which the calls of a scenario are paid."""
    units = load_units()
    return PriceList(
        {
            name: Price(*(amount * units[row.unit] for amount in (row.input, row.output, row.per_hour)))
            for name, row in scenario.price_table.items()
        }
    )
