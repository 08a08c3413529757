"""Control plane of a server. Its API is imported once the server listens: it would take a twentieth of a start."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from emulator.control.state import ControlState

if TYPE_CHECKING:
    from emulator.control.api import ControlAPI
    from emulator.runtime.runtime import Runtime


class ControlPlane(ControlState):
    """Control plane of a server: its state and its API."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        runtime.reporters["metrics"] = lambda about: self.api.report_metrics(about)
        runtime.reporters["open"] = lambda about: self.api.report_open(about)

    @cached_property
    def api(self) -> ControlAPI:
        """Return the handler of all requests under ``/_emulator``."""
        from emulator.control.api import ControlAPI

        return ControlAPI(self)
