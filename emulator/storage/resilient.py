"""Wrapper of a remote store that may be unreachable: refuse calls, or fall back to the memory of this process.

``--state-loss`` chooses.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeVar

from emulator.core.bus import ClusterBus
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level
from emulator.core.storage import IsolatedReplicaError, State, Store, StoreHealth, StoreLostError
from emulator.storage.memory import MemoryState

T = TypeVar("T")
Loss = Literal["refuse", "local"]
log = logging.getLogger("emulator")


class ResilientStore:
    """Remote store with a failure policy.

    ``isolated``: reason not to use a reachable store, namely that its clock and this machine's differ too much.
    """

    def __init__(self, store: Store, loss: Loss) -> None:
        self._store = store
        self.loss = loss
        self.health = store.health or StoreHealth()
        self.isolated = ""

    @property
    def counts_for_all(self) -> bool:
        return self._store.counts_for_all

    @property
    def bus(self) -> ClusterBus | None:
        return self._store.bus

    def open(self, namespace: str) -> "ResilientState":
        return ResilientState(self, self._store.open(namespace))

    async def start_namespace(self, namespace: str, now: float) -> float:
        return await self._store.start_namespace(namespace, now)

    async def heartbeat(self) -> bool:
        try:
            known = await self._store.heartbeat()
        except StoreLostError as error:
            self.isolated = str(error) if isinstance(error, IsolatedReplicaError) else ""
            await self.mark_lost(error)
            return True
        self.isolated = ""
        self.mark_reached()
        if not known:
            log.warning("the store came back empty: counters and quotas begin anew")
        return known

    async def release(self) -> None:
        await self._store.release()

    async def close(self) -> None:
        await self._store.close()

    async def mark_lost(self, error: StoreLostError) -> None:
        """Mark the store as unreachable; log the first of consecutive failures and close its connections."""
        if self.health.up:
            self.health.losses += 1
            what = "calls are refused" if self.loss == "refuse" else "this process counts alone"
            if isinstance(error, IsolatedReplicaError):
                log.error("the store cannot be counted by, %s until it can: %s", what, error)
            else:
                log.error("the store does not answer, %s until it does: %s", what, error)
            self.health.up = False
            await self._store.release()

    def mark_reached(self) -> None:
        """Mark the store as reachable; log a recovery."""
        if not self.health.up:
            log.warning("the store answers again")
        self.health.up = True


class ResilientState:
    """State of a namespace in a :class:`ResilientStore`, with a local state to fall back to."""

    def __init__(self, store: ResilientStore, state: State) -> None:
        self._store = store
        self._state = state
        self._local = MemoryState()
        self._retired = False

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        return await self._run(lambda state: state.count(session, scope, key, bare))

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        return await self._run(lambda state: state.spend(session, ticket, charges, now))

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        return await self._run(lambda state: state.admit(session, scope, key, ticket, charges, now, bare))

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        return await self._run(lambda state: state.levels(session, now), is_read=True)

    async def fetch(self, session: str, collection: str) -> Mapping[str, JSON]:
        return await self._run(lambda state: state.fetch(session, collection), is_read=True)

    async def store(self, session: str, collection: str, key: str, document: JSON, before: JSON) -> bool:
        return await self._run(lambda state: state.store(session, collection, key, document, before))

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        await self._run_on_both(lambda state: state.set_expected_end(session, ticket, end))

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        await self._run_on_both(lambda state: state.settle(session, ticket, costs, now))

    async def reset(self, session: str | None = None) -> None:
        await self._run_on_both(lambda state: state.reset(session))

    def retire(self) -> None:
        self._retired = True

    async def _run(self, command: Callable[[State], Awaitable[T]], *, is_read: bool = False) -> T:
        """Run a command on the store; on the local state if that is unreachable or this state is retired.

        Args:
            is_read: success does not prove that the store has recovered, as a full or read-only one also answers.

        Raises:
            EmulatedError: ``NOT_READY``: the store is unreachable, and the policy is to refuse calls.
        """
        if self._retired:
            return await command(self._local)
        try:
            if self._store.isolated:
                raise IsolatedReplicaError(self._store.isolated)
            answer = await command(self._state)
        except StoreLostError as error:
            await self._store.mark_lost(error)
            if self._store.loss == "refuse":
                raise EmulatedError(ErrorKind.NOT_READY) from None
            return await command(self._local)
        if not (is_read or self._store.health.up):
            self._store.mark_reached()
        return answer

    async def _run_on_both(self, command: Callable[[State], Awaitable[None]]) -> None:
        """Run a command on both states, as either may have admitted the call.

        A store that is unreachable releases the call when this process's lease ends.
        """
        await command(self._local)
        try:
            await command(self._state)
        except StoreLostError as error:
            await self._store.mark_lost(error)
