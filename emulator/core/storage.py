"""What replicas must agree on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from emulator.core.bus import ClusterBus
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level

ATTEMPTS = "attempt"
"""The scope of counters that say how often equal requests came, by their identity."""


class StoreLostError(Exception):
    """The store does not answer."""


class IsolatedReplicaError(StoreLostError):
    """The store's clock and this machine's are too far apart to count by."""


class DocumentsError(Exception):
    """Documents were found where none was expected; nothing was counted or charged."""


@dataclass(slots=True)
class Health:
    """Of a store that may be away.

    Fields:
        losses: how often it went.
        skew: seconds by which this machine's clock is ahead of the store's.
    """

    up: bool = True
    losses: int = 0
    skew: float = 0.0


class Store(Protocol):
    """Where states are kept, each a world of its own; every process that reaches the same store shares them."""

    @property
    def counts_for_all(self) -> bool:
        """Its counters, quotas and documents are those of every process that answers as one with this one."""

    @property
    def bus(self) -> ClusterBus | None:
        """Where the processes that share it tell one another of changes; ``None``: there is but one."""

    @property
    def health(self) -> Health | None:
        """``None``: it is this process's own memory, which is never away."""

    def open(self, world: str) -> "State":
        """What there is of a world; in the memory of a process that is nothing."""

    async def start_namespace(self, world: str, now: float) -> float:
        """When a world began, Unix seconds: the first that asks says it.

        Raises:
            StoreLostError: it cannot be reached, or its clock is far from this process's.
        """

    async def heartbeat(self) -> bool:
        """Say, every few seconds, that this process lives; take back what those held that have died; compare clocks.

        False if the store has lost what it held, and all begins anew.

        Raises:
            StoreLostError: it cannot be reached.
            ApartError: its clock is far from this process's.
        """

    async def release(self) -> None:
        """Give back what leads nowhere since it went away; it is reached anew."""

    async def close(self) -> None:
        """Give back what it takes to reach it."""


class State(Protocol):
    """Counters, quotas and documents shared by every process that answers as one.

    Every method is atomic. The caller brings the time, in seconds since the scenario began: that is when the first
    fixed window opens.
    """

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        """Add one to a counter and return what it was before.

        Args:
            bare: a shelf on which no document is expected; so the caller need not fetch it first.

        Raises:
            DocumentsError: there is one.
        """

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        """Make every charge, or none if there is not enough for one; a balance for each says so.

        ``ticket`` names them until they are settled, and is never used twice.
        """

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        """``count``, then ``spend``, in one question.

        Raises:
            DocumentsError: as ``count`` does.
        """

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        """Say when a call will end: whoever is refused its place is told to wait until then.

        A store may still be about to hear of it; it hears all that this process says in order.
        """

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        """Put the true costs, in the order of the charges, in place of what was spent; a place is given up.

        What is too much comes back at once, to the window it was taken from if that is not over; of a bucket, as far
        as it is not full. A ticket that a reset has made forget is let be. A store hears of it as of ``expect``.
        """

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        """How every share stands that was ever asked for, in the order in which they were."""

    async def fetch(self, session: str, shelf: str) -> Mapping[str, JSON]:
        """Every document of a shelf by its key, as they are now; nobody changes one."""

    async def store(self, session: str, shelf: str, key: str, document: JSON, before: JSON) -> bool:
        """Put a document in the place of ``before``, or nothing and false if that is no longer there.

        ``None`` in either place: there is none.
        """

    async def reset(self, session: str | None = None) -> None:
        """Forget one session's counters, quotas and documents, or all."""

    def retire(self) -> None:
        """Nothing is at work in it any more: calls that are still under way leave nothing behind where it was kept."""


@runtime_checkable
class LocalState(State, Protocol):
    """One in the memory of this process: it answers without waiting, too."""

    def peek(self, session: str, scope: str, key: bytes) -> int:
        """A counter, left as it is."""

    def count_now(self, session: str, scope: str, key: bytes) -> int:
        """As ``count``."""

    def fetch_now(self, session: str, shelf: str) -> Mapping[str, JSON]:
        """As ``fetch``."""
