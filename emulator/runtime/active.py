"""Active scenario: a parsed scenario with its emulator, vendor handlers and credentials.

``factory.py`` builds it, ``runtime.py`` holds those of the server and of its sessions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from emulator.core.clock import Clock
from emulator.core.dataclass import fast_dataclass
from emulator.handler.diagnostics import Suggestions
from emulator.handler.handler import VendorApp
from emulator.handler.planning import Emulator
from emulator.scenario.parsed import ParsedScenario


class Apps(Mapping[str, VendorApp]):
    """Request handlers of the served vendors and of their extra listeners, each created on first use.

    ``planes``: port of each extra listener by name; ``[]`` finds these names, iteration leaves them out.
    """

    def __init__(
        self,
        names: Sequence[str],
        create: "Callable[[str, Apps], VendorApp]",
        planes: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._names = tuple(names)
        self._create = create
        self.planes = planes
        self._handlers: dict[str, VendorApp] = {}

    def __getitem__(self, name: str) -> VendorApp:
        app = self._handlers.get(name)
        if app is None:
            if name not in self:
                raise KeyError(name)
            app = self._handlers[name] = self._create(name, self)
        return app

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self.planes  # does not create the handler

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@fast_dataclass(frozen=True, slots=True, eq=False)
class ActiveScenario:
    """Immutable active scenario; a change replaces it, so a request ends under the scenario it began with.

    Fields:
        keys: principal by listed credential.
        namespace: name in a shared store: equal for equal scenario and seed in every process.
        epoch: distinguishes this activation from others of the same scenario; empty: the first.
    """

    loaded: ParsedScenario
    emulator: Emulator
    apps: Apps
    keys: Mapping[str, str]
    suggestions: Suggestions
    namespace: str
    epoch: str = ""


@fast_dataclass(frozen=True, slots=True)
class Activation:
    """Options of an activation that replicas share; absent: it starts now, with the clock of the scenario."""

    clock: Clock | None = None
    started: float | None = None
    epoch: str = ""


DEFAULT_ACTIVATION: Activation = Activation()
