"""What both clients share: the server, the session, and the URLs of the vendors."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import SplitResult, urlsplit

from emulator.core.json import JSON

Via = Literal["port", "path", "root"]
_AT_HOME = ("127.0.0.1", "localhost", "::1")
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class Target:
    """Whose calls a client is about.

    Fields:
        url: of the emulator's front.
        session: empty: the server's own.
        via: which way vendors are reached; ``None``: as it suits the session.
        ports: base URLs of ports that are the session's own.
        known: base URLs as the server knows them, once its front was asked for.
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
        """A URL as the server knows it, as it can be reached from here."""
        ours, theirs = urlsplit(self.url).hostname or "", urlsplit(url)
        if theirs.hostname not in _AT_HOME or ours in _AT_HOME:
            return url
        host = f"[{ours}]" if ":" in ours else ours
        return theirs._replace(netloc=f"{host}:{theirs.port}").geturl()

    def is_at(self, front: str) -> bool:
        """Whether the server's front is at the port that it says itself: no port is mapped and no balancer between."""
        return _name_place(urlsplit(self.url)) == _name_place(urlsplit(front))


def _name_place(url: SplitResult) -> tuple[str, int]:
    return url.scheme, url.port or _PORTS.get(url.scheme, 0)


class BaseClient:
    """An emulator, and one session of it or none.

    ``is_part``: it was made by :meth:`session`, and shares its maker's connections.
    """

    def __init__(self, url: str, session: str = "", via: Via | None = None) -> None:
        self._world = Target(url.rstrip("/"), session, via)
        self._is_part = False

    @property
    def front(self) -> str:
        """URL of the emulator."""
        return self._world.url

    @property
    def session_name(self) -> str:
        """The session it is bound to; empty: none."""
        return self._world.session

    def __repr__(self) -> str:
        return f"<emulator at {self.front}{f', session {self.session_name!r}' if self.session_name else ''}>"

    def session(self, name: str) -> Self:
        """A client bound to a session; to close it is to end the session."""
        bound = copy(self)
        bound._world = Target(self.front, name, self._world.via, known=self._world.known)
        bound._is_part = True
        return bound
