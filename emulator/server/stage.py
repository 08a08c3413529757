"""The scenario at work, and how another takes its place."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.control.journal import Journal
from emulator.core.clock import Clock, FrozenClock, InstantClock, RealClock
from emulator.core.vendor import Metrics, Vendor
from emulator.latency import Latency
from emulator.pipeline import Emulator
from emulator.scenario import schema
from emulator.scenario.load import load_text
from emulator.scenario.loaded import LoadedScenario
from emulator.server.app import VendorApp
from emulator.server.metrics import VendorMetrics
from emulator.server.serving import judged_by, read_vendors, serve
from emulator.state.memory import MemoryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What flags say in place of a scenario; ``None``: the scenario has its say."""

    seed: int | None = None
    latency: Latency | None = None
    strict: bool = False
    header_faults: bool = True

    def apply(self, scenario: schema.Scenario) -> schema.Scenario:
        changes: dict[str, object] = {}
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.latency is not None:
            changes["latency"] = scenario.latency.merge(self.latency)
        if self.strict:
            changes["strict"] = True
        return scenario.model_copy(update=changes) if changes else scenario


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """One scenario at work; replaced whole, so a request that has begun ends as it began."""

    loaded: LoadedScenario
    emulator: Emulator
    apps: Mapping[str, VendorApp]


class Stage:
    """Holds the scenario at work; whoever answers a request reads :attr:`running` once.

    ``closing`` is set when the process is about to end; nothing may wait without end from then on.
    """

    def __init__(
        self,
        loaded: LoadedScenario,
        library: Mapping[str, LoadedScenario],
        overrides: Overrides,
        vendors: Sequence[Vendor],
    ) -> None:
        self.vendors = vendors
        self.library = library
        self.journal = Journal()
        self.closing = asyncio.Event()
        self._overrides = overrides
        self._metrics = {vendor.name: VendorMetrics() for vendor in vendors}
        self.running = self._build(loaded, make_clock(loaded.scenario.clock))

    @property
    def metrics(self) -> Mapping[str, Metrics]:
        """Totals of each vendor since the process began."""
        return self._metrics

    def load(self, text: bytes) -> LoadedScenario:
        """A scenario that somebody sends.

        Raises:
            ScenarioError: with every mistake.
        """
        with judged_by(self.vendors):
            return load_text(text, "scenario")

    def put(self, loaded: LoadedScenario) -> None:
        """Begin another scenario: fresh clock, counters and quotas.

        Raises:
            ScenarioError: it does not fit; the one before goes on.
        """
        running = self._build(loaded, make_clock(loaded.scenario.clock))
        before, self.running = self.running, running
        before.emulator.clock.retire()

    def reset(self) -> None:
        """Begin the same scenario again, by the same clock; calls that began before are in no journal."""
        journal = Journal()
        journal.listen = self.journal.listen
        self.journal = journal
        self.running = self._build(self.running.loaded, self.running.emulator.clock)

    async def reset_session(self, session: str) -> None:
        """Forget what one session did; scenario time goes on."""
        await self.running.emulator.state.reset(session)
        self.journal.clear(session)

    def _build(self, loaded: LoadedScenario, clock: Clock) -> Running:
        scenario = self._overrides.apply(loaded.scenario)
        settings = read_vendors(loaded, self.vendors)
        emulator = Emulator(scenario, clock=clock, state=MemoryState(), seed=scenario.seed, latency=scenario.latency)
        apps = {
            vendor.name: VendorApp(
                vendor,
                serve(vendor, settings[vendor.name], scenario, clock, self._metrics[vendor.name]),
                emulator,
                self.journal,
                header_faults=self._overrides.header_faults,
                closing=self.closing,
            )
            for vendor in self.vendors
            if vendor.name in settings
        }
        return Running(loaded, emulator, apps)


def make_clock(wanted: schema.Clock) -> Clock:
    """The clock a scenario asks for, at its beginning."""
    if isinstance(wanted, schema.Scale):
        return RealClock(wanted.scale)
    if wanted == "real":
        return RealClock()
    return InstantClock() if wanted == "instant" else FrozenClock()
