"""Decide whether a host name is this machine.

The health probe, Azure's ``Strict-Transport-Security`` and the choice of trusted certificates depend on this. Imports
stay minimal for the health probe.
"""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: a loopback address, ``localhost`` or a name under it."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    from ipaddress import IPv6Address, ip_address

    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
