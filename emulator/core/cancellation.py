"""Registry of running responses that another request can end by an id, such as MindIE's ``/stopInfer``.

``handler/handler.py`` registers each call that has such an id; a vendor's route ends it.
"""

import asyncio
from collections.abc import Callable, Collection

from emulator.core.dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True, eq=False)
class CancellableResponse:
    """Callbacks to cancel one running response.

    Fields:
        stop: ends the response after the tokens sent so far; ``None``: not supported.
        cut: closes the connection.
    """

    stop: Callable[[], None] | None
    cut: Callable[[], object]


class RunningResponses:
    """Running responses by session and cancel id; of equal ids the latest response counts."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, str], CancellableResponse] = {}
        self._sessions: dict[CancellableResponse, str] = {}
        self._ended: list[asyncio.Event] = []

    def enter(self, session: str, names: Collection[str], answering: CancellableResponse) -> None:
        """Register a running response under its cancel ids."""
        self._sessions[answering] = session
        for name in names:
            self._named[session, name] = answering

    def leave(self, session: str, names: Collection[str], answering: CancellableResponse) -> None:
        """Remove a response that has ended."""
        del self._sessions[answering]
        for name in names:
            if self._named.get((session, name)) is answering:
                del self._named[session, name]
        for ended in self._ended:
            ended.set()

    def stop(self, session: str, name: str) -> bool:
        """End a response after the tokens sent so far; return ``False`` if no such response can be stopped."""
        found = self._named.get((session, name))
        if found is None or found.stop is None:
            return False
        found.stop()
        return True

    def stop_all(self, session: str) -> None:
        """End every response of a session after the tokens sent so far."""
        for answering in self._of(session):
            if answering.stop is not None:
                answering.stop()

    def cut_all(self, session: str) -> None:
        """Close the connection of every running response of a session."""
        for answering in self._of(session):
            answering.cut()

    async def wait_idle(self, session: str) -> None:
        """Wait until a session has no running response."""
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
