"""A scenario at work, and the vendors that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from emulator.core.clock import Clock
from emulator.handler.app import VendorApp
from emulator.handler.diagnostics import Suggestions
from emulator.handler.planning import Emulator
from emulator.scenario.parsed import ParsedScenario


class Apps(Mapping[str, VendorApp]):
    """The vendors that are served, each mounted when it is first asked for, and so are their planes.

    ``planes``: by name, the port that each wants; they are found here, and not counted among the vendors.
    """

    def __init__(
        self,
        names: Sequence[str],
        mount: Callable[[str, Apps], VendorApp],
        planes: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._names = tuple(names)
        self._mount = mount
        self.planes = planes
        self._mounted: dict[str, VendorApp] = {}

    def __getitem__(self, name: str) -> VendorApp:
        app = self._mounted.get(name)
        if app is None:
            if name not in self:
                raise KeyError(name)
            app = self._mounted[name] = self._mount(name, self)
        return app

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self.planes  # without mounting it

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, slots=True, eq=False)
class ActiveScenario:
    """A scenario at work; replaced whole, so a request that has begun ends as it began.

    Fields:
        keys: whom the credentials that it lists stand for.
        namespace: its name in a store: the same scenario under the same seed is the same for every process.
        epoch: tells this beginning of it from others; empty: the first.
    """

    loaded: ParsedScenario
    emulator: Emulator
    apps: Apps
    keys: Mapping[str, str]
    hints: Suggestions
    namespace: str
    epoch: str = ""


@dataclass(frozen=True, slots=True)
class Activation:
    """How a scenario begins where others are told of it; absent: now, by the clock that it asks for."""

    clock: Clock | None = None
    started: float | None = None
    epoch: str = ""


NOW: Activation = Activation()
