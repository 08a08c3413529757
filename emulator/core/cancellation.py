"""Answers on their way, which another request may stop."""

import asyncio
from collections.abc import Callable, Collection

from emulator.core.dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True, eq=False)
class CancellableResponse:
    """One answer on its way.

    Fields:
        stop: ends it with what it has said so far; ``None``: it takes no notice.
        cut: ends its connection.
    """

    stop: Callable[[], None] | None
    cut: Callable[[], object]


class RunningResponses:
    """Calls that are being answered, by the names under which they may be stopped; of equal names the latest counts."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, str], CancellableResponse] = {}
        self._sessions: dict[CancellableResponse, str] = {}
        self._ended: list[asyncio.Event] = []

    def enter(self, session: str, names: Collection[str], answering: CancellableResponse) -> None:
        """The answer to a call begins to go out."""
        self._sessions[answering] = session
        for name in names:
            self._named[session, name] = answering

    def leave(self, session: str, names: Collection[str], answering: CancellableResponse) -> None:
        """It is over."""
        del self._sessions[answering]
        for name in names:
            if self._named.get((session, name)) is answering:
                del self._named[session, name]
        for ended in self._ended:
            ended.set()

    def stop(self, session: str, name: str) -> bool:
        """End an answer with what it has said so far; false: none of that name is on its way."""
        found = self._named.get((session, name))
        if found is None or found.stop is None:
            return False
        found.stop()
        return True

    def stop_all(self, session: str) -> None:
        """End every answer of a session with what it has said so far."""
        for answering in self._of(session):
            if answering.stop is not None:
                answering.stop()

    def cut_all(self, session: str) -> None:
        """End the connection of every answer of a session."""
        for answering in self._of(session):
            answering.cut()

    async def rest(self, session: str) -> None:
        """Return once no call of a session is being answered."""
        ended = asyncio.Event()
        self._ended.append(ended)
        try:
            while self._of(session):
                ended.clear()
                await ended.wait()
        finally:
            self._ended.remove(ended)

    def _of(self, session: str) -> list[CancellableResponse]:
        return [answering for answering, owner in self._sessions.items() if owner == session]
