"""Interface of the store for state that replicas share: counters, quotas and documents.

The package ``storage`` implements it, in memory, between workers and in Redis.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from emulator.core.bus import ClusterBus
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level, Quota, Shares

ATTEMPTS = "attempt"
"""Scope of the counters of equal requests, keyed by fingerprint."""


class StoreLostError(Exception):
    """The store is unreachable."""


class IsolatedReplicaError(StoreLostError):
    """The clocks of the store and of this machine differ too much to share quotas."""


class DocumentsError(Exception):
    """A collection assumed empty has documents; nothing was counted or charged."""


@fast_dataclass(slots=True)
class StoreHealth:
    """Connection state of a remote store.

    Fields:
        losses: number of times the connection was lost.
        skew: seconds by which this machine's clock is ahead of the store's.
    """

    up: bool = True
    losses: int = 0
    skew: float = 0.0


class Store(Protocol):
    """Storage backend with one state per namespace; processes that use the same backend share the states."""

    @property
    def counts_for_all(self) -> bool:
        """Whether every replica of the cluster shares the counters, quotas and documents."""

    @property
    def bus(self) -> ClusterBus | None:
        """Message bus of the replicas that share the store; ``None``: a single process uses it."""

    @property
    def health(self) -> StoreHealth | None:
        """Connection state; ``None`` for a store in the memory of this process."""

    def open(self, namespace: str) -> "State":
        """Return the state of a namespace; a store in memory returns a new, empty state."""

    async def start_namespace(self, namespace: str, now: float) -> float:
        """Return the start time of a namespace, Unix seconds; the first caller sets it to ``now``.

        Raises:
            StoreLostError: the store is unreachable, or its clock differs too much.
        """

    async def heartbeat(self) -> bool:
        """Renew this process's lease, release what dead replicas held, and compare clocks; call every few seconds.

        Returns ``False`` if the store has lost its data.

        Raises:
            StoreLostError: the store is unreachable.
            IsolatedReplicaError: its clock differs too much from this process's.
        """

    async def release(self) -> None:
        """Close broken connections; the next command opens new ones."""

    async def close(self) -> None:
        """Close all connections."""


class State(Protocol):
    """Counters, quotas and documents of one namespace, shared by all replicas.

    Every method is atomic. ``now`` is in seconds since the start of the scenario, when the first fixed window opens.
    """

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        """Increment a counter and return its value before.

        Args:
            bare: collection assumed to be empty, which saves the caller from fetching it first.

        Raises:
            DocumentsError: the collection has documents.
        """

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        """Make every charge, or none if any quota is insufficient; return a balance per charge.

        ``ticket`` identifies the charges until they are settled, and is never used twice.
        """

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        """Run ``count``, then ``spend``, in one round trip.

        Raises:
            DocumentsError: as ``count`` does.
        """

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        """Set when a call is expected to end, for the ``wait`` of calls that a concurrency quota refuses.

        A remote store may apply it later, in the order of this process's commands.
        """

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        """Replace the charges of a ticket by the true costs, in the order of the charges, and free its slots.

        An excess returns at once: to its window unless that has ended, to a bucket up to its capacity. A ticket that
        a reset has dropped is ignored. A remote store may apply it later, as with ``set_expected_end``.
        """

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        """Return the level of every quota share used so far, in the order of first use."""

    async def fetch(self, session: str, collection: str) -> Mapping[str, JSON]:
        """Return the current documents of a collection by key; callers must not modify them."""

    async def store(self, session: str, collection: str, key: str, document: JSON, before: JSON) -> bool:
        """Replace the document ``before`` by ``document``; return ``False`` if the stored one is not ``before``.

        ``None`` means no document: as ``before`` it creates, as ``document`` it deletes.
        """

    async def reset(self, session: str | None = None) -> None:
        """Delete the counters, quotas and documents of one session, or of all."""

    def retire(self) -> None:
        """Detach from the namespace; calls that are still running no longer write to it."""


class Account(Protocol):
    """Charges to one share of a quota, in the memory of this process.

    A ticket identifies the charges of one call; any object will do.

    Fields:
        amount: that of the quota.
    """

    quota: Quota
    amount: int

    @property
    def used(self) -> float:
        """Return the units that were not available after the last charge; time only returns some of them."""

    def left(self, now: float) -> int:
        """Return the whole units available now; never negative."""

    def wait(self, cost: int, now: float) -> float | None:
        """Return the seconds until ``cost`` units are available without further charges; ``None``: now.

        A cost above the quota's amount is never available; the wait is then one window.
        """

    def take(self, ticket: Hashable, cost: int, now: float) -> int:
        """Charge ``cost`` units, also if they are not available; return the units left."""

    def set_expected_end(self, ticket: Hashable, end: float) -> None:
        """Set when the call of a ticket is expected to end."""

    def settle(self, ticket: Hashable, taken: int, cost: int, at: float, now: float) -> None:
        """Replace a charge of ``taken`` units, made at time ``at``, by one of ``cost``."""


ChargedAccount = tuple[Account, int]
"""Account, and the position of its units in the costs of a call."""


@runtime_checkable
class LocalState(State, Protocol):
    """State in the memory of this process, with synchronous methods as well."""

    def count_now(self, session: str, scope: str, key: bytes) -> int:
        """Increment a counter and return its value before."""

    def open_accounts(self, session: str, shares: Shares) -> Sequence[ChargedAccount]:
        """Return the account of each share, to charge one call; a share that was not used yet gets a new one."""

    def fetch_now(self, session: str, collection: str) -> Mapping[str, JSON]:
        """Return the current documents of a collection by key."""
