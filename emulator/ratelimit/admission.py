"""Admission controller: charges all quotas that apply to a call, or none, and then waits for a free slot.

``handler/planning.py`` admits each call by it. A quota of ``unit: concurrency`` is a charge like the others: it takes a
place, which the end of the call gives back. A slot is something else: it comes from ``latency.load`` of the scenario,
and a call may queue for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from typing import get_args

from emulator.core.http import Request
from emulator.core.quota import Balance, Charge, Quota, Unit
from emulator.core.requests import CompletionRequest, EmbeddingRequest
from emulator.core.storage import ATTEMPTS, LocalState, State
from emulator.core.vendor import InferenceCall
from emulator.ratelimit.concurrency import ConcurrencyLimits, ServerKey, Slot, Slots
from emulator.ratelimit.recovery import FindRecovery, Recovery
from emulator.ratelimit.retry_after import LimitError, build_limit_error

_MAX_CALLERS = 1024  # combinations of vendor, deployment, principal and quotas of the call in the cache
_TICKET_NUMBERS = count()  # of all admission controllers of this process
_UNITS: dict[Unit, int] = {unit: number for number, unit in enumerate(get_args(Unit))}
Select = Callable[[str, str, str], Sequence[Quota]]
"""Function of vendor, deployment and principal that returns the quotas that apply."""


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Shares of quotas that the calls of one caller are charged to.

    Fields:
        rows: quota, scope and number of the unit of each share.
        has_places: some are quotas of concurrency, whose charges are places.
    """

    rows: Sequence[tuple[Quota, str, int]]
    has_places: bool


@dataclass(slots=True, eq=False)
class Ticket:
    """Charges and slot that a call holds while it runs.

    Fields:
        ticket: identifies the charges in the store.
        prompt_tokens: number of tokens of all prompts of the call.
        charges: one per share; that of a quota of concurrency is a place.
        balances: one per charge, after it.
        slot: slot of ``latency.load``; ``None`` if the deployment has no such limit.
    """

    session: str
    ticket: bytes
    prompt_tokens: int
    shares: Shares
    charges: Sequence[Charge] = ()
    balances: Sequence[Balance] = ()
    slot: Slot | None = None


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

    async def reserve(self, call: InferenceCall, request: Request, now: float, identity: bytes | None = None) -> Ticket:
        """Make every charge of a call; a deployment with ``latency.load`` takes :meth:`acquire` next.

        Args:
            identity: fingerprint of a request; its attempt is counted in the same round trip, and set in the
                request; ``None``: it is counted already.

        Raises:
            LimitError: ``RATE_LIMITED``: a quota was insufficient; nothing is charged.
            DocumentsError: the request was parsed without documents, and the session has some.
        """
        session, deployment = request.session, call.deployment
        shares = self._find_shares(deployment.vendor, deployment.name, request.principal, call.quotas)
        prompt = sum(call.prompt_tokens)
        ticket = Ticket(session, next(_TICKET_NUMBERS).to_bytes(8, "big"), prompt, shares)
        recovery = None if self._find_recovery is None else self._recover(call, request, shares, now)
        if shares.rows:
            output = count_reserved_output(call)
            costs, least = (1, prompt, output, prompt + output, 1), (1, prompt, 0, prompt, 0)
            charges = [Charge(quota, scope, costs[unit], least[unit]) for quota, scope, unit in shares.rows]
            ticket.charges = charges = charges if recovery is None else recovery.hold(charges)
            if identity is not None:
                request.attempt, ticket.balances = await self._state.admit(
                    session, ATTEMPTS, identity, ticket.ticket, charges, now, request.unread_collection
                )
            elif self._local is not None:
                ticket.balances = self._local.spend_now(session, ticket.ticket, charges, now)
            else:
                ticket.balances = await self._state.spend(session, ticket.ticket, charges, now)
            refusal = _find_refusal(ticket, recovery, deployment.name)
            if refusal is not None:
                raise refusal
        elif identity is not None:
            request.attempt = await self._state.count(session, ATTEMPTS, identity, request.unread_collection)
        return ticket

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
        await self._state.set_expected_end(ticket.session, ticket.ticket, end)

    async def release(self, ticket: Ticket, output_tokens: int | None, now: float) -> None:
        """Settle the charges of a call that has ended, and free its slot.

        ``output_tokens``: tokens sent; ``None``: the call was refused and costs nothing.
        """
        if ticket.slot is not None:
            self._slots.release(ticket.slot, now)
        if ticket.charges:
            if output_tokens is None:
                costs = [0] * len(ticket.charges)
            else:
                prompt = ticket.prompt_tokens
                true = (1, prompt, output_tokens, prompt + output_tokens, 0)
                costs = [true[unit] for _, _, unit in ticket.shares.rows]
            if self._local is not None:
                self._local.settle_now(ticket.session, ticket.ticket, costs, now)
            else:
                await self._state.settle(ticket.session, ticket.ticket, costs, now)


def _list_shares(select: Select, vendor: str, deployment: str, principal: str, quotas: tuple[Quota, ...]) -> Shares:
    """Return the shares that a call is charged to; ``quotas``: its own."""
    scopes = {"principal": principal, "deployment": f"{vendor}/{deployment}", None: ""}
    found = (*select(vendor, deployment, principal), *quotas)
    rows = [(quota, scopes[quota.per], _UNITS[quota.unit]) for quota in found]
    return Shares(rows, any(quota.unit == "concurrency" for quota in found))


def _find_refusal(ticket: Ticket, recovery: Recovery | None, deployment: str) -> LimitError | None:
    """Return the refusal of a call for which a quota is insufficient."""
    if recovery is not None:
        ticket.balances = recovery.correct(ticket.charges, ticket.balances)
    for balance in ticket.balances:
        if balance.wait is not None:
            return build_limit_error(ticket.charges, ticket.balances, deployment)
    return None


def count_reserved_output(call: InferenceCall) -> int:
    """Return the completion tokens to reserve: the request's maximum, or else the deployment's default.

    A maximum of the deployment's whole remaining context counts as no maximum.
    """
    request, deployment, prompts = call.request, call.deployment, call.prompt_tokens
    if isinstance(request, EmbeddingRequest):
        return 0
    prompt_tokens = prompts[0] if len(prompts) == 1 else max(prompts, default=0)
    sampling, max_tokens = request.sampling, request.sampling.max_tokens
    if max_tokens is None or max_tokens >= deployment.max_answer(prompt_tokens):
        max_tokens = deployment.expected_answer(prompt_tokens)
    return max_tokens * sampling.n * (len(request.prompts) if isinstance(request, CompletionRequest) else 1)
