"""What a principal may do with an endpoint.

Source: docs.databricks.com, "Serving endpoint ACLs"; databricks-demos/dbdemos issue 218 for the text. There is no
directory of groups: everybody is of ``users``, nobody of another.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint

LEVELS = ("CAN_VIEW", "CAN_QUERY", "CAN_MANAGE")
WHO = ("user_name", "group_name", "service_principal_name")
_EVERYBODY = ("users", "account users")


def level_of(kept: StoredEndpoint | None, principal: str) -> str | None:
    """The most that a principal may do: all of it, as long as nobody has said who may what."""
    if kept is None or not kept.access or _is(kept.creator, principal):
        return LEVELS[-1]
    ranks = [LEVELS.index(str(grant["permission_level"])) for grant in kept.access if _covers(grant, principal)]
    return LEVELS[max(ranks)] if ranks else None


def check_access(kept: StoredEndpoint | None, principal: str, level: str) -> None:
    """Refuse a principal who may not do so much.

    Raises:
        EmulatedError: 403.
    """
    granted = level_of(kept, principal)
    if kept is not None and (granted is None or LEVELS.index(granted) < LEVELS.index(level)):
        word = level.removeprefix("CAN_").capitalize()
        text = f"User does not have permission '{word}' on Endpoint {kept.name}"
        raise EmulatedError(ErrorKind.FORBIDDEN, text)


def _covers(grant: Mapping[str, JSON], principal: str) -> bool:
    if grant.get("group_name") in _EVERYBODY:
        return True
    return any(_is(str(grant.get(who) or ""), principal) for who in ("user_name", "service_principal_name"))


def _is(name: str, principal: str) -> bool:
    """A principal may be named with its mail address or without."""
    return bool(name) and name.partition("@")[0] == principal.partition("@")[0]
