"""Wait for new or changed journal records without polling; for lists with ``wait``, verifications and events."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from emulator.journal.entry import JournalItem
from emulator.runtime.runtime import Runtime

_CATCH_UP_INTERVAL = 0.05  # real seconds between two reads of the records of other replicas


class JournalWatcher:
    """Subscription to the journal while the context is open.

    ``on_record`` is called with each new or changed record; it must not block.
    """

    def __init__(self, runtime: Runtime, on_record: Callable[[JournalItem], None] | None = None) -> None:
        self._journal = runtime.journal
        self._closing = runtime.closing
        self._controller = runtime.controller
        self._on_record = on_record
        self._new = asyncio.Event()

    def __enter__(self) -> Self:
        self._journal.watchers.append(self._wake)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._journal.watchers.remove(self._wake)

    def _wake(self, call: JournalItem) -> None:
        if self._on_record is not None:
            self._on_record(call)
        self._new.set()

    @property
    def over(self) -> bool:
        """Return whether the server is shutting down, which ends every wait at once."""
        return self._closing.is_set()

    async def wait(self, seconds: float) -> bool:
        """Return true once a record is added or changed; false after a timeout in real seconds, or at shutdown."""
        if not self._controller.is_shared:
            return await self._wait(seconds)
        ends = time.monotonic() + seconds
        is_new = False
        while not is_new and not self.over:
            await self._controller.catch_up()
            left = ends - time.monotonic()
            is_new = await self._wait(min(left, _CATCH_UP_INTERVAL))
            if left <= 0:
                break
        return is_new

    async def _wait(self, seconds: float) -> bool:
        if seconds > 0 and not self._new.is_set() and not self.over:
            waiting = [asyncio.ensure_future(self._new.wait()), asyncio.ensure_future(self._closing.wait())]
            try:
                await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for waiter in waiting:
                    waiter.cancel()
        is_new = self._new.is_set()
        self._new.clear()
        return is_new
