"""The scenario at work, and how another takes its place."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from math import inf

from emulator.cluster.shared_journal import SharedJournal
from emulator.core.cache import clear_scenario_caches
from emulator.core.clock import Clock
from emulator.core.redaction.credentials import build_credential_map
from emulator.core.storage import State
from emulator.core.vendor import Vendors
from emulator.journal.journal import Journal
from emulator.observability.spans import Spans
from emulator.observability.timing import TimingReport
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.active import NOW, Activation, ActiveScenario
from emulator.runtime.controller import Controller, LocalController, Reporter, list_sessions
from emulator.runtime.factory import Overrides, ScenarioBuilder, make_clock
from emulator.runtime.services import with_vendor_mistakes
from emulator.runtime.sessions import IDLE, Session, Sessions, estimate_size
from emulator.runtime.validation import Finding, validate_scenario
from emulator.scenario.load import load_text
from emulator.scenario.parsed import ParsedScenario
from emulator.storage import open_store


class Runtime:
    """Holds the scenario at work, the server's and those of sessions that have their own.

    Whoever answers a request reads :meth:`of` once. ``closing`` is set when the process is about to end; nothing may
    wait without end from then on.
    """

    def __init__(
        self,
        loaded: ParsedScenario,
        library: Mapping[str, ParsedScenario],
        overrides: Overrides,
        vendors: Vendors,
        spans: Spans | None = None,
    ) -> None:
        self.vendors = vendors
        self.library = library
        self.store = open_store(overrides.state_url, overrides.state_loss)
        commons = self.store.bus
        self.journal = Journal() if commons is None else SharedJournal(commons, self.find)
        self.timing = TimingReport()
        self.closing = asyncio.Event()
        self.open_for: Callable[[str, str], Awaitable[str]] | None = None
        self.follow: Callable[[], Awaitable[None]] = _stay
        self.forgotten: list[Callable[[str], None]] = []
        self.changed: list[Callable[[str], None]] = []
        self.urls: dict[str, str] = {}
        self._tasks: set[asyncio.Future[None]] = set()
        idle = IDLE if commons is None else inf  # others may use one that is idle here
        self.sessions: Sessions[ActiveScenario] = Sessions(self._forget, idle=idle)
        self._began = time.monotonic()
        self._metrics = {name: VendorMetrics(partial(_name_provider, vendors, name)) for name in vendors}
        self._builder = ScenarioBuilder(
            vendors, overrides, self.store, self.journal, self.timing, self._metrics, self.urls, self.closing, spans
        )
        self.active = self._builder.build(loaded, make_clock(loaded.scenario.clock))
        self.timing.hold(loaded.scenario.timing.invalid_above)
        self.controller: Controller = LocalController(self)
        self.reporters: dict[str, Reporter] = {"sessions": lambda about: list_sessions(self)}

    async def begin(self) -> None:
        """Have the scenario begin when it began for those who share the store."""
        active = self.active
        active.emulator.started = await self.store.start_namespace(active.namespace, active.emulator.started)

    @property
    def uptime(self) -> float:
        """Real seconds since the process began."""
        return time.monotonic() - self._began

    @property
    def active_scenarios(self) -> Iterable[ActiveScenario]:
        """Every scenario that is at work: the server's, and those of sessions that have their own."""
        return [self.active, *(session.active for session in self.sessions if session.active is not None)]

    @property
    def states(self) -> Mapping[str, State]:
        """Where all that is at work counts, by the names of the worlds."""
        return {world.namespace: world.emulator.state for world in self.active_scenarios}

    @asynccontextmanager
    async def forgetting(self) -> AsyncIterator[None]:
        """What is at work before and not afterwards leaves no counts where they are kept, however late they came."""
        before = self.states
        try:
            yield
        finally:
            for world in before.keys() - self.states.keys():
                await before[world].reset()

    @property
    def metrics(self) -> Mapping[str, VendorMetrics]:
        """Totals of each vendor since the process began."""
        return self._metrics

    def for_session(self, session: str) -> ActiveScenario:
        """The scenario at work for a session; without a name, or where it has none of its own, the server's."""
        if not session:
            return self.active
        return self.sessions.use(session).active or self.active

    def find(self, session: str) -> ActiveScenario:
        """As :meth:`of`, and no use of the session."""
        record = self.sessions.find(session)
        return self.active if record is None else record.active or self.active

    def keys_of(self, session: str) -> Mapping[str, str]:
        """The credentials that the server's scenario lists, and those of a session's own; no use of the session."""
        server, own = self.active.keys, self.find(session).keys
        return build_credential_map([*server.items(), *own.items()]) if server and own else server or own

    async def listen(self, session: str, vendor: str) -> str:
        """The base URL of a vendor on a port that is the session's own."""
        if self.open_for is None:
            raise RuntimeError("nothing listens yet")
        return await self.open_for(session, vendor)

    def begin_call(self, session: str) -> ActiveScenario:
        """The scenario at work for a call of a session."""
        if not session:
            return self.active
        record = self.sessions.use(session)
        record.calls += 1
        return record.active or self.active

    def load(self, text: bytes) -> ParsedScenario:
        """A scenario that somebody sends.

        Raises:
            ScenarioError: with every mistake.
        """
        with with_vendor_mistakes(self.vendors):
            return load_text(text, "scenario")

    def check(self, text: bytes) -> Sequence[Finding]:
        """What is wrong with a scenario that somebody sends, and what may be; it changes nothing."""
        return validate_scenario(lambda: load_text(text, "scenario"), self.vendors)

    def put(
        self,
        loaded: ParsedScenario,
        session: str = "",
        seed: int | None = None,
        beginning: Activation = NOW,
    ) -> None:
        """Begin another scenario, the server's or a session's: fresh counters and quotas, and a fresh clock.

        What a session's scenario does not set, its clock and its seed, is the server's.

        Raises:
            ScenarioError: it does not fit; the one before goes on.
        """
        active = self.plan(loaded, session, seed, beginning)
        if session:
            self._replace(session, active)
            return
        before, self.active = self.active, active
        before.emulator.clock.retire()
        self._retire_state(before)
        self.timing.hold(loaded.scenario.timing.invalid_above)
        self._change("")

    def plan(
        self, loaded: ParsedScenario, session: str, seed: int | None, beginning: Activation = NOW
    ) -> ActiveScenario:
        """What :meth:`put` puts to work.

        Raises:
            ScenarioError: it does not fit.
        """
        clock, server, sets = beginning.clock, self.active.emulator, loaded.scenario.model_fields_set
        if session:
            clock = clock or (None if "clock" in sets else server.clock)
            seed = server.seed if seed is None and "seed" not in sets else seed
        clock = clock or make_clock(loaded.scenario.clock)
        return self._builder.build(loaded, clock, seed=seed, started=beginning.started, era=beginning.epoch)

    def reset(self, beginning: Activation = NOW) -> None:
        """Begin the server's scenario again, by the same clock; calls that began before are in no journal."""
        self.journal.clear()
        self.timing.reset()
        before, self.active = self.active, self._begin_again(self.active, beginning)
        self._retire_state(before)
        self._change("")

    def reset_session(self, session: str, beginning: Activation = NOW) -> None:
        """Begin a session's scenario again, by the same clock; nothing of what it did before is left."""
        self.journal.clear(session)
        self._replace(session, self._begin_again(self.for_session(session), beginning))

    def _begin_again(self, active: ActiveScenario, beginning: Activation) -> ActiveScenario:
        seed, clock = active.emulator.seed, active.emulator.clock
        return self._builder.build(active.loaded, clock, seed=seed, started=beginning.started, era=beginning.epoch)

    def advance(self, seconds: float, session: str = "") -> None:
        """Move the clock; a session's is its own from then on."""
        active = self.for_session(session)
        if session and active.emulator.clock is self.active.emulator.clock:
            active = self._with_clock(active, active.emulator.clock.fork())
            self.sessions.keep(session, estimate_size(active.loaded)).active = active
        active.emulator.clock.advance(seconds)

    def change_clock(self, clock: Clock, session: str = "") -> None:
        """Let time go by another clock from now on; counters and quotas stay, and what runs ends as it began."""
        before = self.for_session(session)
        after = self._with_clock(before, clock)
        if session:
            self._replace(session, after)
        else:
            self.active = after
            before.emulator.clock.retire()
            self._change("")

    def _with_clock(self, active: ActiveScenario, clock: Clock) -> ActiveScenario:
        emulator = active.emulator
        return self._builder.build(
            active.loaded,
            clock,
            seed=emulator.seed,
            state=emulator.state,
            started=emulator.started,
            era=active.epoch,
        )

    def end_session(self, session: str) -> bool:
        """Forget a session: its clock, state and journal; false if there is none of the name."""
        return self.sessions.end(session)

    def close(self) -> None:
        """Nobody waits without end from now on."""
        self.closing.set()
        for active in self.active_scenarios:
            active.emulator.clock.retire()

    def _replace(self, session: str, active: ActiveScenario) -> None:
        loaded = active.loaded.drop_locations()  # 13 of the 33 objects of a small rule, which each collection visits
        active = replace(active, loaded=loaded)
        record = self.sessions.keep(session, estimate_size(active.loaded))
        before, record.active = record.active, active
        self._retire(before, active)
        self._change(session)

    def _change(self, session: str) -> None:
        """Another scenario is at work; nothing may hold on to the one before."""
        for metrics in self._metrics.values():
            metrics.catch_up()
        clear_scenario_caches()
        for tell in self.changed:
            tell(session)

    def _retire(self, before: ActiveScenario | None, after: ActiveScenario) -> None:
        """A clock that is no longer anybody's lets its sleepers go."""
        if before is not None and before.emulator.clock not in (self.active.emulator.clock, after.emulator.clock):
            before.emulator.clock.retire()
        if before is not None:
            self._retire_state(before)

    def _retire_state(self, before: ActiveScenario) -> None:
        """Nor do calls that are under way count for anybody, unless another world goes on with what they count."""
        if all(world.emulator.state is not before.emulator.state for world in self.active_scenarios):
            before.emulator.state.retire()

    def _forget(self, session: Session[ActiveScenario]) -> None:
        self.journal.clear(session.name)
        self._retire(session.active, self.active)
        if self.store.bus is None or not self.store.counts_for_all:  # else whoever tells the others does it once
            task = asyncio.ensure_future(self.active.emulator.state.reset(session.name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for metrics in self._metrics.values():
            metrics.forget(session.name)
        if session.active is not None:
            clear_scenario_caches()
        for tell in (*self.forgotten, *self.changed):
            tell(session.name)


def _name_provider(vendors: Vendors, name: str, path: str) -> str:
    return vendors[name].name_provider(path)  # not before: a vendor takes a while to be imported


async def _stay() -> None:
    """Nothing listens."""
