"""What both clients are: an emulator's URL, and the session that questions are about."""

from __future__ import annotations

from copy import copy
from typing import Self

from emulator.client.world import Via, World


class Bound:
    """An emulator, and one session of it or none.

    ``is_part``: it was made by :meth:`session`, and shares its maker's connections.
    """

    def __init__(self, url: str, session: str = "", via: Via | None = None) -> None:
        self._world = World(url.rstrip("/"), session, via)
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
        bound._world = World(self.front, name, self._world.via, known=self._world.known)
        bound._is_part = True
        return bound
