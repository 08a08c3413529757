"""Admission controller: charges all quotas that apply to a call, or none, and then waits for a free slot."""

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
from emulator.ratelimit.retry_after import build_limit_error

_MAX_CALLERS = 1024  # combinations of vendor, deployment, principal and quotas of the call in the cache
_TICKET_NUMBERS = count()  # of all admission controllers of this process
_UNITS: dict[Unit, int] = {unit: number for number, unit in enumerate(get_args(Unit))}
Select = Callable[[str, str, str], Sequence[Quota]]
"""Function of vendor, deployment and principal that returns the quotas that apply."""


@dataclass(slots=True, eq=False)
class Ticket:
    """Charges and slot that a call holds while it runs.

    Fields:
        ticket: identifies the charges in the store.
        prompt_tokens: of all prompts of the call.
        balances: one per charge, after it.
        slot: ``None`` if the deployment has no concurrency limit.
    """

    session: str
    ticket: bytes
    prompt_tokens: int
    charges: Sequence[Charge] = ()
    balances: Sequence[Balance] = ()
    slot: Slot | None = None


class AdmissionController:
    """Quotas and concurrency slots of one scenario; times are seconds since its start."""

    def __init__(self, select: Select, state: State) -> None:
        self._find_shares = lru_cache(maxsize=_MAX_CALLERS)(partial(_list_shares, select))
        self._state = state
        self._local = state if isinstance(state, LocalState) else None
        self._slots = Slots()

    async def reserve(self, call: InferenceCall, request: Request, now: float, identity: bytes | None = None) -> Ticket:
        """Make every charge of a call; a deployment with concurrency limits takes :meth:`acquire` next.

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
        ticket = Ticket(session, next(_TICKET_NUMBERS).to_bytes(8, "big"), prompt)
        if shares:
            output = count_reserved_output(call)
            costs, least = (1, prompt, output, prompt + output, 1), (1, prompt, 0, prompt, 0)
            charges = ticket.charges = [Charge(quota, scope, costs[unit], least[unit]) for quota, scope, unit in shares]
            if identity is not None:
                request.attempt, ticket.balances = await self._state.admit(
                    session, ATTEMPTS, identity, ticket.ticket, charges, now, request.unread_collection
                )
            elif self._local is not None:
                ticket.balances = self._local.spend_now(session, ticket.ticket, charges, now)
            else:
                ticket.balances = await self._state.spend(session, ticket.ticket, charges, now)
            for balance in ticket.balances:
                if balance.wait is not None:
                    raise build_limit_error(ticket.charges, ticket.balances, deployment.name)
        elif identity is not None:
            request.attempt = await self._state.count(session, ATTEMPTS, identity, request.unread_collection)
        return ticket

    async def acquire(self, ticket: Ticket, call: InferenceCall, now: float, limits: ConcurrencyLimits) -> None:
        """Wait for a slot for a call with its charges reserved.

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
        """Deployments with a concurrency limit and calls, each with its running and its queued calls."""
        return self._slots

    async def set_expected_end(self, ticket: Ticket, end: float) -> None:
        """Set when the call is expected to end, for the ``Retry-After`` of calls that a concurrency quota refuses."""
        for charge in ticket.charges:
            if charge.quota.unit == "concurrency":
                return await self._state.set_expected_end(ticket.session, ticket.ticket, end)

    async def release(self, ticket: Ticket, output_tokens: int | None, now: float) -> None:
        """Settle the charges of a call that has ended, and free its slot.

        ``output_tokens``: tokens sent; ``None``: the call was refused and costs nothing.
        """
        if ticket.slot is not None:
            self._slots.release(ticket.slot, now)
        charges = ticket.charges
        if charges:
            if output_tokens is None:
                costs = [0] * len(charges)
            else:
                prompt = ticket.prompt_tokens
                true = (1, prompt, output_tokens, prompt + output_tokens, 0)
                costs = [true[_UNITS[charge.quota.unit]] for charge in charges]
            if self._local is not None:
                self._local.settle_now(ticket.session, ticket.ticket, costs, now)
            else:
                await self._state.settle(ticket.session, ticket.ticket, costs, now)


def _list_shares(
    select: Select, vendor: str, deployment: str, principal: str, quotas: tuple[Quota, ...]
) -> Sequence[tuple[Quota, str, int]]:
    """Return the quotas that a call is charged to, each with the scope of its share and the number of its unit."""
    scopes = {"principal": principal, "deployment": f"{vendor}/{deployment}", None: ""}
    return [
        (quota, scopes[quota.per], _UNITS[quota.unit]) for quota in (*select(vendor, deployment, principal), *quotas)
    ]


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
