"""Letting calls in: every quota that covers a call is charged, or none; then it waits for a slot to run."""

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

_NUMBERS = count()  # tickets of all gates of this process
Select = Callable[[str, str, str], Sequence[Quota]]
"""The quotas of a vendor's deployment that cover a principal."""


@dataclass(slots=True, eq=False)
class LimitError(EmulatedError):
    """A refusal by quotas; ``refusing``: each that has not enough, what it was asked for and what it has."""

    refusing: Sequence[tuple[Charge, Balance]] = ()


@dataclass(slots=True, eq=False)
class Ticket:
    """What a call holds as long as it runs.

    Fields:
        prompt_tokens: of the call.
        attempt: how often an equal call came before, if that was counted with the charges.
        balances: of every quota it was charged to, with the charge made.
        slot: where it runs, if its server has only so many slots.
    """

    session: str
    ticket: bytes
    prompt_tokens: int
    charges: Sequence[Charge]
    balances: Sequence[Balance] = ()
    attempt: int = 0
    slot: Slot | None = None


class AdmissionController:
    """The quotas and slots of one scenario. Times are seconds since it began."""

    def __init__(self, select: Select, state: State) -> None:
        self._select = select
        self._state = state
        self._slots = Slots()

    async def reserve(self, call: InferenceCall, request: Request, now: float, identity: bytes | None = None) -> Ticket:
        """Make every charge of a call, or none if one quota has not enough; ``enter`` comes next.

        Args:
            identity: of a request whose attempts are still to be counted; one question does both.

        Raises:
            DocumentsError: the request was read without documents, and there are some.
        """
        session, charges, state = request.session, self._charge(call, request.principal), self._state
        admission = Ticket(session, next(_NUMBERS).to_bytes(8, "big"), sum(call.prompt_tokens), charges)
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
        self, admission: Ticket, call: InferenceCall, now: float, room: ConcurrencyLimits | None = None
    ) -> None:
        """Let a call in that was charged, now or when there is a slot.

        Raises:
            LimitError: ``RATE_LIMITED``: a quota had not enough; nothing is charged.
            EmulatedError: ``OVERLOADED``: no slot, and the queue is full.
        """
        _check(admission, call)
        if room is not None:
            key = (admission.session, call.deployment.vendor, call.deployment.name)
            try:
                admission.slot = await self._slots.acquire(key, room, now)
            except BaseException:
                await self.release(admission, None, now)
                raise

    @property
    def busy(self) -> Iterable[tuple[ServerKey, int, int]]:
        """Servers that have only so many slots: how many calls run on each, and how many wait."""
        return self._slots

    async def set_expected_end(self, admission: Ticket, end: float) -> None:
        """Say when the call will end: callers that a concurrency quota refuses are told to wait until then."""
        if any(charge.quota.unit == "concurrency" for charge in admission.charges):
            await self._state.set_expected_end(admission.session, admission.ticket, end)

    async def release(self, admission: Ticket, output_tokens: int | None, now: float) -> None:
        """The call is over; ``output_tokens`` were sent. ``None``: it was refused after all, and costs nothing."""
        if admission.slot is not None:
            self._slots.release(admission.slot, now)
        if admission.charges:
            true = {} if output_tokens is None else _cost(admission.prompt_tokens, output_tokens)
            true["concurrency"] = 0
            costs = [true.get(charge.quota.unit, 0) for charge in admission.charges]
            await self._state.settle(admission.session, admission.ticket, costs, now)

    def _charge(self, call: InferenceCall, principal: str) -> Sequence[Charge]:
        quotas = (*self._select(call.deployment.vendor, call.deployment.name, principal), *call.quotas)
        if not quotas:
            return ()
        prompt = sum(call.prompt_tokens)
        costs, least = _cost(prompt, reserve_output(call)), {**_cost(prompt, 0), "concurrency": 0}
        return [Charge(q, _scope(q, call, principal), costs[q.unit], least[q.unit]) for q in quotas]


def reserve_output(call: InferenceCall) -> int:
    """Tokens an answer may come to: as many as the request allows, else the deployment's default.

    A request that leaves an answer all the room its deployment has is taken to set no limit.
    """
    ask = call.request
    if isinstance(ask, EmbeddingRequest):
        return 0
    deployment, sampling = call.deployment, ask.sampling
    prompt_tokens = max(call.prompt_tokens, default=0)
    most = sampling.max_tokens
    if most is None or most >= deployment.room_for(prompt_tokens):
        most = deployment.usual_output(prompt_tokens)
    prompts = len(ask.prompts) if isinstance(ask, CompletionRequest) else 1
    return most * sampling.n * prompts


def _scope(quota: Quota, call: InferenceCall, principal: str) -> str:
    if quota.per == "principal":
        return principal
    return f"{call.deployment.vendor}/{call.deployment.name}" if quota.per == "deployment" else ""


def _cost(prompt: int, output: int) -> dict[Unit, int]:
    """What a running call takes, by unit."""
    return {
        "requests": 1,
        "input_tokens": prompt,
        "output_tokens": output,
        "tokens": prompt + output,
        "concurrency": 1,
    }


def _check(admission: Ticket, call: InferenceCall) -> None:
    """Refuse in the name of the quota that takes longest to come back."""
    bill = zip(admission.balances, admission.charges, strict=True)
    refusing = [(balance.wait, balance, charge) for balance, charge in bill if balance.wait is not None]
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
