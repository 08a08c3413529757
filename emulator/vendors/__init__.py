"""Every vendor the emulator can stand in for, in the order of their ports; each is imported when it is asked for.

The package of a vendor says what costs no import: ``environment(url)``, what to export so that the vendor's
clients come to a base URL. All else is the ``VENDOR`` of its ``routes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.core.vendor import AnyVendor

_NAMES = ("databricks", "azure", "mindie", "tgi", "openvino")


class _Vendors(Mapping[str, "AnyVendor"]):
    def __getitem__(self, name: str) -> AnyVendor:
        if name not in _NAMES:
            raise KeyError(name)
        vendor: AnyVendor = import_module(f"{__name__}.{name}.routes").VENDOR
        return vendor

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


VENDORS: Mapping[str, AnyVendor] = _Vendors()


def environment_of(name: str, url: str) -> Mapping[str, str]:
    """What to export so that a vendor's clients come to a base URL."""
    variables: Mapping[str, str] = import_module(f"{__name__}.{name}").environment(url)
    return variables
