"""Who may do what with an endpoint."""

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import API, LLAMA

KEYS = "keys: [{token: t-ann, principal: ann}, {token: t-ben, principal: ben}]"
PERMISSIONS = "/api/2.0/permissions/serving-endpoints"


class Users:
    """Ann's endpoint, and what others do with it."""

    def __init__(self, running: Running, name: str = "") -> None:
        self.running = running
        self.id = name

    async def ask(self, who: str, method: str, path: str, body: JSON = None) -> Answer:
        headers = {"Authorization": f"Bearer t-{who}"}
        return await self.running.ask("databricks", path, body, method=method, headers=headers)

    async def grant(self, *grants: JSON) -> None:
        answer = await self.ask("ann", "PUT", f"{PERMISSIONS}/{self.id}", {"access_control_list": list(grants)})
        assert answer.status == 200

    async def try_all(self, who: str) -> list[int]:
        """Status of a look, a query and a change."""
        chat: JSON = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
        return [
            (await self.ask(who, "GET", f"{API}/mine")).status,
            (await self.ask(who, "POST", "/serving-endpoints/mine/invocations", chat)).status,
            (await self.ask(who, "PATCH", f"{API}/mine/tags", {"add_tags": [{"key": "a"}]})).status,
        ]


async def open_users(start: Start) -> Users:
    users = Users(await start(KEYS))
    made = await users.ask("ann", "POST", API, {"name": "mine", "config": {"served_entities": [LLAMA]}})
    users.id = made.json()["id"]
    return users


@pytest.mark.covers("databricks/management routes", "set_permissions", "update_permissions")
@pytest.mark.covers("databricks/shapes of an endpoint", "permission_level")
@pytest.mark.parametrize(
    ("grant", "allowed"),
    [
        pytest.param({"user_name": "ben@example.com", "permission_level": "CAN_VIEW"}, 1, id="to see"),
        pytest.param({"user_name": "ben", "permission_level": "CAN_QUERY"}, 2, id="to query"),
        pytest.param({"service_principal_name": "ben", "permission_level": "CAN_MANAGE"}, 3, id="to manage"),
        pytest.param({"group_name": "users", "permission_level": "CAN_QUERY"}, 2, id="to everybody"),
        pytest.param({"group_name": "admins", "permission_level": "CAN_MANAGE"}, 0, id="to a group of others"),
        pytest.param({"user_name": "cem", "permission_level": "CAN_MANAGE"}, 0, id="to another"),
    ],
)
async def test_permissions_are_enforced(start: Start, grant: JSON, allowed: int) -> None:
    users = await open_users(start)
    assert await users.try_all("ben") == [200, 200, 200]  # without grants everyone has access
    await users.grant(grant)
    assert await users.try_all("ben") == [200] * allowed + [403] * (3 - allowed)
    assert await users.try_all("ann") == [200, 200, 200]
    listed = [e["name"] for e in (await users.ask("ben", "GET", API)).json()["endpoints"]]
    assert ("mine" in listed) == bool(allowed)


async def test_denied_request_names_missing_permission(start: Start) -> None:
    users = await open_users(start)
    await users.grant({"user_name": "ben", "permission_level": "CAN_VIEW"})
    assert (await users.ask("ben", "GET", f"{API}/mine")).json()["permission_level"] == "CAN_VIEW"
    for method, path, word in (
        ("POST", "/serving-endpoints/mine/invocations", "Query"),
        ("DELETE", f"{API}/mine", "Manage"),
        ("PUT", f"{PERMISSIONS}/{users.id}", "Manage"),
    ):
        answer = await users.ask("ben", method, path, {"messages": []})
        expected = {
            "error_code": "PERMISSION_DENIED",
            "message": f"User does not have permission '{word}' on Endpoint mine",
        }
        assert (answer.status, answer.json()) == (403, expected)
