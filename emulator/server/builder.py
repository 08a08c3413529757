"""From a scenario to what answers by it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.control.journal import Journal
from emulator.control.timing import Timing
from emulator.core.clock import Clock
from emulator.core.secret import make_keyring
from emulator.core.state import State, Store
from emulator.core.vendor import Vendors
from emulator.pipeline import Emulator
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.schema import Scenario
from emulator.server.active import ActiveScenario, Apps
from emulator.server.app import VendorApp
from emulator.server.hints import Hints
from emulator.server.metrics import VendorMetrics
from emulator.server.overrides import Overrides
from emulator.server.serving import check_vendors, read_settings, serve


@dataclass(frozen=True, slots=True, eq=False)
class Builder:
    """Puts scenarios to work, all of them with what does not change with the scenario.

    Fields:
        urls: base URL of the front and of each vendor.
        closing: set when the process is about to end.
    """

    vendors: Vendors
    overrides: Overrides
    store: Store
    journal: Journal
    timing: Timing
    metrics: Mapping[str, VendorMetrics]
    urls: Mapping[str, str]
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def build(
        self,
        loaded: LoadedScenario,
        clock: Clock,
        *,
        seed: int | None = None,
        state: State | None = None,
        started: float | None = None,
        era: str = "",
    ) -> ActiveScenario:
        """A scenario ready to answer.

        Args:
            seed: in place of its own.
            state: absent: counters and quotas of the world it begins.
            started: when it began, Unix seconds; absent: now.
            era: tells this beginning of it from others.

        Raises:
            ScenarioError: it does not fit.
        """
        scenario = self.overrides.apply(loaded.scenario)
        served = check_vendors(loaded, self.vendors)
        seed = scenario.seed if seed is None else seed
        world = f"{loaded.digest}.{seed}.{era}" if era else f"{loaded.digest}.{seed}"
        emulator = Emulator(
            scenario,
            clock=clock,
            state=state or self.store.open(world),
            seed=seed,
            latency=scenario.latency,
            started=started,
        )
        hints = Hints(self.vendors, served, self.urls)
        apps = Apps(served, lambda name: self._mount(name, scenario, emulator, hints))
        keys = make_keyring((key.token, key.principal) for key in scenario.keys or ())
        return ActiveScenario(loaded, emulator, apps, keys, hints, world, era)

    def _mount(self, name: str, scenario: Scenario, emulator: Emulator, hints: Hints) -> VendorApp:
        vendor, metrics = self.vendors[name], self.metrics[name]
        settings = read_settings(vendor, scenario)
        return VendorApp(
            vendor,
            serve(vendor, settings, scenario, emulator.clock, metrics, emulator.started),
            emulator,
            self.journal,
            self.timing,
            metrics,
            hints=hints,
            header_faults=self.overrides.header_faults,
            closing=self.closing,
        )
