"""Hold the active scenarios of one process, the server's and those of sessions, and replace them.

``Controller`` has the commands of the control API that do so; ``cluster/replica.py`` extends it to several processes.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

from emulator.cluster.shared_journal import SharedJournal
from emulator.core.cache import clear_scenario_caches
from emulator.core.clock import Clock
from emulator.core.json import JSON
from emulator.core.redaction.credentials import build_credential_map
from emulator.core.storage import State
from emulator.core.vendor import Vendors
from emulator.journal.journal import Journal
from emulator.observability.spans import Spans
from emulator.observability.timing import TimingAccuracy
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.active import DEFAULT_ACTIVATION, Activation, ActiveScenario
from emulator.runtime.factory import Overrides, ScenarioBuilder, make_clock
from emulator.runtime.services import adding_vendor_mistakes
from emulator.runtime.sessions import IDLE_TIMEOUT, Session, Sessions, estimate_size, require_capacity
from emulator.runtime.validation import Finding, validate_scenario
from emulator.scenario.load import load_text
from emulator.scenario.models import Clock as WantedClock
from emulator.scenario.parsed import ParsedScenario
from emulator.storage import open_store

Reporter = Callable[[JSON], Awaitable[JSON]]
"""Answers a question, as JSON, with what this process alone holds."""
_HISTORY = 300.0  # seconds
_MAX_SAMPLES = 1200


class LoadSample(NamedTuple):
    """Load at one moment: open responses, busy and queued slots, requests so far, p99 lateness in seconds."""

    open: int
    running: int
    queued: int
    requests: int
    lateness_p99: float


class LoadHistory:
    """Loads of the last five minutes with their wall-clock times, for charts; ``measure``: returns the load of now."""

    def __init__(self, measure: Callable[[], LoadSample], now: Callable[[], float] = time.time) -> None:
        self._measure = measure
        self._now = now
        self.samples: deque[tuple[float, LoadSample]] = deque(maxlen=_MAX_SAMPLES)

    def sample(self) -> None:
        """Add a sample, and drop those that are too old."""
        now = self._now()
        self.samples.append((now, self._measure()))
        while self.samples[0][0] < now - _HISTORY:
            self.samples.popleft()


class Controller:
    """Commands that change the active scenario of the server (the empty session) or of a session.

    These commands affect a single process; a subclass affects every process that shares the store, and then all but
    :meth:`catch_up` may raise :class:`emulator.core.storage.StoreLostError`.
    """

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime

    @property
    def is_shared(self) -> bool:
        """Whether other processes serve the same clients; :meth:`catch_up` brings their requests to the journal."""
        return False

    @property
    def counts_for_all(self) -> bool:
        """Whether quotas and rule counters are shared by all processes."""
        return True

    def _validate_capacity(self, session: str, loaded: ParsedScenario | None = None) -> None:
        """Raise if the limits of sessions do not allow a scenario or clock of this session.

        Raises:
            ProblemError: 429.
        """
        if session:
            size = estimate_size(loaded or self._runtime.find(session).loaded)
            require_capacity(self._runtime.sessions, session, size)

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        """Replace the active scenario.

        Raises:
            ScenarioError: the scenario does not fit; the one before stays active.
            ProblemError: 429, as there are too many sessions; 409, as the replicas disagree.
        """
        self._validate_capacity(session, loaded)
        self._runtime.put(loaded, session, seed)

    async def reset(self, session: str = "") -> None:
        """Restart the active scenario of a session, or without one of all, with empty counters, quotas and journal."""
        if session:
            self._validate_capacity(session)
            self._runtime.reset_session(session)
            return
        self._runtime.reset()
        for name in self._runtime.list_own_sessions():
            self._runtime.reset_session(name)

    async def advance(self, seconds: float, session: str = "") -> None:
        """Move the clock forward."""
        self._validate_capacity(session)
        self._runtime.advance(seconds, session)

    async def change_clock(self, wanted: WantedClock, session: str = "") -> None:
        """Replace the clock; the time goes on from where it is."""
        self._validate_capacity(session)
        now = self._runtime.for_session(session).emulator.clock.now()
        self._runtime.change_clock(make_clock(wanted, now), session)

    async def end_session(self, session: str) -> bool:
        """Delete a session; return false if it does not exist."""
        return self._runtime.end_session(session)

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        """Return the report named ``what`` of every process, by the name of the process."""
        return {"": await self.report(what, about)}

    async def catch_up(self) -> None:
        """Read into the journal the requests that other processes have served until now."""

    async def report(self, what: str, about: JSON) -> JSON:
        """Return the report named ``what`` of this process."""
        return await self._runtime.reporters[what](about)


async def list_sessions(runtime: "Runtime") -> JSON:
    """Return the sessions of this process as rows of ``GET /_emulator/sessions``, the longest unused first."""
    now = time.monotonic()
    return [
        {
            "name": session.name,
            "scenario": runtime.find(session.name).loaded.scenario.name,
            "calls": session.calls,
            "idle_seconds": round(now - session.used, 3),
        }
        for session in sorted(runtime.sessions, key=lambda session: session.used)
    ]


class Runtime:
    """Holder of the active scenarios: the server's, and those of sessions with their own.

    A request handler calls :meth:`begin_call` once per request. ``closing`` is set when the process is about to end;
    after that nothing may wait without a time limit. ``metrics``: those of each vendor since the process began.
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
        bus = self.store.bus
        self.journal = Journal() if bus is None else SharedJournal(bus, self.find)
        self.timing = TimingAccuracy()
        self.closing = asyncio.Event()
        self.open_for: Callable[[str, str], Awaitable[str]] | None = None
        self.follow: Callable[[], Awaitable[None]] = _do_nothing
        self.on_session_end: list[Callable[[str], None]] = []
        self.on_change: list[Callable[[str], None]] = []
        self.urls: dict[str, str] = {}
        self._tasks: set[asyncio.Future[None]] = set()
        idle = IDLE_TIMEOUT if bus is None else inf  # other replicas may use a session that is idle here
        self.sessions: Sessions[ActiveScenario] = Sessions(self._forget, idle=idle)
        self._began = time.monotonic()
        self.metrics = {name: VendorMetrics(partial(_name_provider, vendors, name)) for name in vendors}
        self._builder = ScenarioBuilder(
            vendors, overrides, self.store, self.journal, self.timing, self.metrics, self.urls, self.closing, spans
        )
        self.forwarding = overrides.forwarding
        self._clock = overrides.clock
        self.active = self._builder.build(loaded, make_clock(overrides.clock or loaded.scenario.clock))
        self.timing.set_bound(loaded.scenario.timing.invalid_above)
        self.controller = Controller(self)
        self.history = LoadHistory(self.measure_load)
        self.reporters: dict[str, Reporter] = {"sessions": lambda about: list_sessions(self)}

    async def begin(self) -> None:
        """Take over the start time of the processes that share the store."""
        active = self.active
        active.emulator.started = await self.store.start_namespace(active.namespace, active.emulator.started)

    @property
    def uptime(self) -> float:
        """Return the wall-clock seconds since the process began."""
        return time.monotonic() - self._began

    @property
    def active_scenarios(self) -> Iterable[ActiveScenario]:
        """Return the active scenarios: the server's, and those of sessions with their own."""
        return [self.active, *(session.active for session in self.sessions if session.active is not None)]

    def measure_load(self) -> LoadSample:
        """Return the load of this process."""
        busy = [row for active in self.active_scenarios for row in active.emulator.busy]
        metrics = self.metrics.values()
        return LoadSample(
            open=sum(each.in_flight() for each in metrics),
            running=sum(running for _, running, _ in busy),
            queued=sum(queued for _, _, queued in busy),
            requests=sum(int(each.total("requests")) for each in metrics),
            lateness_p99=self.timing.latest.ttft.quantile(0.99),
        )

    @property
    def states(self) -> Mapping[str, State]:
        """Return the state of each active scenario, by namespace."""
        return {active.namespace: active.emulator.state for active in self.active_scenarios}

    @asynccontextmanager
    async def deleting_unused_counters(self) -> AsyncIterator[None]:
        """Delete the counters of scenarios that are no longer active at the end, in shared stores too."""
        before = self.states
        try:
            yield
        finally:
            for namespace in before.keys() - self.states.keys():
                await before[namespace].reset()

    def for_session(self, session: str) -> ActiveScenario:
        """Return the active scenario of a session, which counts as a use; by default the server's."""
        if not session:
            return self.active
        return self.sessions.use(session).active or self.active

    def find(self, session: str) -> ActiveScenario:
        """Return the active scenario of a session without counting as a use."""
        if not session:
            return self.active
        record = self.sessions.find(session)
        return self.active if record is None else record.active or self.active

    def credentials_for(self, session: str) -> Mapping[str, str]:
        """Return the credentials listed by the server's and the session's scenario, without counting as a use."""
        server, own = self.active.keys, self.find(session).keys
        return build_credential_map([*server.items(), *own.items()]) if server and own else server or own

    async def listen(self, session: str, vendor: str) -> str:
        """Return the base URL of a vendor on a port of the session."""
        if self.open_for is None:
            raise RuntimeError("nothing listens yet")
        return await self.open_for(session, vendor)

    def begin_call(self, session: str) -> ActiveScenario:
        """Return the active scenario of a session and count a call."""
        if not session:
            return self.active
        record = self.sessions.use(session)
        record.calls += 1
        return record.active or self.active

    def load(self, text: bytes) -> ParsedScenario:
        """Load a scenario received by the control plane.

        Raises:
            ScenarioError: with every mistake.
        """
        with adding_vendor_mistakes(self.vendors):
            loaded = load_text(text, "scenario")
        if loaded.scenario.replay is not None:
            from emulator.handler.replay import read_ahead  # not needed without a replay

            read_ahead(loaded.scenario.replay, self.vendors)
        return loaded

    def check(self, text: bytes) -> Sequence[Finding]:
        """Return mistakes and warnings of a scenario received by the control plane; changes nothing."""
        return validate_scenario(lambda: load_text(text, "scenario"), self.vendors)

    def put(
        self,
        loaded: ParsedScenario,
        session: str = "",
        seed: int | None = None,
        activation: Activation = DEFAULT_ACTIVATION,
    ) -> None:
        """Activate another scenario for the server or a session, with new counters, quotas and clock.

        A session's scenario takes the clock and seed that it does not set from the server.

        Raises:
            ScenarioError: the scenario does not fit; the previous one stays active.
        """
        active = self.plan(loaded, session, seed, activation)
        if session:
            self._replace(session, active)
            return
        before, self.active = self.active, active
        self._retire_clock(before)
        self._retire_state(before)
        self.timing.set_bound(loaded.scenario.timing.invalid_above)
        self._change("")

    def plan(
        self, loaded: ParsedScenario, session: str, seed: int | None, activation: Activation = DEFAULT_ACTIVATION
    ) -> ActiveScenario:
        """Return the active scenario that :meth:`put` activates.

        Raises:
            ScenarioError: the scenario does not fit.
        """
        clock, server, sets = activation.clock, self.active.emulator, loaded.scenario.model_fields_set
        if session:
            clock = clock or (None if "clock" in sets else server.clock)
            seed = server.seed if seed is None and "seed" not in sets else seed
        else:
            clock = clock or (None if self._clock is None else make_clock(self._clock))
        clock = clock or make_clock(loaded.scenario.clock)
        return self._builder.build(loaded, clock, seed=seed, started=activation.started, epoch=activation.epoch)

    def reset(self, activation: Activation = DEFAULT_ACTIVATION) -> None:
        """Restart the server's scenario with the same clock; calls that began before are not in the journal."""
        self.journal.clear()
        self.timing.reset()
        before, self.active = self.active, self._begin_again(self.active, activation)
        self._retire_state(before)
        self._change("")

    def reset_session(self, session: str, activation: Activation = DEFAULT_ACTIVATION) -> None:
        """Restart a session's scenario with the same clock; its journal and counters are cleared."""
        self.journal.clear(session)
        self._replace(session, self._begin_again(self.for_session(session), activation))

    def list_own_sessions(self) -> Sequence[str]:
        """Return the sessions with a scenario or clock of their own; the others share the server's state."""
        return [session.name for session in self.sessions if session.active is not None]

    def _begin_again(self, active: ActiveScenario, activation: Activation) -> ActiveScenario:
        seed, clock = active.emulator.seed, active.emulator.clock
        return self._builder.build(active.loaded, clock, seed=seed, started=activation.started, epoch=activation.epoch)

    def advance(self, seconds: float, session: str = "") -> None:
        """Advance the clock; a session gets a clock of its own."""
        active = self.for_session(session)
        if session and active.emulator.clock is self.active.emulator.clock:
            active = self._with_clock(active, active.emulator.clock.fork(), active.emulator.started)
            self.sessions.keep(session, estimate_size(active.loaded)).active = active
        active.emulator.clock.advance(seconds)

    def change_clock(self, clock: Clock, session: str = "", *, restarts: bool = False) -> None:
        """Replace the clock; counters and quotas stay, and running calls end by the old clock.

        ``restarts``: the scenario starts at the time of the new clock.
        """
        before = self.for_session(session)
        after = self._with_clock(before, clock, clock.now() if restarts else before.emulator.started)
        if session:
            self._replace(session, after)
        else:
            self.active = after
            self._retire_clock(before)
            self._change("")

    def _with_clock(self, active: ActiveScenario, clock: Clock, started: float) -> ActiveScenario:
        emulator = active.emulator
        return self._builder.build(
            active.loaded,
            clock,
            seed=emulator.seed,
            state=emulator.state,
            started=started,
            epoch=active.epoch,
        )

    def end_session(self, session: str) -> bool:
        """End a session with its clock, state and journal; return false if there is none of the name."""
        return self.sessions.end(session)

    def close(self) -> None:
        """End all waits: set ``closing`` and retire every clock."""
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
        """Drop caches and notify listeners after a change of the active scenario."""
        for metrics in self.metrics.values():
            metrics.catch_up()
        clear_scenario_caches()
        for notify in self.on_change:
            notify(session)

    def _retire(self, before: ActiveScenario | None, after: ActiveScenario) -> None:
        """Retire the clock and state of a replaced scenario unless another scenario uses them."""
        if before is not None:
            if before.emulator.clock is not after.emulator.clock:
                self._retire_clock(before)
            self._retire_state(before)

    def _retire_clock(self, before: ActiveScenario) -> None:
        """Retire a clock unless an active scenario, such as that of a session, uses it."""
        if all(active.emulator.clock is not before.emulator.clock for active in self.active_scenarios):
            before.emulator.clock.retire()

    def _retire_state(self, before: ActiveScenario) -> None:
        """Retire a state unless an active scenario uses it; running calls no longer count in it."""
        if all(active.emulator.state is not before.emulator.state for active in self.active_scenarios):
            before.emulator.state.retire()

    def _forget(self, session: Session[ActiveScenario]) -> None:
        self.journal.clear(session.name)
        self.active.emulator.forget(session.name)
        self._retire(session.active, self.active)
        if self.store.bus is None or not self.store.counts_for_all:  # else the replica that announces the end does it
            task = asyncio.ensure_future(self.active.emulator.state.reset(session.name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for metrics in self.metrics.values():
            metrics.forget(session.name)
        if session.active is not None:
            clear_scenario_caches()
        for notify in (*self.on_session_end, *self.on_change):
            notify(session.name)


def _name_provider(vendors: Vendors, name: str, path: str) -> str:
    return vendors[name].name_provider(path)  # imports the vendor, which is slow, on first use


async def _do_nothing() -> None:
    """Do nothing: :attr:`Runtime.follow` while no port is open."""
