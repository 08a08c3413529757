"""Keep documents of sessions, such as stored responses and changed endpoints, in memory, up to a total size.

``StorageLimits`` has the maxima of every kind of store.
"""

import sys
from collections import OrderedDict
from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.executor import run_in_thread
from emulator.core.json import JSON


@fast_dataclass(frozen=True, slots=True)
class StorageLimits:
    """Storage limits of one namespace.

    Evicted first are the counters unused longest, the shares opened first, and the documents written longest ago.

    Fields:
        counters: maximum of all sessions together; a session above its equal share evicts its own.
        accounts: quota shares of one session, which clients can create by the principals they send.
        documents: bytes of all sessions together.
        sessions: maximum in a shared store; each process has a limit of its own for its sessions.
    """

    counters: int = 50_000
    accounts: int = 20_000
    documents: int = 32 * 1024**2
    sessions: int = 20_000


DEFAULT_LIMITS = StorageLimits()


_MAX_INLINE_VALUES = 10_000  # of a document that is measured on the event loop
_VALUE_SIZE = 64  # bytes of a value with its slot in the container
_NONE: Mapping[str, JSON] = {}
DocumentKey = tuple[str, str, str]
"""Session, collection and key."""


class DocumentStore:
    """Documents by session and collection; beyond a maximum size the documents written longest ago are evicted."""

    def __init__(self, max_size: int = DEFAULT_LIMITS.documents) -> None:
        self._free = max_size
        self._collections: dict[tuple[str, str], Mapping[str, JSON]] = {}
        self._sizes: OrderedDict[DocumentKey, int] = OrderedDict()

    def fetch(self, session: str, collection: str) -> Mapping[str, JSON]:
        """Return the documents of a collection by key; callers must not modify them."""
        return self._collections.get((session, collection), _NONE) if self._collections else _NONE

    async def store(self, session: str, collection: str, key: str, document: JSON, before: JSON) -> bool:
        """Implement :meth:`emulator.core.storage.State.store`."""
        size = 0 if document is None else estimate_size(document, _MAX_INLINE_VALUES)
        if size is None:
            size = await run_in_thread(estimate_size, document) or 0
        found = self.fetch(session, collection)
        if found.get(key) != before:
            return False
        self._put(
            session, collection, {name: value for name, value in {**found, key: document}.items() if value is not None}
        )
        self._free += self._sizes.pop((session, collection, key), 0) - size
        if document is not None:
            self._sizes[session, collection, key] = size
        while self._free < 0:
            self._evict(next(iter(self._sizes)))
        return True

    def reset(self, session: str | None = None) -> None:
        """Delete the documents of one session, or all."""
        for name in [name for name in self._sizes if session is None or name[0] == session]:
            self._free += self._sizes.pop(name)
        for place in [place for place in self._collections if session is None or place[0] == session]:
            del self._collections[place]

    def _evict(self, name: DocumentKey) -> None:
        session, collection, key = name
        self._free += self._sizes.pop(name)
        kept = {other: value for other, value in self.fetch(session, collection).items() if other != key}
        self._put(session, collection, kept)

    def _put(self, session: str, collection: str, documents: Mapping[str, JSON]) -> None:
        if documents:
            self._collections[session, collection] = documents
        else:
            self._collections.pop((session, collection), None)


def estimate_size(document: JSON, max_values: int | None = None) -> int | None:
    """Estimate the bytes of a document in memory; return ``None`` if it has more than ``max_values`` values."""
    size, waiting = 0, [document]
    count = 0
    while waiting:
        value = waiting.pop()
        count += 1
        size += _VALUE_SIZE
        if max_values is not None and count + len(waiting) > max_values:
            return None
        if isinstance(value, str):
            size += sys.getsizeof(value)
        elif isinstance(value, Mapping):
            size += sum(map(sys.getsizeof, value))
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return size
