"""The names that a local authority signs for: those of this machine, private networks and what was asked for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

from cryptography import x509

_DNS = "localhost"  # and all below it
_PRIVATE = (
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
)  # RFC 1918, 3927, 4193 and 4291
_NETWORKS = [ipaddress.ip_network(text) for text in _PRIVATE]


def constrain(names: Iterable[str]) -> x509.NameConstraints:
    """Return what an authority may sign for: names of its own, and each of ``names`` with all below it."""
    found: dict[str, x509.GeneralName] = {_DNS: x509.DNSName(_DNS)}
    found.update((str(network), x509.IPAddress(network)) for network in _NETWORKS)
    for name in names:
        if not _is_covered(name, found.values()):
            found[name] = _permit(name)
    return x509.NameConstraints(permitted_subtrees=[*found.values()], excluded_subtrees=None)


def find_uncovered(certificate: x509.Certificate, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` that an authority does not sign for."""
    permitted = read_permitted(certificate)
    return [] if permitted is None else [name for name in names if not _is_covered(name, permitted)]


def read_permitted(certificate: x509.Certificate) -> list[x509.GeneralName] | None:
    """Return what an authority is limited to; absent: it signs for any name."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return None
    return [*(found.permitted_subtrees or ())]


def list_asked(certificate: x509.Certificate) -> list[str]:
    """Return the names beyond its own that an authority signs for."""
    own = {_DNS, *_PRIVATE}
    found = [str(name.value) for name in read_permitted(certificate) or () if str(name.value) not in own]
    return [text.removesuffix("/32").removesuffix("/128") for text in found]


def _permit(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_network(name))
    except ValueError:
        return x509.DNSName(name.removeprefix("*."))


def _is_covered(name: str, permitted: Iterable[x509.GeneralName]) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        plain = name.removeprefix("*.").lower()
        subtrees = (each.value for each in permitted if isinstance(each, x509.DNSName))
        return any(plain == tree or plain.endswith(f".{tree}") for tree in subtrees)
    networks = (each.value for each in permitted if isinstance(each, x509.IPAddress))
    return any(address in ipaddress.ip_network(network) for network in networks)
