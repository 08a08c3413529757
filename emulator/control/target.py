"""What the control plane asks of the server around it."""

from collections.abc import Mapping
from typing import Protocol

from emulator.control.journal import Journal
from emulator.core.vendor import Metrics
from emulator.pipeline import Emulator
from emulator.scenario.loaded import LoadedScenario


class Active(Protocol):
    """The scenario at work."""

    @property
    def loaded(self) -> LoadedScenario: ...

    @property
    def emulator(self) -> Emulator: ...

    @property
    def apps(self) -> Mapping[str, object]:
        """The vendors that are served, by name."""


class Target(Protocol):
    """What the control plane steers: one scenario is at work, and another can take its place."""

    @property
    def active(self) -> Active: ...

    @property
    def library(self) -> Mapping[str, LoadedScenario]: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def metrics(self) -> Mapping[str, Metrics]: ...

    def load(self, text: bytes) -> LoadedScenario: ...

    def put(self, loaded: LoadedScenario) -> None: ...

    def reset(self) -> None: ...

    async def reset_session(self, session: str) -> None: ...
