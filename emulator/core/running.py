"""Answers on their way, which another request may stop."""

import asyncio
from collections.abc import Callable, Collection


class Running:
    """Calls that are being answered, by the names under which they may be stopped; of equal names the latest counts."""

    def __init__(self) -> None:
        self._stops: dict[tuple[str, str], Callable[[], None]] = {}
        self._ended: list[asyncio.Event] = []

    def enter(self, session: str, names: Collection[str], stop: Callable[[], None]) -> None:
        """The answer to a call begins to go out; ``stop`` ends it."""
        for name in names:
            self._stops[session, name] = stop

    def leave(self, session: str, names: Collection[str], stop: Callable[[], None]) -> None:
        """It is over."""
        for name in names:
            if self._stops.get((session, name)) is stop:
                del self._stops[session, name]
        for ended in self._ended:
            ended.set()

    def stop(self, session: str, name: str) -> bool:
        """End an answer with what it has said so far; false: none of that name is on its way."""
        stop = self._stops.get((session, name))
        if stop is None:
            return False
        stop()
        return True

    async def rest(self, session: str) -> None:
        """Return once no call of a session is being answered."""
        ended = asyncio.Event()
        self._ended.append(ended)
        try:
            while any(owner == session for owner, _ in self._stops):
                ended.clear()
                await ended.wait()
        finally:
            self._ended.remove(ended)
