"""Endpoints that are made, changed and deleted."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import CUSTOM, LLAMA, Workspace, external, open_workspace

OWN = "deployments: [{vendor: databricks, name: mine, mode: provisioned, model: llama}]"


@pytest.fixture
async def workspace(start: Start) -> Workspace:
    """Where a config serves a minute after it was given, on a frozen clock."""
    return await open_workspace(start)


async def state_of(workspace: Workspace) -> str:
    shape = (await workspace.get())["state"]
    return " ".join([shape["ready"], shape["config_update"], shape["suspend"]])


@pytest.mark.covers("databricks/management routes", "create", "create_and_wait")
@pytest.mark.covers("databricks/shapes of an endpoint", "creator_display_name, creator_kind", "pending_config")
@pytest.mark.covers("databricks/lifecycle", "states of a new endpoint")
async def test_created_endpoint_becomes_ready_after_cold_start(workspace: Workspace) -> None:
    made = (await workspace.make(tags=[{"key": "b"}, {"key": "a", "value": "1"}])).json()
    assert (made["creator"], made["task"], made["tags"][0]) == (
        "default@example.com", "llm/v1/chat", {"key": "a", "value": "1"},
    )  # fmt: skip
    assert (made["creator_display_name"], made["creator_kind"]) == ("default", "User")
    assert "config" not in made
    assert made["pending_config"]["start_time"] == made["creation_timestamp"]
    assert await state_of(workspace) == "NOT_READY IN_PROGRESS NOT_SUSPENDED"
    assert (await workspace.chat()).status == 503
    workspace.pass_time(60)
    assert await state_of(workspace) == "READY NOT_UPDATING NOT_SUSPENDED"
    shape = await workspace.get()
    assert "pending_config" not in shape
    assert shape["last_updated_timestamp"] == shape["creation_timestamp"] + 60_000
    answer = await workspace.chat()
    assert answer.status == 200
    assert answer.header("served-model-name") == "system.ai.meta_llama_v3_1_8b_instruct-2"


@pytest.mark.covers("databricks/management routes", "create_provisioned_throughput_endpoint")
@pytest.mark.covers("databricks/shapes of an endpoint", "deployment states")
@pytest.mark.covers("databricks/lifecycle", "names of entities", "traffic of one entity")
@pytest.mark.parametrize("path", ["", "/pt"])
async def test_new_endpoint_config_has_defaults(workspace: Workspace, path: str) -> None:
    bounds = {"min_provisioned_throughput": 0, "max_provisioned_throughput": 980}
    made = await workspace.call("POST", path, {"name": "mine", "config": {"served_entities": [{**LLAMA, **bounds}]}})
    shape, name = made.json(), "system.ai.meta_llama_v3_1_8b_instruct-2"
    assert (shape["description"], shape["route_optimized"], shape["permission_level"]) == ("", False, "CAN_MANAGE")
    (entity,) = shape["pending_config"]["served_entities"]
    assert (entity["name"], entity["scale_to_zero_enabled"], entity["state"]) == (
        name, False, {"deployment": "DEPLOYMENT_CREATING", "deployment_state_message": ""},
    )  # fmt: skip
    assert shape["pending_config"]["traffic_config"]["routes"] == [
        {"served_model_name": name, "served_entity_name": name, "traffic_percentage": 100}
    ]
    workspace.pass_time(60)
    (entity,) = (await workspace.get())["config"]["served_entities"]
    assert entity["state"]["deployment"] == "DEPLOYMENT_READY"


@pytest.mark.covers("databricks/management routes", "update_provisioned_throughput_endpoint_config")
async def test_provisioned_endpoint_config_is_updated(workspace: Workspace) -> None:
    await workspace.make()
    workspace.pass_time(60)
    config = {"served_entities": [{**LLAMA, "max_provisioned_throughput": 1960}]}
    assert (await workspace.call("PUT", "/pt/mine/config", {"config": config})).status == 200
    shape = await workspace.get()
    assert (shape["state"]["ready"], "max_provisioned_throughput" in str(shape["config"])) == ("READY", False)
    assert (shape["config"]["config_version"], shape["pending_config"]["config_version"]) == (1, 2)
    workspace.pass_time(60)
    (entity,) = (await workspace.get())["config"]["served_entities"]
    assert entity["max_provisioned_throughput"] == 1960


@pytest.mark.covers("databricks/management routes", "config:stop", "config:start")
@pytest.mark.covers("databricks/lifecycle", "config_version", "stop and start")
async def test_custom_model_is_stopped_and_started(workspace: Workspace) -> None:
    shape = (await workspace.make(CUSTOM)).json()["pending_config"]
    assert shape["served_models"] == [
        {"name": "main.default.fraud-3", "model_name": "main.default.fraud", "model_version": "3"}
    ]
    workspace.pass_time(60)
    assert (await workspace.call("POST", "/mine/config:stop")).status == 200
    assert await state_of(workspace) == "NOT_READY NOT_UPDATING STOPPED"
    rows = {"inputs": [1, 2]}
    asked = await workspace.call("POST", "/mine/invocations", rows, base="/serving-endpoints")
    assert (asked.status, asked.json()["error_code"]) == (400, "BAD_REQUEST")
    await workspace.call("POST", "/mine/config:start")
    assert await state_of(workspace) == "NOT_READY IN_PROGRESS NOT_SUSPENDED"
    workspace.pass_time(60)
    assert (await workspace.get())["config"]["config_version"] == 2
    asked = await workspace.call("POST", "/mine/invocations", rows, base="/serving-endpoints")
    assert len(asked.json()["predictions"]) == 2


@pytest.mark.covers("databricks/conventions", "JSON of a DELETE")
@pytest.mark.covers("databricks/management routes", "delete", "update_config", "update_config_and_wait")
@pytest.mark.covers("databricks/traps", "24 DELETE has a body")
async def test_scenario_endpoint_is_changed_and_deleted(start: Start) -> None:
    workspace = await open_workspace(start, "", OWN)
    before = await workspace.get()
    await workspace.call("PATCH", "/mine/tags", {"add_tags": [{"key": "a"}]})
    after = await workspace.get()
    assert after == {**before, "tags": [{"key": "a", "value": ""}]}
    assert (await workspace.chat()).json()["model"] == "llama"
    await workspace.call("PUT", "/mine/config", {"served_entities": [LLAMA]})
    assert (await workspace.chat()).json()["model"].startswith("meta-llama-3.1-8b")
    assert (await workspace.call("DELETE", "/mine")).json() == {}
    assert (await workspace.chat()).status == 404
    assert (await workspace.make()).status == 200
    assert (await workspace.chat()).json()["model"].startswith("meta-llama-3.1-8b")


@pytest.mark.covers("databricks/shapes of an endpoint", "secrets")
async def test_secrets_are_never_shown(workspace: Workspace) -> None:
    await workspace.make(external())
    workspace.pass_time(60)
    shape = await workspace.get()
    assert shape["endpoint_type"] == "EXTERNAL_MODEL"
    (entity,) = shape["config"]["served_entities"]
    assert entity["name"] == "gpt-4o"
    assert entity["external_model"]["openai_config"] == {"openai_api_base": "https://host"}


async def test_each_served_model_answers_in_its_name(workspace: Workspace) -> None:
    routes = [{"served_model_name": name, "traffic_percentage": "50"} for name in ("a", "b")]
    entities = [
        {**external("gpt-4o"), "name": "a"},
        {**external("claude-sonnet-4-5", provider="anthropic"), "name": "b"},
    ]
    await workspace.make(*entities, config={"traffic_config": {"routes": routes}})
    workspace.pass_time(60)
    answers = [await workspace.chat() for _ in range(20)]
    assert {(a.header("served-model-name"), a.json()["model"]) for a in answers} == {
        ("a", "gpt-4o"), ("b", "claude-sonnet-4-5"),
    }  # fmt: skip
    named = await workspace.call(
        "POST",
        "/mine/served-models/b/invocations",
        {"messages": [{"role": "user", "content": "Hi"}]},
        base="/serving-endpoints",
    )
    assert named.json()["model"] == "claude-sonnet-4-5"


@pytest.mark.covers("databricks/shapes of an endpoint", "data_plane_info")
async def test_route_optimized_endpoint_has_own_url(workspace: Workspace) -> None:
    await workspace.make(CUSTOM, route_optimized=True)
    workspace.pass_time(60)
    shape = await workspace.get()
    url = shape["endpoint_url"]
    assert shape["data_plane_info"]["query_info"]["endpoint_url"] == url
    path = "/" + url.split("/", 3)[3]
    assert (await workspace.call("POST", "", {"inputs": [1]}, base=path)).status == 401
    form = {"grant_type": "client_credentials", "client_id": "app", "client_secret": "s"}
    details = {"authorization_details": shape["data_plane_info"]["query_info"]["authorization_details"]}
    issued = (await workspace.call("POST", "/oidc/v1/token", {**form, **details}, base="")).json()["access_token"]
    headers = {"Authorization": f"Bearer {issued}"}
    answer = await workspace.running.ask("databricks", path, {"inputs": [1]}, headers=headers)
    assert len(answer.json()["predictions"]) == 1
    assert (await workspace.running.ask("databricks", "/api/2.0/serving-endpoints", headers=headers)).status == 403


@pytest.mark.slow
@pytest.mark.covers("databricks/limits", "endpoints of a workspace")
async def test_workspace_is_limited_to_thousand_endpoints(start: Start) -> None:
    workspace = await open_workspace(start)
    made = [await workspace.make(CUSTOM, name=f"e{n}") for n in range(1001)]
    assert {answer.status for answer in made[:1000]} == {200}
    assert (made[1000].status, made[1000].json()["error_code"]) == (400, "RESOURCE_LIMIT_EXCEEDED")
    assert (await workspace.call("DELETE", "/e7")).status == 200
    assert (await workspace.make(CUSTOM, name="e7")).status == 200


@pytest.mark.covers("databricks/authentication", "authorization_details")
async def test_route_optimized_token_is_limited_to_its_endpoint(start: Start) -> None:
    workspace = await open_workspace(start, "")
    details: dict[str, str] = {}
    for name in ("mine", "yours"):
        await workspace.make(CUSTOM, name=name, route_optimized=True)
        info = (await workspace.get(name))["data_plane_info"]["query_info"]
        details[info["endpoint_url"].partition("/serving-endpoints/")[2]] = info["authorization_details"]
    form = {"grant_type": "client_credentials", "client_id": "app", "client_secret": "s"}
    base = info["endpoint_url"].split("/", 3)[3].partition("/serving-endpoints/")[0]
    for own, wanted in details.items():
        asked = await workspace.call("POST", "/oidc/v1/token", {**form, "authorization_details": wanted}, base="")
        headers = {"Authorization": f"Bearer {asked.json()['access_token']}"}
        for path in details:
            target = f"/{base}/serving-endpoints/{path}"
            answer = await workspace.running.ask("databricks", target, {"inputs": [1]}, headers=headers)
            said = answer.json().get("error_code")
            assert (answer.status, said) == ((200, None) if path == own else (403, "PERMISSION_DENIED"))


@pytest.mark.covers("databricks/lifecycle", "not found", case="missing")
@pytest.mark.covers("databricks/lifecycle", "types are not mixed", case="external models come to others")
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        pytest.param("POST", "", {"config": {}}, 400, "INVALID_PARAMETER_VALUE", id="no name"),
        pytest.param("POST", "", {"name": "a b", "config": {}}, 400, "INVALID_PARAMETER_VALUE", id="a bad name"),
        pytest.param("POST", "", {"name": "new"}, 400, "INVALID_PARAMETER_VALUE", id="no config"),
        pytest.param("PUT", "/nope/config", {"served_entities": [LLAMA]}, 404, "RESOURCE_DOES_NOT_EXIST", id="missing"),
        pytest.param("DELETE", "/nope", None, 404, "RESOURCE_DOES_NOT_EXIST", id="nothing to delete"),
        pytest.param("DELETE", "/databricks-gpt-5", None, 403, "PERMISSION_DENIED", id="a preconfigured one"),
        pytest.param("PUT", "/mine/config", {"served_entities": [external()]}, 400, "INVALID_PARAMETER_VALUE",
                     id="external models come to others"),
        pytest.param("POST", "/mine/config:stop", None, 400, "INVALID_PARAMETER_VALUE", id="no custom model to stop"),
        pytest.param("POST", "/mine/config:start", None, 400, "INVALID_PARAMETER_VALUE", id="nothing to start"),
    ],
)  # fmt: skip
async def test_invalid_changes_are_rejected(
    start: Start, method: str, path: str, body: JSON, status: int, code: str
) -> None:
    workspace = await open_workspace(start, "", OWN)
    answer = await workspace.call(method, path, body)
    assert (answer.status, answer.json()["error_code"]) == (status, code)


@pytest.mark.covers("databricks/lifecycle", "a name that is taken", "an update beside another")
@pytest.mark.covers("databricks/errors", "409 RESOURCE_ALREADY_EXISTS", "409 RESOURCE_CONFLICT")
async def test_conflicting_changes_are_rejected(workspace: Workspace) -> None:
    await workspace.make()
    again = await workspace.make()
    assert (again.status, again.json()["error_code"]) == (409, "RESOURCE_ALREADY_EXISTS")
    assert again.json()["message"] == "Serving endpoint with name mine already exists"
    update = await workspace.call("PUT", "/mine/config", {"served_entities": [LLAMA]})
    assert (update.status, update.json()["error_code"]) == (409, "RESOURCE_CONFLICT")
    assert update.json()["message"].startswith("Endpoint mine is currently updating. Wait for the update to complete")


@pytest.mark.covers("databricks/shapes of an endpoint", "burst_scaling_enabled")
async def test_legacy_entity_field_names_are_accepted(workspace: Workspace) -> None:
    old = {"model_name": "main.m", "model_version": 7, "workload_size": "Small", "burst_scaling_enabled": True}
    made = await workspace.call("POST", "", {"name": "mine", "config": {"served_models": [old]}})
    (entity,) = made.json()["pending_config"]["served_entities"]
    assert (entity["entity_name"], entity["entity_version"], entity["workload_size"]) == ("main.m", "7", "Small")
    assert "burst_scaling_enabled" not in entity
