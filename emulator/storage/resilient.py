"""A shared store that may be away: calls are refused meanwhile, or counted by this process alone."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeVar

from emulator.core.bus import ClusterBus
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.quota import Balance, Charge, Level
from emulator.core.storage import Health, IsolatedReplicaError, State, Store, StoreLostError
from emulator.storage.memory import MemoryState

T = TypeVar("T")
Loss = Literal["refuse", "local"]
log = logging.getLogger("emulator")


class ResilientStore:
    """A store, and what takes its place while it is away.

    ``isolated``: why it is not asked although it answers; its clock and this machine's are far from one another.
    """

    def __init__(self, store: Store, loss: Loss) -> None:
        self._store = store
        self.loss = loss
        self.health = store.health or Health()
        self.isolated = ""

    @property
    def counts_for_all(self) -> bool:
        return self._store.counts_for_all

    @property
    def bus(self) -> ClusterBus | None:
        return self._store.bus

    def open(self, world: str) -> ResilientState:
        return ResilientState(self, self._store.open(world))

    async def start_namespace(self, world: str, now: float) -> float:
        return await self._store.start_namespace(world, now)

    async def heartbeat(self) -> bool:
        try:
            known = await self._store.heartbeat()
        except StoreLostError as error:
            self.isolated = str(error) if isinstance(error, IsolatedReplicaError) else ""
            await self.miss(error)
            return True
        self.isolated = ""
        self.find()
        if not known:
            log.warning("the store came back empty: counters and quotas begin anew")
        return known

    async def release(self) -> None:
        await self._store.release()

    async def close(self) -> None:
        await self._store.close()

    async def miss(self, error: StoreLostError) -> None:
        """Say once that the store is away."""
        if self.health.up:
            self.health.losses += 1
            what = "calls are refused" if self.loss == "refuse" else "this process counts alone"
            if isinstance(error, IsolatedReplicaError):
                log.error("the store cannot be counted by, %s until it can: %s", what, error)
            else:
                log.error("the store does not answer, %s until it does: %s", what, error)
            self.health.up = False
            await self._store.release()

    def find(self) -> None:
        """Say once that it is back."""
        if not self.health.up:
            log.warning("the store answers again")
        self.health.up = True


class ResilientState:
    """One world of it."""

    def __init__(self, guard: ResilientStore, state: State) -> None:
        self._guard = guard
        self._state = state
        self._local = MemoryState()
        self._retired = False

    async def count(self, session: str, scope: str, key: bytes, bare: str = "") -> int:
        return await self._ask(lambda state: state.count(session, scope, key, bare))

    async def spend(self, session: str, ticket: bytes, charges: Sequence[Charge], now: float) -> tuple[Balance, ...]:
        return await self._ask(lambda state: state.spend(session, ticket, charges, now))

    async def admit(
        self, session: str, scope: str, key: bytes, ticket: bytes, charges: Sequence[Charge], now: float, bare: str = ""
    ) -> tuple[int, tuple[Balance, ...]]:
        return await self._ask(lambda state: state.admit(session, scope, key, ticket, charges, now, bare))

    async def levels(self, session: str, now: float) -> Sequence[Level]:
        return await self._ask(lambda state: state.levels(session, now), is_look=True)

    async def fetch(self, session: str, shelf: str) -> Mapping[str, JSON]:
        return await self._ask(lambda state: state.fetch(session, shelf), is_look=True)

    async def store(self, session: str, shelf: str, key: str, document: JSON, before: JSON) -> bool:
        return await self._ask(lambda state: state.store(session, shelf, key, document, before))

    async def set_expected_end(self, session: str, ticket: bytes, end: float) -> None:
        await self._tell(lambda state: state.set_expected_end(session, ticket, end))

    async def settle(self, session: str, ticket: bytes, costs: Sequence[int], now: float) -> None:
        await self._tell(lambda state: state.settle(session, ticket, costs, now))

    async def reset(self, session: str | None = None) -> None:
        await self._tell(lambda state: state.reset(session))

    def retire(self) -> None:
        self._retired = True

    async def _ask(self, question: Callable[[State], Awaitable[T]], *, is_look: bool = False) -> T:
        """The store's answer, or while it is away or nothing is at work here any more this process's own.

        Args:
            is_look: an answer does not say that the store is back; one that is full or read only gives it, too.

        Raises:
            EmulatedError: ``NOT_READY``: it is away, and calls are refused meanwhile.
        """
        if self._retired:
            return await question(self._local)
        try:
            if self._guard.isolated:
                raise IsolatedReplicaError(self._guard.isolated)
            answer = await question(self._state)
        except StoreLostError as error:
            await self._guard.miss(error)
            if self._guard.loss == "refuse":
                raise EmulatedError(ErrorKind.NOT_READY) from None
            return await question(self._local)
        if not (is_look or self._guard.health.up):
            self._guard.find()
        return answer

    async def _tell(self, news: Callable[[State], Awaitable[None]]) -> None:
        """What is told both: a call may have been let in by either. A store that is away finds out by its lease."""
        await news(self._local)
        try:
            await news(self._state)
        except StoreLostError as error:
            await self._guard.miss(error)
