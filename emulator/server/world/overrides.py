"""What flags say in place of a scenario."""

from dataclasses import dataclass

from emulator.latency import Latency
from emulator.scenario import schema
from emulator.state import DEFAULT, Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """``None``: the scenario has its say."""

    seed: int | None = None
    latency: Latency | None = None
    strict: bool = False
    header_faults: bool = True
    state_url: str = DEFAULT
    state_loss: Loss = "refuse"

    def apply(self, scenario: schema.Scenario) -> schema.Scenario:
        changes: dict[str, object] = {}
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.latency is not None:
            changes["latency"] = scenario.latency.merge(self.latency)
        if self.strict:
            changes["strict"] = True
        return scenario.model_copy(update=changes) if changes else scenario
