"""Admission controller: charges all quotas that apply to a call, or none, and then waits for a free slot.

``handler/planning.py`` admits each call by it. A quota of ``unit: concurrency`` is a charge like the others: it takes a
place, which the end of the call gives back. A slot is something else: it comes from ``latency.load`` of the scenario,
and a call may queue for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import get_args

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.quota import Charge, Left, Quota, Shares, Unit
from emulator.core.requests import CompletionRequest, EmbeddingRequest
from emulator.core.storage import ATTEMPTS, ChargedAccount, LocalState, State
from emulator.ratelimit.concurrency import ConcurrencyLimits, ServerKey, Slot, Slots
from emulator.ratelimit.recovery import FindRecovery, Recovery
from emulator.ratelimit.retry_after import build_limit_error
from emulator.ratelimit.strategies import charge, settle

_MAX_CALLERS = 1024  # combinations of vendor, deployment, principal and quotas of the call in the cache
_NUMBERS = count()  # of all admission controllers of this process
_UNITS: dict[Unit, int] = {unit: number for number, unit in enumerate(get_args(Unit))}
_INPUT, _OUTPUT = _UNITS["input_tokens"], _UNITS["output_tokens"]
_Costs = tuple[int, int, int, int, int]
Select = Callable[[str, str, str], Sequence[Quota]]
"""Function of vendor, deployment and principal that returns the quotas that apply."""


@fast_dataclass(slots=True, eq=False)
class Ticket:
    """Charges and slot that a call holds while it runs.

    Fields:
        number: identifies the charges.
        costs: units reserved, by the number of the unit; that of concurrency is a place.
        at: when they were.
        accounts: accounts that are charged; ``None``: the store finds them by the name of the ticket.
        left: units left of each quota.
        exact: number of output tokens after which there is nothing to settle; -1: there always is.
        slot: slot of ``latency.load``; ``None`` if the deployment has no such limit.
    """

    session: str
    number: int
    shares: Shares
    costs: _Costs
    at: float
    accounts: Sequence[ChargedAccount] | None = None
    left: Left = ()
    exact: int = -1
    slot: Slot | None = None

    @property
    def name(self) -> bytes:
        """Return the name of the charges in the store."""
        return self.number.to_bytes(8, "big")


class AdmissionController:
    """Quotas of one scenario, places of concurrency included, and its slots of ``latency.load``.

    Times are seconds since the start of the scenario.
    """

    def __init__(self, select: Select, state: State, find_recovery: FindRecovery | None = None) -> None:
        self._find_recovery = find_recovery
        self._find_shares = lru_cache(maxsize=_MAX_CALLERS)(partial(_list_shares, select))
        self._state = state
        self._local = state if isinstance(state, LocalState) else None
        self._slots = Slots()

    def reserve_now(self, call: InferenceCall, request: Request, now: float) -> Ticket | None:
        """Do :meth:`reserve` in a local store; return ``None`` if there is another, or if a quota is insufficient.

        The call is then not charged yet, and :meth:`reserve` charges or refuses it.
        """
        if self._local is None or self._find_recovery is not None:
            return None
        ticket = self._open_ticket(call, request, now)
        shares, costs = ticket.shares, ticket.costs
        ticket.accounts = accounts = self._local.open_accounts(ticket.session, shares)
        left = charge(accounts, ticket.number, costs, now)
        if left is None:
            return None
        ticket.left = left
        if not shares.has_places:
            ticket.exact = costs[_OUTPUT]
        return ticket

    async def reserve(self, call: InferenceCall, request: Request, now: float, identity: bytes | None = None) -> Ticket:
        """Make every charge of a call; a deployment with ``latency.load`` takes :meth:`acquire` next.

        Args:
            identity: fingerprint of a request; its attempt is counted in the same round trip, and set in the
                request; ``None``: it is counted already.

        Raises:
            LimitError: ``RATE_LIMITED``: a quota was insufficient; nothing is charged.
            DocumentsError: the request was parsed without documents, and the session has some.
        """
        ticket, session, bare = self._open_ticket(call, request, now), request.session, request.unread_collection
        shares, costs = ticket.shares, ticket.costs
        recovery = None if self._find_recovery is None else self._recover(call, request, shares, now)
        if shares.rows:
            least = (1, costs[_INPUT], 0, costs[_INPUT], 0)
            charges = [Charge(quota, scope, costs[unit], least[unit]) for quota, scope, unit in shares.rows]
            charges = charges if recovery is None else recovery.hold(charges)
            if identity is None:
                balances = await self._state.spend(session, ticket.name, charges, now)
            else:
                admitted = self._state.admit(session, ATTEMPTS, identity, ticket.name, charges, now, bare)
                request.attempt, balances = await admitted
            balances = balances if recovery is None else recovery.correct(charges, balances)
            if any(balance.wait is not None for balance in balances):
                raise build_limit_error(charges, balances, call.deployment.name)
            ticket.left = [(balance.quota, balance.left) for balance in balances]
        elif identity is not None:
            request.attempt = await self._state.count(session, ATTEMPTS, identity, bare)
        return ticket

    def _open_ticket(self, call: InferenceCall, request: Request, now: float) -> Ticket:
        """Return the ticket of a call that is not charged yet."""
        deployment = call.deployment
        shares = self._find_shares(deployment.vendor, deployment.name, request.principal, call.quotas)
        prompt, output = sum(call.prompt_tokens), count_reserved_output(call)
        return Ticket(request.session, next(_NUMBERS), shares, (1, prompt, output, prompt + output, 1), now)

    def _recover(self, call: InferenceCall, request: Request, shares: Shares, now: float) -> Recovery | None:
        """Return the state of a call's quotas after an outage; ``None``: all is back.

        Raises:
            EmulatedError: ``RATE_LIMITED``: the call has no quotas, and is among those refused by chance.
        """
        assert self._find_recovery is not None
        recovery = self._find_recovery(call.deployment.vendor, call.deployment.name, request.principal, now)
        if recovery is not None and not shares.rows and (refusal := recovery.refuse_share(request.key)) is not None:
            raise refusal
        return recovery

    async def acquire(self, ticket: Ticket, call: InferenceCall, now: float, limits: ConcurrencyLimits) -> None:
        """Wait for a slot of ``latency.load`` for a call with its charges reserved.

        Raises:
            EmulatedError: ``OVERLOADED``: no slot is free, and the queue is full; nothing is charged.
        """
        key = (ticket.session, call.deployment.vendor, call.deployment.name)
        try:
            ticket.slot = await self._slots.acquire(key, limits, now)
        except BaseException:
            await self.release(ticket, None, now)
            raise

    @property
    def busy(self) -> Iterable[tuple[ServerKey, int, int]]:
        """Deployments with ``latency.load`` and calls, each with its running and its queued calls."""
        return self._slots

    async def set_expected_end(self, ticket: Ticket, end: float) -> None:
        """Set when a call that takes a place is expected to end, for the ``Retry-After`` of calls that get none."""
        if ticket.accounts is None:
            await self._state.set_expected_end(ticket.session, ticket.name, end)
        else:
            for account, _ in ticket.accounts:
                account.set_expected_end(ticket.number, end)

    async def release(self, ticket: Ticket, output_tokens: int | None, now: float) -> None:
        """Settle the charges of a call that has ended, and free its slot.

        ``output_tokens``: tokens sent; ``None``: the call was refused and costs nothing.
        """
        if ticket.slot is not None:
            self._slots.release(ticket.slot, now)
        costs: _Costs = (0, 0, 0, 0, 0)
        if output_tokens is not None:
            prompt = ticket.costs[_INPUT]
            costs = (1, prompt, output_tokens, prompt + output_tokens, 0)
        if ticket.accounts is not None:
            settle(ticket.accounts, ticket.number, ticket.costs, costs, ticket.at, now)
            ticket.accounts = ()  # settled once
        elif ticket.shares.rows:
            true = [costs[unit] for _, _, unit in ticket.shares.rows]
            await self._state.settle(ticket.session, ticket.name, true, now)


def _list_shares(select: Select, vendor: str, deployment: str, principal: str, quotas: tuple[Quota, ...]) -> Shares:
    """Return the shares that a call is charged to; ``quotas``: its own."""
    scopes = {"principal": principal, "deployment": f"{vendor}/{deployment}", None: ""}
    found = (*select(vendor, deployment, principal), *quotas)
    rows = dict.fromkeys((quota, scopes[quota.per], _UNITS[quota.unit]) for quota in found)  # two equal ones are one
    return Shares([*rows], any(quota.unit == "concurrency" for quota in found))


def count_reserved_output(call: InferenceCall) -> int:
    """Return the completion tokens to reserve: the request's maximum, or else the deployment's default.

    A maximum of the deployment's whole remaining context counts as no maximum.
    """
    request, deployment, prompts = call.request, call.deployment, call.prompt_tokens
    if isinstance(request, EmbeddingRequest):
        return 0
    prompt_tokens = prompts[0] if len(prompts) == 1 else max(prompts, default=0)
    sampling = request.sampling
    max_tokens = sampling.max_tokens
    if max_tokens is None or max_tokens >= deployment.max_answer(prompt_tokens):
        max_tokens = deployment.expected_answer(prompt_tokens)
    return max_tokens * sampling.n * (len(request.prompts) if isinstance(request, CompletionRequest) else 1)
