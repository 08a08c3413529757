"""Interface of the message bus by which a cluster's replicas exchange changes and journal records.

``storage/ipc.py`` implements it between workers, ``storage/redis/bus.py`` on a Redis server.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON

MAX_READ = 500
"""Maximum records per session that ``read`` returns; fewer means that there are no more."""

REPLY_TIMEOUT = 0.3  # real seconds


@fast_dataclass(frozen=True, slots=True)
class PendingChange:
    """Change that was posted to all replicas and awaits their replies.

    Fields:
        number: rises with every change; all replicas receive changes in this order.
        replicas: live replicas, which will reply.
    """

    number: int
    replicas: frozenset[str]


@fast_dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Snapshot of a session's scenario that a joining replica needs; ``version``: the last change it includes."""

    version: int
    document: JSON


class ClusterBus(Protocol):
    """Ordered broadcast of changes between replicas, with their replies, snapshots and shared journal.

    Every method may raise :class:`emulator.core.storage.StoreLostError`.
    """

    @property
    def outlives(self) -> bool:
        """Whether the bus keeps data after this process ends, so that records must be appended without delay."""

    @property
    def replica(self) -> str:
        """Name of this replica."""

    def now(self) -> float:
        """Return Unix seconds by the clock that all replicas share."""

    async def join(self, *, again: bool = False) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        """Start to receive changes; return the store's id, which changes when it loses its data, and snapshots.

        Snapshots are by session; the first replica to join gets none. ``again``: this replica rejoins, and gets the
        snapshots in any case.
        """

    async def post(self, change: JSON) -> PendingChange:
        """Broadcast a change that leaves all snapshots as they are."""

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        """Broadcast a change and store the new snapshot; return ``None`` if another change came first.

        Args:
            document: new snapshot; ``None`` deletes it.
            before: version that the change is based on; 0: none.
        """

    async def receive(self) -> tuple[int, JSON] | None:
        """Return number and content of the next change, or ``None`` after a while without one."""

    async def reply(self, number: int, reply: JSON) -> None:
        """Send this replica's reply to a change."""

    async def gather_replies(
        self, posted: PendingChange, timeout: float, silent: frozenset[str] = frozenset()
    ) -> Mapping[str, JSON]:
        """Return the replies by replica that arrive within ``timeout`` real seconds.

        Args:
            silent: replicas that missed earlier replies; after all others replied, the wait for them is limited to
                ``REPLY_TIMEOUT``.
        """

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        """Append records to a session's journal, which keeps the latest ``most``; return the first one's number.

        Args:
            batch: unique name of these records within this process. The latest batch is appended only once, so a
                caller that lost the result may repeat the command.
        """

    async def read(self, after: int) -> Sequence[tuple[int, bytes]]:
        """Return the records of all sessions after a number, in order; at most ``MAX_READ`` per session."""

    async def clear(self, session: str | None, until: int | None) -> None:
        """Delete one session's journal, or all; records with numbers above ``until`` stay."""
