"""Registry of vendors in the order of their ports; a vendor is imported on first use.

A vendor's package defines ``environment(url)``: the variables that direct the vendor's clients to a base URL.
Its ``routes`` module defines the rest as ``VENDOR``, with a parser for each endpoint.

In each package ``request`` checks what all routes share, ``decoder`` validates bodies as the vendor's own server does,
and ``parse`` of a route builds the call with its codec. ``render`` has that codec and whole responses, ``stream`` the
events of streams, ``shapes`` the parts that both share. ``profile`` is computed once for a deployment, ``errors`` has
the words of refusals, and ``settings`` the section of a scenario. A small route has all of it in one module.

What parses or validates raises ``EmulatedError`` at the first failed check, in the server's order and words; docstrings
name it where there is more to say.
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
    """Return the environment variables that direct a vendor's clients to a base URL."""
    variables: Mapping[str, str] = import_module(f"{__name__}.{name}").environment(url)
    return variables
