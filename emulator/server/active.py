"""A scenario at work, and the vendors that it serves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.pipeline import Emulator
from emulator.scenario.loaded import LoadedScenario
from emulator.server.app import VendorApp
from emulator.server.hints import Hints


class Apps(Mapping[str, VendorApp]):
    """The vendors that are served, each mounted when it is first asked for."""

    def __init__(self, names: Sequence[str], mount: Callable[[str], VendorApp]) -> None:
        self._names = tuple(names)
        self._mount = mount
        self._mounted: dict[str, VendorApp] = {}

    def __getitem__(self, name: str) -> VendorApp:
        app = self._mounted.get(name)
        if app is None:
            if name not in self._names:
                raise KeyError(name)
            app = self._mounted[name] = self._mount(name)
        return app

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without mounting it

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, slots=True, eq=False)
class ActiveScenario:
    """A scenario at work; replaced whole, so a request that has begun ends as it began."""

    loaded: LoadedScenario
    emulator: Emulator
    apps: Mapping[str, VendorApp]
    keys: frozenset[str]
    hints: Hints

    @property
    def world(self) -> str:
        """Its name in a store: the same scenario under the same seed is the same for every process."""
        return f"{self.loaded.digest}.{self.emulator.seed}"
