"""Create the application, which is runtime and control plane, before any port is open.

``emulator serve``, its workers, emulators within a test process and ``emulator explain`` begin here.
"""

from collections.abc import Mapping

from emulator.control.plane import ControlPlane
from emulator.core.clock import Clock
from emulator.core.dataclass import fast_dataclass
from emulator.core.vendor import Vendors
from emulator.handler.forward import Forwarding
from emulator.handler.handler import VendorApp
from emulator.handler.planning import Emulator
from emulator.handler.reply_functions import ReplyFunctions
from emulator.journal.journal import Journal
from emulator.latency import Latency
from emulator.observability.spans import Spans
from emulator.runtime.factory import Overrides
from emulator.runtime.runtime import Runtime
from emulator.scenario.models import Clock as WantedClock
from emulator.scenario.parsed import ParsedScenario
from emulator.storage import DEFAULT_URL
from emulator.storage.resilient import Loss
from emulator.vendors import VENDORS


@fast_dataclass(frozen=True, slots=True, eq=False)
class Application:
    """Emulator application without listeners; everything that changes with the scenario is in the runtime."""

    runtime: Runtime
    control: ControlPlane

    @property
    def apps(self) -> tuple[VendorApp, ...]:
        return tuple(self.runtime.active.apps.values())

    @property
    def forwarding(self) -> Forwarding | None:
        return self.runtime.forwarding

    @property
    def emulator(self) -> Emulator:
        return self.runtime.active.emulator

    @property
    def clock(self) -> Clock:
        return self.emulator.clock

    @property
    def journal(self) -> Journal:
        return self.runtime.journal


def create_application(
    loaded: ParsedScenario,
    *,
    library: Mapping[str, ParsedScenario] | None = None,
    seed: int | None = None,
    clock: WantedClock | None = None,
    latency: Latency | None = None,
    strict: bool = False,
    header_faults: bool = True,
    state_url: str = DEFAULT_URL,
    state_loss: Loss = "refuse",
    vendors: Vendors = VENDORS,
    spans: Spans | None = None,
    forwarding: Forwarding | None = None,
    functions: ReplyFunctions | None = None,
) -> Application:
    """Create an application; ``seed``, ``latency`` and ``strict`` override those of every scenario.

    Args:
        clock: overrides the server's clock; sessions may have their own.
        spans: exports calls as traces.

    Raises:
        ScenarioError: vendor sections or deployments have mistakes; it lists them all.
        StoreError: no store has such a URL.
    """
    overrides = Overrides(
        seed=seed,
        clock=clock,
        latency=latency,
        strict=strict,
        header_faults=header_faults,
        state_url=state_url,
        state_loss=state_loss,
        forwarding=forwarding,
        functions=functions,
    )
    runtime = Runtime(loaded, library or {}, overrides, vendors, spans)
    return Application(runtime, ControlPlane(runtime))
