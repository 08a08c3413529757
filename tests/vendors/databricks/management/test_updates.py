"""Limits, gateway, tags, notifications and telemetry."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import CUSTOM, Workspace, open_workspace

CLAUDE = "databricks-claude-sonnet-4-5"


def limit(**fields: JSON) -> JSON:
    return {"key": "endpoint", "renewal_period": "minute", **fields}


@pytest.fixture
async def workspace(start: Start) -> Workspace:
    found = await open_workspace(start, "")
    await found.make()
    return found


async def test_rate_limit_resets_after_minute(workspace: Workspace) -> None:
    await workspace.call("PUT", "/mine/ai-gateway", {"rate_limits": [limit(calls=2)]})
    answers = [await workspace.chat() for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[-1].json()["error_code"] == "REQUEST_LIMIT_EXCEEDED"
    assert answers[-1].header("Retry-After") == "60"
    workspace.pass_time(60)
    assert (await workspace.chat()).status == 200
    await workspace.call("PUT", "/mine/ai-gateway", {})
    assert [(await workspace.chat()).status for _ in range(3)] == [200] * 3


@pytest.mark.covers("databricks/management routes", "put_ai_gateway")
async def test_limits_by_tokens_and_user(workspace: Workspace) -> None:
    await workspace.call("PUT", "/mine/ai-gateway", {"rate_limits": [limit(tokens=30)]})
    statuses = [(await workspace.chat()).status for _ in range(4)]
    assert statuses[0] == 200
    assert statuses[-1] == 429
    rules = [limit(calls=0, key="user", principal="somebody@example.com"), limit(calls=1, key="user")]
    await workspace.call("PUT", "/mine/ai-gateway", {"rate_limits": rules})
    assert [(await workspace.chat()).status for _ in range(2)] == [200, 429]


async def test_preconfigured_endpoint_has_ai_gateway(workspace: Workspace) -> None:
    path = f"/{CLAUDE}/ai-gateway"
    answer = (await workspace.call("PUT", path, {"rate_limits": [limit(calls=1)], "usage_tracking_config": {}})).json()
    assert answer == {"rate_limits": [limit(calls=1)], "usage_tracking_config": {}}
    assert [(await workspace.chat(CLAUDE)).status for _ in range(2)] == [200, 429]


async def test_scenario_configures_ai_gateway(start: Start) -> None:
    traits = "{ai_gateway: {rate_limits: [{key: endpoint, renewal_period: minute, calls: 1}]}}"
    rest = f"deployments: [{{vendor: databricks, name: mine, mode: provisioned, traits: {traits}}}]"
    workspace = await open_workspace(start, "", rest)
    assert (await workspace.get())["ai_gateway"]["rate_limits"] == [limit(calls=1)]
    assert [(await workspace.chat()).status for _ in range(2)] == [200, 429]


@pytest.mark.covers("databricks/management routes", "put (rate limits)")
async def test_legacy_rate_limits_apply(workspace: Workspace) -> None:
    answer = await workspace.call("PUT", "/mine/rate-limits", {"rate_limits": [limit(calls=1)]})
    assert answer.json() == {"rate_limits": [limit(calls=1)]}
    assert [(await workspace.chat()).status for _ in range(2)] == [200, 429]


@pytest.mark.covers("databricks/management routes", "patch (tags)")
@pytest.mark.covers("databricks/lifecycle", "tags")
async def test_tags_are_added_and_deleted(workspace: Workspace) -> None:
    for body, tags in (
        ({"add_tags": [{"key": "b", "value": "1"}, {"key": "a"}]}, {"a": "", "b": "1"}),
        ({"add_tags": [{"key": "b", "value": "2"}], "delete_tags": ["a", "none"]}, {"b": "2"}),
    ):
        answer = (await workspace.call("PATCH", "/mine/tags", body)).json()["tags"]
        assert [(tag["key"], tag["value"]) for tag in answer] == [*tags.items()]
        assert (await workspace.get())["tags"] == answer


@pytest.mark.covers("databricks/management routes", "update_notifications")
async def test_notifications(workspace: Workspace) -> None:
    wanted = {"email_notifications": {"on_update_failure": ["me@example.com"]}}
    answer = (await workspace.call("PATCH", "/mine/notifications", wanted)).json()
    assert list(answer.items()) == [*wanted.items(), ("name", "mine")]
    assert wanted.items() <= (await workspace.get()).items()


@pytest.mark.covers("databricks/management routes", "patch_telemetry_config")
async def test_telemetry_is_only_for_custom_models(workspace: Workspace) -> None:
    wanted = {"table_name_prefix": "t"}
    refused = await workspace.call("PATCH", "/mine/telemetry-config", wanted)
    assert (refused.status, refused.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    await workspace.make(CUSTOM, name="custom")
    answer = await workspace.call("PATCH", "/custom/telemetry-config", wanted)
    assert answer.json()["telemetry_config"] == wanted


@pytest.mark.covers("databricks/lifecycle", "rules of the gateway")
@pytest.mark.covers("databricks/limits", "rules of a gateway", case="too many")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("ai-gateway", {"rate_limits": [limit()]}, id="a limit of nothing"),
        pytest.param("ai-gateway", {"rate_limits": [limit(calls=-1)]}, id="a negative one"),
        pytest.param("ai-gateway", {"rate_limits": [limit(calls=1, key="moon")]}, id="for an unknown key"),
        pytest.param("ai-gateway", {"rate_limits": [limit(calls=1, renewal_period="hour")]}, id="of an hour"),
        pytest.param("ai-gateway", {"rate_limits": [limit(calls=1)] * 21}, id="too many"),
        pytest.param("rate-limits", {"rate_limits": {}}, id="no list"),
    ],
)
async def test_invalid_limits_are_rejected(workspace: Workspace, path: str, body: JSON) -> None:
    answer = await workspace.call("PUT", f"/mine/{path}", body)
    assert (answer.status, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
