"""Build what serves a scenario: vendor apps, clock, journal."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from emulator.core.clock import EPOCH, Clock, FrozenClock, InstantClock, RealClock
from emulator.core.redaction.credentials import build_credential_map
from emulator.core.storage import State, Store
from emulator.core.vendor import AnyPlane, AnyVendor, Vendors
from emulator.handler.app import VendorApp
from emulator.handler.diagnostics import Suggestions
from emulator.handler.planning import Emulator
from emulator.journal.journal import Journal
from emulator.latency import Latency
from emulator.observability.spans import Spans
from emulator.observability.timing import TimingReport
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.active import ActiveScenario, Apps
from emulator.runtime.services import check_vendors, create_service, read_settings
from emulator.scenario import models
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ParsedScenario
from emulator.scenario.worker_limits import validate_for_workers
from emulator.storage import DEFAULT, Loss


def make_clock(wanted: models.Clock, now: float | None = None) -> Clock:
    """The clock a scenario asks for; ``now``: what it says at first, in place of its own beginning."""
    if isinstance(wanted, models.Scale):
        return RealClock(wanted.scale, now)
    if wanted == "real":
        return RealClock(now=now)
    begin = EPOCH if now is None else now
    return InstantClock(begin) if wanted == "instant" else FrozenClock(begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """``None``: the scenario has its say."""

    seed: int | None = None
    latency: Latency | None = None
    strict: bool = False
    header_faults: bool = True
    state_url: str = DEFAULT
    state_loss: Loss = "refuse"

    def apply(self, scenario: models.Scenario) -> models.Scenario:
        changes: dict[str, object] = {}
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.latency is not None:
            changes["latency"] = scenario.latency.merge(self.latency)
        if self.strict:
            changes["strict"] = True
        return scenario.model_copy(update=changes) if changes else scenario


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioBuilder:
    """Puts scenarios to work, all of them with what does not change with the scenario.

    Fields:
        urls: base URL of the front and of each vendor.
        closing: set when the process is about to end.
        spans: absent: nobody hears of calls as traces.
    """

    vendors: Vendors
    overrides: Overrides
    store: Store
    journal: Journal
    timing: TimingReport
    metrics: Mapping[str, VendorMetrics]
    urls: Mapping[str, str]
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    spans: Spans | None = None

    def build(
        self,
        loaded: ParsedScenario,
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
        if not self.store.counts_for_all:
            validate_for_workers(loaded, scenario)
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
        hints = Suggestions(self.vendors, served, self.urls)
        planes = self._find_planes(served, scenario)
        apps = Apps(served, lambda name, apps: self._mount(name, scenario, emulator, hints, apps), planes)
        keys = build_credential_map((key.token, key.principal) for key in scenario.keys or ())
        return ActiveScenario(loaded, emulator, apps, keys, hints, world, era)

    def _find_planes(self, served: Sequence[str], scenario: Scenario) -> Mapping[str, int]:
        """The port of each plane that the scenario sets apart: its vendor's name, a dot and its own."""
        planes = {}
        for name in served:
            if name in scenario.vendors:  # others have no settings, and are not imported before they are asked
                vendor = self.vendors[name]
                found = vendor.extra_listeners(read_settings(vendor, scenario))
                planes.update({f"{name}.{plane}": row.port for plane, row in found.items()})
        return planes

    def _mount(self, name: str, scenario: Scenario, emulator: Emulator, hints: Suggestions, apps: Apps) -> VendorApp:
        """One vendor, or one of its planes, which shares the vendor's service."""
        owner, _, plane = name.partition(".")
        vendor, metrics = self.vendors[owner], self.metrics[owner]
        settings = read_settings(vendor, scenario)
        if plane:
            service = apps[owner].service
        else:
            service = create_service(vendor, settings, scenario, emulator.clock, metrics, emulator.started)
        return VendorApp(
            _limit(vendor, plane, vendor.extra_listeners(settings)),
            service,
            emulator,
            self.journal,
            self.timing,
            metrics,
            hints=hints,
            header_faults=self.overrides.header_faults,
            closing=self.closing,
            spans=self.spans,
        )


def _limit(vendor: AnyVendor, plane: str, planes: Mapping[str, AnyPlane]) -> AnyVendor:
    """The vendor with what one of its ports serves."""
    if plane:
        return replace(vendor, endpoints=planes[plane].endpoints)
    apart = [endpoint for found in planes.values() for endpoint in found.endpoints]
    return replace(vendor, endpoints=tuple(e for e in vendor.endpoints if e not in apart)) if apart else vendor
