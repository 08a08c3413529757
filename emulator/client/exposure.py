"""Warn before a client sends the control token over plain HTTP to an address of the public internet.

Both clients warn once, before the first request; ``emulator report`` prints the same.
"""

import socket
import warnings
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

Resolve = Callable[[str], Iterable[str]]


class TokenExposedWarning(UserWarning):
    """Warning that a token goes over plain HTTP to a public address."""


def resolve(host: str) -> list[str]:
    """Return the addresses of a host; none if its name is unknown, which the connection then reports."""
    try:
        return [str(row[4][0]) for row in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return []


def explain_exposure(url: str, resolve: Resolve = resolve) -> str | None:
    """Return a warning if others can read a token sent to a URL; ``None`` otherwise."""
    parts = urlsplit(url)
    if parts.scheme != "http":
        return None
    public = next(filter(_is_public, resolve(parts.hostname or "")), None)
    if public is None:
        return None
    return f"the token goes over plain HTTP to the public address {public}, so that others can read it; serve TLS there"


def warn_of_exposure(url: str) -> None:
    """Warn if others can read a token sent to a URL."""
    line = explain_exposure(url)
    if line is not None:
        warnings.warn(line, TokenExposedWarning, stacklevel=2)


async def warn_of_exposure_async(url: str) -> None:
    """Warn as :func:`warn_of_exposure` does; the name is resolved in a thread."""
    import asyncio  # not needed by the synchronous client

    await asyncio.to_thread(warn_of_exposure, url)


def _is_public(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_global
    return address.is_global
