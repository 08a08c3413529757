"""The vendors that a scenario serves."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from emulator.server.app import VendorApp


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

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
