"""Find the names of this machine for a TLS certificate, and check whether a certificate can hold a name."""

import ipaddress
import re
import socket

_NAME = re.compile(r"(\*\.)?(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*", re.IGNORECASE)


def find_own_names() -> list[str]:
    """Return the host name of this machine, if a certificate can hold it."""
    name = socket.gethostname().lower()
    return [name] if can_be_named(name) else []


def can_be_named(name: str) -> bool:
    """Return whether a certificate can hold a name; wildcard addresses such as ``0.0.0.0`` cannot be requested."""
    try:
        return not ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return len(name) <= 253 and _NAME.fullmatch(name) is not None
