"""What the control plane asks of the server around it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

from emulator.core.json import JSON
from emulator.core.storage import Store
from emulator.core.vendor import AnyService
from emulator.handler.planning import Emulator
from emulator.journal.journal import Journal
from emulator.observability.metrics import MetricsSource
from emulator.observability.timing import TimingReport
from emulator.scenario.errors import Diagnostic
from emulator.scenario.models import Clock
from emulator.scenario.parsed import ParsedScenario

Teller = Callable[[JSON], Awaitable[JSON]]
Finding = tuple[Literal["error", "warning"], Diagnostic]


class Mounted(Protocol):
    """A vendor that is served."""

    @property
    def service(self) -> AnyService: ...


class Hints(Protocol):
    """Knows what may have been meant."""

    def explain_front(self, method: str, path: str) -> str:
        """By a path of the front that no vendor has; empty: nobody knows."""


class Active(Protocol):
    """The scenario at work."""

    @property
    def loaded(self) -> ParsedScenario: ...

    @property
    def emulator(self) -> Emulator: ...

    @property
    def apps(self) -> Mapping[str, Mounted]:
        """The vendors that are served, by name."""

    @property
    def hints(self) -> Hints: ...


class SessionRecord(Protocol):
    """A session that exists; ``used``: when it was last used, seconds by :func:`time.monotonic`."""

    @property
    def name(self) -> str: ...

    @property
    def used(self) -> float: ...

    @property
    def calls(self) -> int: ...


class SessionRecords(Iterable[SessionRecord], Protocol):
    """Those that exist."""

    @property
    def own(self) -> int:
        """How many have a scenario, clock or port of their own."""

    @property
    def forgotten(self) -> int:
        """How many of the others went because there were too many."""


class Steering(Protocol):
    """Changes what is at work; it returns once that holds for all who answer as one. The empty session is the server's.

    ``is_shared``: others answer as one with this process, and calls that they answer are in its journal once it has
    caught up. All but that may raise :class:`emulator.core.storage.StoreLostError`.
    """

    @property
    def is_shared(self) -> bool: ...

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        """Begin another scenario.

        Raises:
            ScenarioError: it does not fit; the one before goes on.
        """

    async def reset(self, session: str = "") -> None:
        """Begin its scenario again, with nothing of what was before."""

    async def advance(self, seconds: float, session: str = "") -> None:
        """Move its clock."""

    async def change_clock(self, wanted: Clock, session: str = "") -> None:
        """Let its time go another way."""

    async def end_session(self, session: str) -> bool:
        """Forget a session; false if there is none of the name."""

    @property
    def counts_for_all(self) -> bool:
        """Limits and what rules count are those of all."""

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        """What each of those who answer as one knows of it alone, by its name; a teller of the target says it."""

    async def catch_up(self) -> None:
        """Have in the journal what all have answered until now."""


class Target(Protocol):
    """What the control plane steers: one scenario is at work, and another can take its place.

    The empty session is the server's own.
    """

    @property
    def active(self) -> Active: ...

    @property
    def library(self) -> Mapping[str, ParsedScenario]: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def timing(self) -> TimingReport: ...

    @property
    def metrics(self) -> Mapping[str, MetricsSource]: ...

    @property
    def store(self) -> Store: ...

    @property
    def closing(self) -> asyncio.Event:
        """Set when the process is about to end: nobody may wait any longer."""

    @property
    def urls(self) -> Mapping[str, str]:
        """Base URL of the front and of each vendor."""

    @property
    def uptime(self) -> float:
        """Real seconds since the process began."""

    @property
    def sessions(self) -> SessionRecords: ...

    @property
    def active_scenarios(self) -> Iterable[Active]:
        """Every scenario that is at work: the server's, and those of sessions that have their own."""

    def for_session(self, session: str) -> Active: ...

    def find(self, session: str) -> Active:
        """As :meth:`of`, and no use of the session."""

    @property
    def controller(self) -> Steering: ...

    @property
    def reporters(self) -> dict[str, Teller]:
        """What this process tells others, by what they may ask for."""

    async def listen(self, session: str, vendor: str) -> str:
        """The base URL of a vendor on a port that is the session's own."""

    def load(self, text: bytes) -> ParsedScenario: ...

    def check(self, text: bytes) -> Sequence[Finding]:
        """What is wrong with a scenario, and what may be."""
