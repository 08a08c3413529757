"""Find the permission level of a principal on an endpoint, and refuse one that is too low.

Source: docs.databricks.com, "Serving endpoint ACLs"; databricks-demos/dbdemos issue 218 for the text. There is no
directory of groups: every principal belongs to ``users`` and to no other group.
"""

from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint

LEVELS = ("CAN_VIEW", "CAN_QUERY", "CAN_MANAGE")
GRANTEES = ("user_name", "group_name", "service_principal_name")
_ALL_USERS = ("users", "account users")


def level_of(stored: StoredEndpoint | None, principal: str) -> str | None:
    """Return the highest level of a principal; the highest of all for an endpoint without grants."""
    if stored is None or not stored.access or _is_same(stored.creator, principal):
        return LEVELS[-1]
    ranks = [LEVELS.index(str(grant["permission_level"])) for grant in stored.access if _covers(grant, principal)]
    return LEVELS[max(ranks)] if ranks else None


def validate_access(stored: StoredEndpoint | None, principal: str, level: str) -> None:
    """Raise for a principal below a level.

    Raises:
        EmulatedError: 403.
    """
    granted = level_of(stored, principal)
    if stored is not None and (granted is None or LEVELS.index(granted) < LEVELS.index(level)):
        word = level.removeprefix("CAN_").capitalize()
        text = f"User does not have permission '{word}' on Endpoint {stored.name}"
        raise EmulatedError(ErrorKind.FORBIDDEN, text)


def _covers(grant: Mapping[str, JSON], principal: str) -> bool:
    if grant.get("group_name") in _ALL_USERS:
        return True
    return any(_is_same(str(grant.get(who) or ""), principal) for who in ("user_name", "service_principal_name"))


def _is_same(name: str, principal: str) -> bool:
    """Return whether a name is a principal's, with or without the mail domain."""
    return bool(name) and name.partition("@")[0] == principal.partition("@")[0]
