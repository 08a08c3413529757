"""Import modules of a package without its ``__init__``, which runs when a name of the package itself is first used.

A module that takes such a name as it is imported has to be preceded by that name, as ``recording/receiver.py`` shows;
otherwise its import fails as a circular one. Only one thread at a time may import the package's modules.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType

_LOCK = RLock()


class DeferredPackage(ModuleType):
    """Package whose ``__init__`` has not run yet; each of its modules is imported as usual."""

    def __getattr__(self, name: str) -> object:
        """Import the module of that name; for any other name run ``__init__``."""
        if find_spec(f"{self.__name__}.{name}") is not None:
            return import_module(f"{self.__name__}.{name}")
        with _LOCK:
            spec = vars(self).pop("_deferred", None)
            if spec is not None:
                try:
                    spec.loader.exec_module(self)
                except BaseException:
                    vars(self)["_deferred"] = spec  # the next use tries again
                    raise
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)


def defer_package(name: str) -> None:
    """Defer the ``__init__`` of an installed package, unless it has run."""
    if name in sys.modules:
        return
    spec = find_spec(name)
    if spec is not None and spec.loader is not None:
        package = module_from_spec(spec)
        package.__class__ = DeferredPackage
        vars(package)["_deferred"] = spec
        sys.modules[name] = package
