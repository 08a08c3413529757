"""The scenario at work, and how another takes its place."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.control.api import ControlPlane
from emulator.control.journal import Journal
from emulator.core.clock import Clock, FrozenClock, InstantClock, RealClock
from emulator.core.vendor import AnyVendor, Metrics
from emulator.latency import Latency
from emulator.pipeline import Emulator
from emulator.scenario import schema
from emulator.scenario.load import load_text
from emulator.scenario.loaded import LoadedScenario
from emulator.server.app import VendorApp
from emulator.server.metrics import VendorMetrics
from emulator.server.serving import read_vendors, serve, with_vendor_mistakes
from emulator.state import DEFAULT, open_state
from emulator.vendors import VENDORS


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What flags say in place of a scenario; ``None``: the scenario has its say."""

    seed: int | None = None
    latency: Latency | None = None
    strict: bool = False
    header_faults: bool = True
    state_url: str = DEFAULT

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
class ActiveScenario:
    """A scenario at work; replaced whole, so a request that has begun ends as it began."""

    loaded: LoadedScenario
    emulator: Emulator
    apps: Mapping[str, VendorApp]


class Runtime:
    """Holds the scenario at work; whoever answers a request reads :attr:`active` once.

    ``closing`` is set when the process is about to end; nothing may wait without end from then on.
    """

    def __init__(
        self,
        loaded: LoadedScenario,
        library: Mapping[str, LoadedScenario],
        overrides: Overrides,
        vendors: Sequence[AnyVendor],
    ) -> None:
        self.vendors = vendors
        self.library = library
        self.journal = Journal()
        self.closing = asyncio.Event()
        self._overrides = overrides
        self._metrics = {vendor.name: VendorMetrics() for vendor in vendors}
        self.active = self._build(loaded, make_clock(loaded.scenario.clock))

    @property
    def metrics(self) -> Mapping[str, Metrics]:
        """Totals of each vendor since the process began."""
        return self._metrics

    def load(self, text: bytes) -> LoadedScenario:
        """A scenario that somebody sends.

        Raises:
            ScenarioError: with every mistake.
        """
        with with_vendor_mistakes(self.vendors):
            return load_text(text, "scenario")

    def put(self, loaded: LoadedScenario) -> None:
        """Begin another scenario: fresh clock, counters and quotas.

        Raises:
            ScenarioError: it does not fit; the one before goes on.
        """
        active = self._build(loaded, make_clock(loaded.scenario.clock))
        before, self.active = self.active, active
        before.emulator.clock.retire()

    def reset(self) -> None:
        """Begin the same scenario again, by the same clock; calls that began before are in no journal."""
        journal = Journal()
        journal.listen = self.journal.listen
        self.journal = journal
        self.active = self._build(self.active.loaded, self.active.emulator.clock)

    async def reset_session(self, session: str) -> None:
        """Forget what one session did; scenario time goes on."""
        await self.active.emulator.state.reset(session)
        self.journal.clear(session)

    def _build(self, loaded: LoadedScenario, clock: Clock) -> ActiveScenario:
        scenario = self._overrides.apply(loaded.scenario)
        settings = read_vendors(loaded, self.vendors)
        emulator = Emulator(
            scenario,
            clock=clock,
            state=open_state(self._overrides.state_url),
            seed=scenario.seed,
            latency=scenario.latency,
        )
        apps = {
            vendor.name: VendorApp(
                vendor,
                serve(vendor, settings[vendor.name], scenario, clock, self._metrics[vendor.name]),
                emulator,
                self.journal,
                self._metrics[vendor.name],
                header_faults=self._overrides.header_faults,
                closing=self.closing,
            )
            for vendor in self.vendors
            if vendor.name in settings
        }
        return ActiveScenario(loaded, emulator, apps)


def make_clock(wanted: schema.Clock) -> Clock:
    """The clock a scenario asks for, at its beginning."""
    if isinstance(wanted, schema.Scale):
        return RealClock(wanted.scale)
    if wanted == "real":
        return RealClock()
    return InstantClock() if wanted == "instant" else FrozenClock()


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """One emulator, not yet listening; what changes with the scenario is read from the runtime."""

    runtime: Runtime
    control: ControlPlane

    @property
    def apps(self) -> tuple[VendorApp, ...]:
        return tuple(self.runtime.active.apps.values())

    @property
    def emulator(self) -> Emulator:
        return self.runtime.active.emulator

    @property
    def clock(self) -> Clock:
        return self.emulator.clock

    @property
    def journal(self) -> Journal:
        return self.runtime.journal


def build(
    loaded: LoadedScenario,
    *,
    library: Mapping[str, LoadedScenario] | None = None,
    seed: int | None = None,
    latency: Latency | None = None,
    strict: bool = False,
    header_faults: bool = True,
    state_url: str = DEFAULT,
    vendors: Sequence[AnyVendor] = VENDORS,
) -> Built:
    """Put a scenario to work; ``seed``, ``latency`` and ``strict``, where given, win over every scenario's.

    Raises:
        ScenarioError: a vendor section or deployment that does not fit, every mistake at once.
        StoreError: no store has such a URL.
    """
    overrides = Overrides(seed=seed, latency=latency, strict=strict, header_faults=header_faults, state_url=state_url)
    runtime = Runtime(loaded, library or {}, overrides, vendors)
    return Built(runtime, ControlPlane(runtime))
