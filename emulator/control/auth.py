"""Authorise requests to the control API: same-origin browsers, private addresses, the control token if one is set.

``api.py`` asks it before it runs a handler.
"""

import hmac
import ipaddress
import re
import socket
from dataclasses import field
from functools import partial
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import ProblemError

_OWN_SITES = ("same-origin", "none")  # Sec-Fetch-Site of the console, and of a URL typed by the user
_NO_HOST = re.compile(r"[\s/?#@\\]")  # characters that a host and port never have
_PORTS = {"http": 80, "https": 443}
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Headers = CIMultiDict[str] | CIMultiDictProxy[str]


@fast_dataclass(frozen=True, slots=True)
class ControlAuth:
    """Authorisation of control requests.

    Fields:
        hosts: names accepted in ``Host`` and ``Origin`` besides private ones; ``*.example.com`` has every subdomain.
        token: token that every request must have; ``None``: requests from public addresses are refused instead.
        hostname: name of this machine.
    """

    hosts: tuple[str, ...] = ()
    token: str | None = None
    hostname: str = field(default_factory=socket.gethostname)

    def check_browser(self, headers: Headers, target: str = "/", local: str | None = None) -> None:
        """Refuse cross-origin browser requests, DNS rebinding included.

        Args:
            target: target of the request line; a whole URL names a host, too (RFC 9112, section 3.2.2).
            local: local address of the connection; ``None``: unknown, treated as loopback.

        Raises:
            ProblemError: 403.
        """
        reached = _read_address(local or "")
        if target[:1] != "/" and not self._is_private_name(_find_host(target), reached):
            raise _forbidden("It was asked for by a URL of a name that others may own; --allow-host lets it in.")
        for host in headers.getall("Host", ()):
            if _NO_HOST.search(host) or not self._is_private_name(_find_host(f"//{host}"), reached):
                raise _forbidden(f"It was asked for as {host!r}, a name that others may own; --allow-host lets it in.")
        origins = headers.getall("Origin", ())
        if any(self._allows(origin) for origin in origins):
            return
        if not all(_is_same(origin, headers.get("Host", "")) for origin in origins):
            raise _forbidden(f"A page of {', '.join(origins)} may not steer it; --allow-host lets pages of a host in.")
        sites = headers.getall("Sec-Fetch-Site", ())
        if not all(site in _OWN_SITES for site in sites):
            raise _forbidden("A page of another origin may not steer it.")

    def check_caller(self, headers: Headers, remote: str | None) -> None:
        """Refuse a request without the token; if no token is set, one from a public address.

        Raises:
            ProblemError: 401 or 403.
        """
        if self.token is None:
            if remote and not _is_own(remote):
                raise _forbidden(f"{remote} is a public address; with --control-token it may ask with the token.")
            return
        given = (headers.get("x-emulator-token"), _read_bearer(headers.get("Authorization", "")))
        if not any(map(partial(_is_equal, self.token), filter(None, given))):
            detail = "It takes the token of --control-token, as Authorization: Bearer or as x-emulator-token."
            raise ProblemError(401, "Unauthorized", detail, {"WWW-Authenticate": 'Bearer realm="emulator"'})

    def _is_private_name(self, name: str | None, reached: Address | None) -> bool:
        """Return whether a host name cannot be bound to ``reached`` by a public DNS server.

        A private network resolves names without a dot (search domain) and names under ``.local`` (mDNS). On loopback
        these are refused: there only this machine's own names are legitimate.
        """
        if name is None:
            return False
        machine = self.hostname.lower()
        if name in ("localhost", machine) or name.endswith(".localhost") or self._lists(name):
            return True
        address = _read_address(name)
        if reached is None or reached.is_loopback:
            return address is not None and address.is_loopback
        if address is not None:
            return _is_private(address)
        return name == f"{machine}.local" or ("." not in name and ":" not in name and _is_private(reached))

    def _lists(self, name: str) -> bool:
        return any(name == host or (host[:2] == "*." and name.endswith(host[1:])) for host in self.hosts)

    def _allows(self, origin: str) -> bool:
        name = _find_host(origin)
        return name is not None and self._lists(name)


def _find_host(url: str) -> str | None:
    """Return the host of a URL in lower case, or ``None``."""
    try:
        name = urlsplit(url).hostname
    except ValueError:
        return None
    return name.removesuffix(".") if name else None


def _is_same(origin: str, host: str) -> bool:
    """Return whether an origin has the host and port of the request."""
    try:
        page, asked = urlsplit(origin), urlsplit(f"//{host}")
        port = _PORTS.get(page.scheme)  # none: a page of an app, such as ``capacitor://localhost``
        if port is None or not page.hostname:
            return False
        return page.hostname == asked.hostname and (page.port or port) == (asked.port or port)
    except ValueError:
        return False


def _read_address(text: str) -> Address | None:
    """Parse an address, IPv4-mapped IPv6 as IPv4; return ``None`` for a name."""
    try:
        address: Address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def _is_private(address: Address) -> bool:
    return address.is_private or address.is_loopback or address.is_link_local


def _is_own(text: str) -> bool:
    address = _read_address(text)
    return address is not None and _is_private(address)


def _read_bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_equal(token: str, given: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogateescape"))


def _forbidden(detail: str) -> ProblemError:
    return ProblemError(403, "Forbidden", detail)
