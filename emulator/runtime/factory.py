"""Build an active scenario from a loaded one: its vendors' handlers, clock and store namespace.

``runtime.py`` calls it for the first scenario, for each that replaces it, and for those of sessions.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from emulator.core.clock import EPOCH, Clock, FrozenClock, InstantClock, RealClock
from emulator.core.dataclass import fast_dataclass
from emulator.core.redaction.credentials import build_credential_map
from emulator.core.storage import State, Store
from emulator.core.vendor import AnyPlane, AnyVendor, Vendors
from emulator.handler.diagnostics import Suggestions
from emulator.handler.forward import Forwarding
from emulator.handler.handler import VendorApp
from emulator.handler.planning import Emulator
from emulator.handler.reply_functions import ReplyFunctions
from emulator.journal.journal import Journal
from emulator.latency import Latency
from emulator.observability.spans import Spans
from emulator.observability.timing import TimingAccuracy
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.active import ActiveScenario, Apps
from emulator.runtime.services import check_vendors, create_service, read_settings
from emulator.scenario import models
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ParsedScenario
from emulator.scenario.worker_limits import validate_for_workers
from emulator.storage import DEFAULT_URL
from emulator.storage.resilient import Loss


def make_clock(wanted: models.Clock, now: float | None = None) -> Clock:
    """Create the clock that a scenario asks for; ``now``: start time if the scenario gives none."""
    kind, spares_backoff = wanted, True
    if not isinstance(wanted, str):
        now = now if wanted.start is None else wanted.start
        if isinstance(wanted, models.Scale):
            return RealClock(wanted.scale, now)
        kind, spares_backoff = wanted.kind, wanted.retry_after_ms
    if kind == "real":
        return RealClock(now=now)
    begin = EPOCH if now is None else now
    return InstantClock(begin, spares_backoff=spares_backoff) if kind == "instant" else FrozenClock(begin)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Command-line overrides of the scenario; ``None``: the scenario's value.

    ``functions``: replies of a test in this process.
    ``forwarding``: targets of unmatched calls. ``clock``: of the server, not of sessions with a clock of their own.
    """

    seed: int | None = None
    clock: models.Clock | None = None
    latency: Latency | None = None
    strict: bool = False
    header_faults: bool = True
    state_url: str = DEFAULT_URL
    state_loss: Loss = "refuse"
    forwarding: Forwarding | None = None
    functions: ReplyFunctions | None = None

    def apply(self, scenario: models.Scenario) -> models.Scenario:
        changes: dict[str, object] = {}
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.latency is not None:
            changes["latency"] = scenario.latency.merge(self.latency)
        if self.strict:
            changes["strict"] = True
        return scenario.model_copy(update=changes) if changes else scenario


@fast_dataclass(frozen=True, slots=True, eq=False)
class ScenarioBuilder:
    """Factory of active scenarios; holds what all scenarios of a process share.

    Fields:
        urls: base URL of the front port and of each vendor.
        closing: set when the process is about to end.
        spans: absent: tracing is off.
    """

    vendors: Vendors
    overrides: Overrides
    store: Store
    journal: Journal
    timing: TimingAccuracy
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
        epoch: str = "",
    ) -> ActiveScenario:
        """Return an active scenario.

        Args:
            seed: seed in place of the scenario's own.
            state: counters and quotas to continue with; absent: new ones.
            started: start time, Unix seconds; absent: now.
            epoch: distinguishes this activation from others of the same scenario.

        Raises:
            ScenarioError: the scenario does not fit the vendors or the store.
        """
        scenario = self.overrides.apply(loaded.scenario)
        if not self.store.counts_for_all:
            validate_for_workers(loaded, scenario)
        served = check_vendors(loaded, self.vendors)
        seed = scenario.seed if seed is None else seed
        namespace = f"{loaded.digest}.{seed}.{epoch}" if epoch else f"{loaded.digest}.{seed}"
        emulator = Emulator(
            scenario,
            clock=clock,
            state=state or self.store.open(namespace),
            seed=seed,
            latency=scenario.latency,
            started=started,
        )
        hints = Suggestions(self.vendors, served, self.urls)
        apps = self._list_handlers(served, scenario, emulator, hints)
        keys = build_credential_map((key.token, key.principal) for key in scenario.keys or ())
        return ActiveScenario(loaded, emulator, apps, keys, hints, namespace, epoch)

    def _list_handlers(self, served: Sequence[str], scenario: Scenario, emulator: Emulator, hints: Suggestions) -> Apps:
        """Return the handlers of the served vendors; those that replay recorded responses are created now."""
        planes = self._find_extra_listeners(served, scenario)
        apps = Apps(served, lambda name, apps: self._create_handler(name, scenario, emulator, hints, apps), planes)
        for name in _list_recorded(scenario, served):
            _ = apps[name]  # a first request would wait until the recording is read
        return apps

    def _find_extra_listeners(self, served: Sequence[str], scenario: Scenario) -> Mapping[str, int]:
        """Return the port of each extra listener the scenario configures, by ``vendor.listener``."""
        planes = {}
        for name in served:
            if name in scenario.vendors:  # vendors without settings are imported on first use
                vendor = self.vendors[name]
                found = vendor.extra_listeners(read_settings(vendor, scenario))
                planes.update({f"{name}.{plane}": row.port for plane, row in found.items()})
        return planes

    def _create_handler(
        self, name: str, scenario: Scenario, emulator: Emulator, hints: Suggestions, apps: Apps
    ) -> VendorApp:
        """Create the handler of a vendor or of an extra listener, which shares the vendor's service."""
        owner, _, plane = name.partition(".")
        vendor, metrics = self.vendors[owner], self.metrics[owner]
        settings = read_settings(vendor, scenario)
        if plane:
            service = apps[owner].service
        else:
            service = create_service(vendor, settings, scenario, emulator.clock, metrics, emulator.started)
        return VendorApp(
            _restrict(vendor, plane, vendor.extra_listeners(settings)),
            service,
            emulator,
            self.journal,
            self.timing,
            metrics,
            hints=hints,
            header_faults=self.overrides.header_faults,
            forwarding=self.overrides.forwarding,
            functions=self.overrides.functions,
            closing=self.closing,
            spans=self.spans,
        )


def _list_recorded(scenario: Scenario, served: Sequence[str]) -> Sequence[str]:
    """Return the served vendors that replay recorded responses."""
    if scenario.replay is None:
        return ()
    from emulator.handler.replay import list_recorded  # not needed without a replay

    return list_recorded(scenario.replay, served)


def _restrict(vendor: AnyVendor, plane: str, planes: Mapping[str, AnyPlane]) -> AnyVendor:
    """Return the vendor restricted to the endpoints of one of its ports."""
    if plane:
        return replace(vendor, endpoints=planes[plane].endpoints)
    apart = [endpoint for found in planes.values() for endpoint in found.endpoints]
    return replace(vendor, endpoints=tuple(e for e in vendor.endpoints if e not in apart)) if apart else vendor
