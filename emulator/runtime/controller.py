"""Changing what is at work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from emulator.control.target import SessionRecord, Teller
from emulator.core.clock import Clock
from emulator.core.json import JSON
from emulator.runtime.active import ActiveScenario
from emulator.runtime.factory import make_clock
from emulator.runtime.sessions import SessionCapacity, estimate_size, require_capacity
from emulator.scenario.models import Clock as WantedClock
from emulator.scenario.parsed import ParsedScenario


class _Sessions(SessionCapacity, Iterable[SessionRecord], Protocol):
    """Those that exist, and whether there can be more."""


class ControlledRuntime(Protocol):
    """What is at work in this process, as :class:`emulator.runtime.runtime.Runtime` has it."""

    @property
    def reporters(self) -> Mapping[str, Teller]: ...

    @property
    def sessions(self) -> _Sessions: ...

    def for_session(self, session: str) -> ActiveScenario: ...

    def find(self, session: str) -> ActiveScenario: ...

    def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None: ...

    def reset(self) -> None: ...

    def reset_session(self, session: str) -> None: ...

    def advance(self, seconds: float, session: str = "") -> None: ...

    def change_clock(self, clock: Clock, session: str = "") -> None: ...

    def end_session(self, session: str) -> bool: ...


class LocalController:
    """Changes what this process does; there is nobody to tell."""

    is_shared = False
    counts_for_all = True

    def __init__(self, runtime: ControlledRuntime) -> None:
        self._runtime = runtime

    def _admit(self, session: str, loaded: ParsedScenario | None = None) -> None:
        """Refuse a scenario or clock of its own to a session where there is no room.

        Raises:
            ProblemError: 429.
        """
        if session:
            require_capacity(
                self._runtime.sessions, session, estimate_size(loaded or self._runtime.find(session).loaded)
            )

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        self._admit(session, loaded)
        self._runtime.put(loaded, session, seed)

    async def reset(self, session: str = "") -> None:
        if session:
            self._admit(session)
            self._runtime.reset_session(session)
        else:
            self._runtime.reset()

    async def advance(self, seconds: float, session: str = "") -> None:
        self._admit(session)
        self._runtime.advance(seconds, session)

    async def change_clock(self, wanted: WantedClock, session: str = "") -> None:
        self._admit(session)
        now = self._runtime.for_session(session).emulator.clock.now()
        self._runtime.change_clock(make_clock(wanted, now), session)

    async def end_session(self, session: str) -> bool:
        return self._runtime.end_session(session)

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        return {"": await self.report(what, about)}

    async def catch_up(self) -> None:
        """All calls are in the journal of this process anyway."""

    async def report(self, what: str, about: JSON) -> JSON:
        """What this process alone knows."""
        return await self._runtime.reporters[what](about)


async def list_sessions(runtime: ControlledRuntime) -> JSON:
    """Those that exist here, as the control plane shows them."""
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
