"""State that the synchronous and the asynchronous client share: the addressed server and session, and vendors' URLs."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import SplitResult, urlsplit

from emulator.core.json import JSON

Via = Literal["port", "path", "root"]
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class Target:
    """Server and session that a client addresses.

    Fields:
        url: URL of the emulator's front port.
        session: empty: the server's own state.
        via: kind of the vendors' URLs, such as ``port`` or ``path``; ``None``: by the session and the port mapping.
        ports: base URLs of the session's own ports.
        known: base URLs as the server reports them, once requested.
    """

    url: str
    session: str = ""
    via: Via | None = None
    ports: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> Mapping[str, JSON]:
        return {"session": self.session} if self.session else {}

    def reach(self, url: str) -> str:
        """Convert a URL reported by the server into one that this machine can reach."""
        ours, theirs = urlsplit(self.url).hostname or "", urlsplit(url)
        if theirs.hostname not in _LOOPBACK or ours in _LOOPBACK:
            return url
        host = f"[{ours}]" if ":" in ours else ours
        return theirs._replace(netloc=f"{host}:{theirs.port}").geturl()

    def is_at(self, front: str) -> bool:
        """Return whether the server reports the client's own URL, without a port mapping or balancer in between."""
        return _find_origin(urlsplit(self.url)) == _find_origin(urlsplit(front))


def _find_origin(url: SplitResult) -> tuple[str, int]:
    return url.scheme, url.port or _PORTS.get(url.scheme, 0)


class BaseClient:
    """Base of the clients: an emulator, and optionally one of its sessions.

    A client that :meth:`session` creates shares the connections of the one it is created from.
    """

    def __init__(self, url: str, session: str = "", via: Via | None = None) -> None:
        self._target = Target(url.rstrip("/"), session, via)
        self._is_part = False

    @property
    def front(self) -> str:
        """Return the URL of the emulator's front port."""
        return self._target.url

    @property
    def session_name(self) -> str:
        """Return the name of the client's session; empty: none."""
        return self._target.session

    def __repr__(self) -> str:
        return f"<emulator at {self.front}{f', session {self.session_name!r}' if self.session_name else ''}>"

    def session(self, name: str) -> Self:
        """Return a client bound to a session; closing it ends the session."""
        bound = copy(self)
        bound._target = Target(self.front, name, self._target.via, known=self._target.known)
        bound._is_part = True
        return bound
