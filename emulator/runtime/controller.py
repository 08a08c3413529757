"""Change the active scenario, its clock and its sessions, in this process or in every replica."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from emulator.core.json import JSON
from emulator.runtime.factory import make_clock
from emulator.runtime.sessions import estimate_size, require_capacity
from emulator.scenario.models import Clock as WantedClock
from emulator.scenario.parsed import ParsedScenario

if TYPE_CHECKING:
    from emulator.runtime.runtime import Runtime  # it holds a controller

Reporter = Callable[[JSON], Awaitable[JSON]]
"""Answers a question, as JSON, with what this process alone holds."""


class Controller(Protocol):
    """Commands that change the active scenario of the server (the empty session) or of a session.

    A command returns once the change holds in every process that shares the store. All but :meth:`catch_up` may raise
    :class:`emulator.core.storage.StoreLostError`.
    """

    @property
    def is_shared(self) -> bool:
        """Other processes serve the same clients; :meth:`catch_up` brings their requests to the journal."""

    @property
    def counts_for_all(self) -> bool:
        """Quotas and rule counters are those of all processes together."""

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        """Replace the active scenario.

        Raises:
            ScenarioError: the scenario does not fit; the one before stays active.
            ProblemError: 429, as there are too many sessions; 409, as the replicas disagree.
        """

    async def reset(self, session: str = "") -> None:
        """Restart the active scenario with empty counters, quotas and journal."""

    async def advance(self, seconds: float, session: str = "") -> None:
        """Move the clock forward."""

    async def change_clock(self, wanted: WantedClock, session: str = "") -> None:
        """Replace the clock; the time goes on from where it is."""

    async def end_session(self, session: str) -> bool:
        """Delete a session; return false if it does not exist."""

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        """Return what the reporter ``what`` of each process answers, by the name of the process."""

    async def catch_up(self) -> None:
        """Read into the journal the requests that other processes have served until now."""


class LocalController:
    """Controller of a single process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def counts_for_all(self) -> bool:
        return True

    def _validate_capacity(self, session: str, loaded: ParsedScenario | None = None) -> None:
        """Raise if the limits of sessions leave no room for a scenario or clock of this session.

        Raises:
            ProblemError: 429.
        """
        if session:
            size = estimate_size(loaded or self._runtime.find(session).loaded)
            require_capacity(self._runtime.sessions, session, size)

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        self._validate_capacity(session, loaded)
        self._runtime.put(loaded, session, seed)

    async def reset(self, session: str = "") -> None:
        if session:
            self._validate_capacity(session)
            self._runtime.reset_session(session)
        else:
            self._runtime.reset()

    async def advance(self, seconds: float, session: str = "") -> None:
        self._validate_capacity(session)
        self._runtime.advance(seconds, session)

    async def change_clock(self, wanted: WantedClock, session: str = "") -> None:
        self._validate_capacity(session)
        now = self._runtime.for_session(session).emulator.clock.now()
        self._runtime.change_clock(make_clock(wanted, now), session)

    async def end_session(self, session: str) -> bool:
        return self._runtime.end_session(session)

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        return {"": await self.report(what, about)}

    async def catch_up(self) -> None:
        """Do nothing: the journal of this process has every request."""

    async def report(self, what: str, about: JSON) -> JSON:
        """Return what the reporter ``what`` of this process answers."""
        return await self._runtime.reporters[what](about)


async def list_sessions(runtime: Runtime) -> JSON:
    """Return the sessions of this process as rows of ``GET /_emulator/sessions``."""
    now = time.monotonic()
    return [
        {
            "name": session.name,
            "scenario": runtime.find(session.name).loaded.scenario.name,
            "calls": session.calls,
            "idle_seconds": round(now - session.used, 3),
        }
        for session in runtime.sessions
    ]
