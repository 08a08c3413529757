"""Waiting for what the journal has not yet: nobody looks again before something came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from emulator.journal.record import JournalItem
from emulator.runtime.runtime import Runtime

_EVERY = 0.05  # real seconds between two questions for what others have answered


class JournalWatcher:
    """Calls that come, and calls that change afterwards, while it is open.

    ``hear`` is told of each of them; it must not wait.
    """

    def __init__(self, runtime: Runtime, hear: Callable[[JournalItem], None] | None = None) -> None:
        self._journal = runtime.journal
        self._closing = runtime.closing
        self._controller = runtime.controller
        self._hear = hear
        self._came = asyncio.Event()

    def __enter__(self) -> Self:
        self._journal.watchers.append(self._wake)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._journal.watchers.remove(self._wake)

    def _wake(self, call: JournalItem) -> None:
        if self._hear is not None:
            self._hear(call)
        self._came.set()

    @property
    def over(self) -> bool:
        """The server closes; nobody may wait."""
        return self._closing.is_set()

    async def wait(self, seconds: float) -> bool:
        """Until something came since the last time, so many real seconds at most, or until the server closes."""
        if not self._controller.is_shared:
            return await self._wait(seconds)
        ends = time.monotonic() + seconds
        came = False
        while not came and not self.over:
            await self._controller.catch_up()
            left = ends - time.monotonic()
            came = await self._wait(min(left, _EVERY))
            if left <= 0:
                break
        return came

    async def _wait(self, seconds: float) -> bool:
        if seconds > 0 and not self._came.is_set() and not self.over:
            waiting = [asyncio.ensure_future(self._came.wait()), asyncio.ensure_future(self._closing.wait())]
            try:
                await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for waiter in waiting:
                    waiter.cancel()
        came = self._came.is_set()
        self._came.clear()
        return came
