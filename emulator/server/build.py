"""A loaded scenario becomes vendors ready to answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.control.api import ControlPlane
from emulator.control.journal import Journal
from emulator.core.clock import Clock
from emulator.core.vendor import Vendor
from emulator.latency import Latency
from emulator.pipeline import Emulator
from emulator.scenario.loaded import LoadedScenario
from emulator.server.app import VendorApp
from emulator.server.stage import Overrides, Stage
from emulator.vendors import VENDORS


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """One emulator, not yet listening; what changes with the scenario is read from the stage."""

    stage: Stage
    control: ControlPlane

    @property
    def apps(self) -> tuple[VendorApp, ...]:
        return tuple(self.stage.running.apps.values())

    @property
    def emulator(self) -> Emulator:
        return self.stage.running.emulator

    @property
    def clock(self) -> Clock:
        return self.emulator.clock

    @property
    def journal(self) -> Journal:
        return self.stage.journal


def build(
    loaded: LoadedScenario,
    *,
    library: Mapping[str, LoadedScenario] | None = None,
    seed: int | None = None,
    latency: Latency | None = None,
    strict: bool = False,
    header_faults: bool = True,
    vendors: Sequence[Vendor] = VENDORS,
) -> Built:
    """Put a scenario to work; ``seed``, ``latency`` and ``strict``, where given, win over every scenario's.

    Raises:
        ScenarioError: a vendor section or deployment that does not fit, every mistake at once.
    """
    overrides = Overrides(seed=seed, latency=latency, strict=strict, header_faults=header_faults)
    stage = Stage(loaded, library or {}, overrides, vendors)
    return Built(stage, ControlPlane(stage))
