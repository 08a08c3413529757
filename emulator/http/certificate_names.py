"""Names that a certificate can say."""

from __future__ import annotations

import ipaddress
import re
import socket

_NAME = re.compile(r"(\*\.)?(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*", re.IGNORECASE)


def find_own_names() -> list[str]:
    """Return what this machine is called, where a certificate can say it."""
    name = socket.gethostname().lower()
    return [name] if can_be_named(name) else []


def can_be_named(name: str) -> bool:
    """Return whether a client can ask for a name; the address that means every address cannot be asked for."""
    try:
        return not ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return len(name) <= 253 and _NAME.fullmatch(name) is not None
