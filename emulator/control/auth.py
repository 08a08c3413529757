"""Who may steer: no browser for the page of another origin, no stranger, and only who has the token if there is one."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from emulator.core.errors import ProblemError

_OURS = ("same-origin", "none")  # what a browser says of a page of ours, and of an address that somebody typed
_NO_HOST = re.compile(r"[\s/?#@\\]")  # letters that a name and a port have not
_PORTS = {"http": 80, "https": 443}
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Headers = CIMultiDict[str] | CIMultiDictProxy[str]


@dataclass(frozen=True, slots=True)
class ControlAuth:
    """Lets control requests in.

    Fields:
        hosts: names under which it may be asked for and pages that may ask, beside those nobody else can have;
            ``*.example.com``: every name below.
        token: without it nobody is let in; absent: whoever is not of the public internet.
        machine: this machine's name.
    """

    hosts: tuple[str, ...] = ()
    token: str | None = None
    machine: str = field(default_factory=socket.gethostname)

    def check_browser(self, headers: Headers, target: str = "/", local: str | None = None) -> None:
        """Refuse what a page of another origin makes a browser send, also under a name that was bound to us later.

        Args:
            target: as it stands in the first line; a whole URL names a host, too (RFC 9112, section 3.2.2).
            local: the address that the connection reached; ``None``: nobody knows, and it counts as loopback.

        Raises:
            ProblemError: 403.
        """
        reached = _read_address(local or "")
        if target[:1] != "/" and not self._knows(_name_of(target), reached):
            raise _forbidden("It was asked for by a URL of a name that others may own; --allow-host lets it in.")
        for host in headers.getall("Host", ()):
            if _NO_HOST.search(host) or not self._knows(_name_of(f"//{host}"), reached):
                raise _forbidden(f"It was asked for as {host!r}, a name that others may own; --allow-host lets it in.")
        origins = headers.getall("Origin", ())
        if any(self._allows(origin) for origin in origins):
            return
        if not all(_is_same(origin, headers.get("Host", "")) for origin in origins):
            raise _forbidden(f"A page of {', '.join(origins)} may not steer it; --allow-host lets pages of a host in.")
        sites = headers.getall("Sec-Fetch-Site", ())
        if not all(site in _OURS for site in sites):
            raise _forbidden("A page of another origin may not steer it.")

    def check_caller(self, headers: Headers, remote: str | None) -> None:
        """Refuse whoever has not the token; without one, callers from public addresses.

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

    def _knows(self, name: str | None, reached: Address | None) -> bool:
        """A name that nobody can have bound to the address that was reached.

        A network hands out names without a dot, by its search domain, and names under ``.local``. On loopback such a
        name is refused: nobody but this machine itself may have bound it, and this machine has its own names.
        """
        if name is None:
            return False
        machine = self.machine.lower()
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
        name = _name_of(origin)
        return name is not None and self._lists(name)


def _name_of(url: str) -> str | None:
    """The host in it, in lower case; ``None``: there is none."""
    try:
        name = urlsplit(url).hostname
    except ValueError:
        return None
    return name.removesuffix(".") if name else None


def _is_same(origin: str, host: str) -> bool:
    """The page is ours: it came from the name and port that the request goes to."""
    try:
        page, asked = urlsplit(origin), urlsplit(f"//{host}")
        usual = _PORTS.get(page.scheme)  # none: a page of an app, such as ``capacitor://localhost``
        if usual is None or not page.hostname:
            return False
        return page.hostname == asked.hostname and (page.port or usual) == (asked.port or usual)
    except ValueError:
        return False


def _read_address(text: str) -> Address | None:
    """An address; one of IPv4 that is written as IPv6 is that of IPv4. ``None``: it is a name."""
    try:
        address: Address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def _is_private(address: Address) -> bool:
    """An address that is not reached from the public internet."""
    return address.is_private or address.is_loopback or address.is_link_local


def _is_own(text: str) -> bool:
    address = _read_address(text)
    return address is not None and _is_private(address)


def _read_bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_equal(token: str, given: str) -> bool:
    """Compared in a time that tells nothing."""
    return hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogateescape"))


def _forbidden(detail: str) -> ProblemError:
    return ProblemError(403, "Forbidden", detail)
