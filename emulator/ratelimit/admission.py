"""Admission controller: charges all quotas that apply to a call, or none, and then waits for a free slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Quota, Unit
from emulator.core.requests import CompletionRequest, EmbeddingRequest
from emulator.core.storage import ATTEMPTS, State
from emulator.core.vendor import InferenceCall
from emulator.ratelimit.concurrency import ConcurrencyLimits, ServerKey, Slot, Slots

_TICKET_NUMBERS = count()  # of all admission controllers of this process
Select = Callable[[str, str, str], Sequence[Quota]]
"""Function of vendor, deployment and principal that returns the quotas that apply."""


@dataclass(slots=True, eq=False)
class LimitError(EmulatedError):
    """Refusal by quotas; ``refusing``: the charge and balance of each insufficient quota."""

    refusing: Sequence[tuple[Charge, Balance]] = ()


@dataclass(slots=True, eq=False)
class Ticket:
    """Charges and slot that a call holds while it runs.

    Fields:
        ticket: identifies the charges in the store.
        prompt_tokens: of all prompts of the call.
        attempt: number of equal calls before, if it was counted together with the charges.
        balances: one per charge, after it.
        slot: ``None`` if the deployment has no concurrency limit.
    """

    session: str
    ticket: bytes
    prompt_tokens: int
    charges: Sequence[Charge]
    balances: Sequence[Balance] = ()
    attempt: int = 0
    slot: Slot | None = None


class AdmissionController:
    """Quotas and concurrency slots of one scenario; times are seconds since its start."""

    def __init__(self, select: Select, state: State) -> None:
        self._select = select
        self._state = state
        self._slots = Slots()

    async def reserve(self, call: InferenceCall, request: Request, now: float, identity: bytes | None = None) -> Ticket:
        """Make every charge of a call, or none if a quota is insufficient; :meth:`acquire` comes next.

        Args:
            identity: fingerprint of the request, to count its attempt in the same round trip; ``None``: the attempt is
                counted already.

        Raises:
            DocumentsError: the request was parsed without documents, and the session has some.
        """
        session, charges, state = request.session, self._build_charges(call, request.principal), self._state
        admission = Ticket(session, next(_TICKET_NUMBERS).to_bytes(8, "big"), sum(call.prompt_tokens), charges)
        if identity is None:
            if charges:
                admission.balances = await state.spend(session, admission.ticket, charges, now)
        elif charges:
            found = await state.admit(
                session, ATTEMPTS, identity, admission.ticket, charges, now, request.unread_collection
            )
            admission.attempt, admission.balances = found
        else:
            admission.attempt = await state.count(session, ATTEMPTS, identity, request.unread_collection)
        return admission

    async def acquire(
        self, admission: Ticket, call: InferenceCall, now: float, limits: ConcurrencyLimits | None = None
    ) -> None:
        """Wait for a slot for a call with its charges reserved.

        Raises:
            LimitError: ``RATE_LIMITED``: a quota was insufficient; nothing is charged.
            EmulatedError: ``OVERLOADED``: no slot is free, and the queue is full.
        """
        _validate_balances(admission, call)
        if limits is not None:
            key = (admission.session, call.deployment.vendor, call.deployment.name)
            try:
                admission.slot = await self._slots.acquire(key, limits, now)
            except BaseException:
                await self.release(admission, None, now)
                raise

    @property
    def busy(self) -> Iterable[tuple[ServerKey, int, int]]:
        """Deployments with a concurrency limit and calls, each with its running and its queued calls."""
        return self._slots

    async def set_expected_end(self, admission: Ticket, end: float) -> None:
        """Set when the call is expected to end, for the ``Retry-After`` of calls that a concurrency quota refuses."""
        if any(charge.quota.unit == "concurrency" for charge in admission.charges):
            await self._state.set_expected_end(admission.session, admission.ticket, end)

    async def release(self, admission: Ticket, output_tokens: int | None, now: float) -> None:
        """Settle the charges of a call that has ended, and free its slot.

        ``output_tokens``: tokens sent; ``None``: the call was refused and costs nothing.
        """
        if admission.slot is not None:
            self._slots.release(admission.slot, now)
        if admission.charges:
            true = {} if output_tokens is None else _cost(admission.prompt_tokens, output_tokens)
            true["concurrency"] = 0
            costs = [true.get(charge.quota.unit, 0) for charge in admission.charges]
            await self._state.settle(admission.session, admission.ticket, costs, now)

    def _build_charges(self, call: InferenceCall, principal: str) -> Sequence[Charge]:
        quotas = (*self._select(call.deployment.vendor, call.deployment.name, principal), *call.quotas)
        if not quotas:
            return ()
        prompt = sum(call.prompt_tokens)
        costs, least = _cost(prompt, count_reserved_output(call)), {**_cost(prompt, 0), "concurrency": 0}
        return [Charge(q, _scope(q, call, principal), costs[q.unit], least[q.unit]) for q in quotas]


def count_reserved_output(call: InferenceCall) -> int:
    """Return the completion tokens to reserve: the request's maximum, or else the deployment's default.

    A maximum of the deployment's whole remaining context counts as no maximum.
    """
    request = call.request
    if isinstance(request, EmbeddingRequest):
        return 0
    deployment, sampling = call.deployment, request.sampling
    prompt_tokens = max(call.prompt_tokens, default=0)
    max_tokens = sampling.max_tokens
    if max_tokens is None or max_tokens >= deployment.room_for(prompt_tokens):
        max_tokens = deployment.usual_output(prompt_tokens)
    prompts = len(request.prompts) if isinstance(request, CompletionRequest) else 1
    return max_tokens * sampling.n * prompts


def _scope(quota: Quota, call: InferenceCall, principal: str) -> str:
    if quota.per == "principal":
        return principal
    return f"{call.deployment.vendor}/{call.deployment.name}" if quota.per == "deployment" else ""


def _cost(prompt: int, output: int) -> dict[Unit, int]:
    """Return the cost of a running call by quota unit."""
    return {
        "requests": 1,
        "input_tokens": prompt,
        "output_tokens": output,
        "tokens": prompt + output,
        "concurrency": 1,
    }


def _validate_balances(admission: Ticket, call: InferenceCall) -> None:
    """Raise if a quota is insufficient; the error names the one with the longest wait.

    Raises:
        LimitError: ``RATE_LIMITED``.
    """
    balances = zip(admission.balances, admission.charges, strict=True)
    refusing = [(balance.wait, balance, charge) for balance, charge in balances if balance.wait is not None]
    if not refusing:
        return
    wait, balance, charge = max(refusing, key=lambda item: item[0])
    quota = charge.quota
    details: dict[str, JSON] = {
        "unit": quota.unit,
        "amount": quota.amount,
        "window": int(quota.window) if quota.window.is_integer() else quota.window,
        "per": quota.per,
        "deployment": call.deployment.name,
        "used": quota.amount - balance.left,
        "asked": charge.cost,
        "balances": [[each.quota.unit, each.quota.amount, each.left] for each in admission.balances],
    }
    raise LimitError(
        ErrorKind.RATE_LIMITED,
        limit=quota.unit,
        retry_after=None if wait == inf else round(wait, 6),
        details=details,
        refusing=[(charge, balance) for _, balance, charge in refusing],
    )
