"""What replicas tell one another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from emulator.core.json import JSON

MOST_READ = 500
"""Calls of a session in one answer to ``read``; an answer of fewer calls has all that there were."""

REPLY_TIMEOUT = 0.3  # real seconds


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that is under way to all.

    Fields:
        number: rises with every change; all replicas hear of them in this order.
        replicas: those that live, and will reply.
    """

    number: int
    replicas: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """How a world stands by the latest change of it, as one that joins has to know it; ``version``: that change."""

    version: int
    document: JSON


class ClusterBus(Protocol):
    """Where replicas tell one another of changes, and each what it made of them.

    All may raise :class:`emulator.core.storage.StoreLostError`.
    """

    @property
    def outlives(self) -> bool:
        """What it keeps may be wanted by others when this process is gone; else it is told once somebody asks."""

    @property
    def replica(self) -> str:
        """What this process is called among them."""

    def now(self) -> float:
        """Unix seconds, the same for all however their own clocks differ."""

    async def join(self, *, again: bool = False) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        """Hear of all that comes from now on; what this store is called until it loses all, and each session's world.

        The first of several to enter finds no worlds; ``again``: it has been there before, and wants to find them.
        """

    async def post(self, change: JSON) -> PendingChange:
        """Tell all of a change that leaves every world as it is."""

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        """Tell all of a change of a world, and keep how it stands then; ``None``: another came before it.

        Args:
            document: ``None``: the world is no more.
            before: the version that was changed; 0: there was none.
        """

    async def receive(self) -> tuple[int, JSON] | None:
        """The next change, after a while; ``None``: none has come."""

    async def reply(self, number: int, reply: JSON) -> None:
        """Say what became of a change here."""

    async def gather_replies(
        self, posted: PendingChange, patience: float, silent: frozenset[str] = frozenset()
    ) -> Mapping[str, JSON]:
        """What each replica said of a change, of those that did within so many real seconds.

        Args:
            silent: of whom little is hoped; once the others have replied they are waited for a ``REPLY_TIMEOUT``.
        """

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        """Enter calls at the end of a session's journal, which keeps the latest ``most``; the number of the first.

        Args:
            batch: a name for them among those that this process enters. The latest is not entered again: whoever
                lost the answer asks once more.
        """

    async def read(self, after: int) -> Sequence[tuple[int, bytes]]:
        """Calls of all sessions that came after one, in order; of a session no more than ``MOST_READ``."""

    async def clear(self, session: str | None, until: int | None) -> None:
        """Forget one session's journal, or all; calls with higher numbers than ``until`` stay."""
