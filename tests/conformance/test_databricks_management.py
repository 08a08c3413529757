"""databricks-sdk: every way to make, change and delete serving endpoints, with its own waiters."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

sdk = pytest.importorskip("databricks.sdk")
serving = pytest.importorskip("databricks.sdk.service.serving")

CLIENT = "databricks-sdk"

LLAMA = "system.ai.meta_llama_v3_1_8b_instruct"
COLD = "version: 1\nname: cold\nclock: %s\nvendors: {databricks: {cold_start_s: %d, failing_models: [main.broken]}}\n"
Start = Callable[[str], Running]


@pytest.fixture(params=["plain", "key", "own port"])
def session_by(request: pytest.FixtureRequest) -> str:
    """Its client takes the host of a URL and drops the path."""
    return str(request.param)


def connect(running: Running) -> JSON:
    config = sdk.core.Config(host=running.urls["databricks"], token=running.key("dapi-x"), retry_timeout_seconds=3)
    return sdk.WorkspaceClient(config=config).serving_endpoints


@pytest.fixture
def endpoints(live_with: Start) -> JSON:
    """Where a cold start takes ten minutes and waits cost nothing."""
    return connect(live_with(COLD % ("instant", 600)))


def config(*entities: JSON, **fields: JSON) -> JSON:
    return serving.EndpointCoreConfigInput(name="mine", served_entities=list(entities), **fields)


def entity(name: str = LLAMA, **fields: JSON) -> JSON:
    return serving.ServedEntityInput(entity_name=name, entity_version="2", **fields)


def external(name: str, model: str) -> JSON:
    provider = serving.ExternalModelProvider.OPENAI
    key = serving.OpenAiConfig(openai_api_key_plaintext="sk-secret")
    model = serving.ExternalModel(provider=provider, name=model, task="llm/v1/chat", openai_config=key)
    return serving.ServedEntityInput(name=name, external_model=model)


def ask(endpoints: JSON, name: str = "mine") -> JSON:
    message = serving.ChatMessage(role=serving.ChatMessageRole.USER, content="Hello")
    return endpoints.query(name, messages=[message], max_tokens=5)


@pytest.mark.covers("databricks/management routes", "each with the SDK")
def test_created_endpoint_is_ready_and_answers(endpoints: JSON) -> None:
    made = endpoints.create_and_wait(
        "mine",
        config=config(entity(min_provisioned_throughput=0, max_provisioned_throughput=980)),
        tags=[serving.EndpointTag("team", "x")],
        description="ours",
    )
    assert made.state.ready == serving.EndpointStateReady.READY
    assert (made.config.config_version, made.pending_config, made.task) == (1, None, "llm/v1/chat")
    (served,) = made.config.served_entities
    assert (served.name, served.max_provisioned_throughput) == (f"{LLAMA}-2", 980)
    assert served.foundation_model.name == LLAMA
    assert served.state.deployment == serving.ServedModelStateDeployment.DEPLOYMENT_READY
    assert made.config.traffic_config.routes[0].traffic_percentage == 100
    assert ask(endpoints).served_model_name == f"{LLAMA}-2"
    listed = {endpoint.name: endpoint for endpoint in endpoints.list()}
    assert (listed["mine"].id, listed["mine"].description) == (made.id, "ours")


def test_endpoint_creation_takes_cold_start_time(live_with: Start) -> None:
    running = live_with(COLD % ("frozen", 600))
    endpoints = connect(running)
    made = endpoints.create("mine", config=config(entity()))
    assert made.response.state.config_update == serving.EndpointStateConfigUpdate.IN_PROGRESS
    running.built.runtime.advance(599)
    pending = endpoints.get("mine")
    assert (pending.state.ready, pending.config) == (serving.EndpointStateReady.NOT_READY, None)
    (served,) = pending.pending_config.served_entities
    assert served.state.deployment == serving.ServedModelStateDeployment.DEPLOYMENT_CREATING
    with pytest.raises(TimeoutError, match="0:00:03"):  # 503, which the client asks again and again
        ask(endpoints)
    running.built.runtime.advance(1)
    assert made.result(timeout=timedelta(seconds=1)).state.ready == serving.EndpointStateReady.READY
    assert ask(endpoints).choices


def test_update_keeps_serving_previous_config(live_with: Start) -> None:
    running = live_with(COLD % ("frozen", 600))
    endpoints = connect(running)
    endpoints.create("mine", config=config(entity()))
    running.built.runtime.advance(600)
    update = endpoints.update_config("mine", served_entities=[entity("system.ai.gpt-oss-20b")])
    during = endpoints.get("mine")
    assert during.state.ready == serving.EndpointStateReady.READY
    assert (during.config.config_version, during.pending_config.config_version) == (1, 2)
    assert ask(endpoints).served_model_name == f"{LLAMA}-2"
    with pytest.raises(sdk.errors.ResourceConflict, match="currently updating"):
        endpoints.update_config("mine", served_entities=[entity()])
    running.built.runtime.advance(600)
    assert update.result().config.config_version == 2
    assert ask(endpoints).served_model_name == "system.ai.gpt-oss-20b-2"


def test_failed_update_keeps_previous_config(endpoints: JSON) -> None:
    endpoints.create_and_wait("mine", config=config(entity("main.good")))
    with pytest.raises(sdk.errors.OperationFailed, match="UPDATE_FAILED"):
        endpoints.update_config_and_wait("mine", served_entities=[entity("main.broken")])
    after = endpoints.get("mine")
    assert (after.state.ready.value, after.config.config_version) == ("READY", 1)
    assert "ERROR" in endpoints.build_logs("mine", "main.broken-2").logs
    endpoints.update_config_and_wait("mine", served_entities=[entity("main.better")])


def test_provisioned_throughput_in_model_units(endpoints: JSON) -> None:
    def pt(units: int) -> JSON:
        model = serving.PtServedModel(entity_name="system.ai.llama-4-maverick", provisioned_model_units=units)
        return serving.PtEndpointCoreConfig(served_entities=[model])

    made = endpoints.create_provisioned_throughput_endpoint_and_wait("mine", config=pt(50))
    assert made.config.served_entities[0].provisioned_model_units == 50
    changed = endpoints.update_provisioned_throughput_endpoint_config_and_wait("mine", config=pt(100))
    assert changed.config.served_entities[0].provisioned_model_units == 100


def test_external_models_share_traffic(endpoints: JSON) -> None:
    routes = [serving.Route(served_model_name=name, traffic_percentage=50) for name in ("a", "b")]
    made = endpoints.create_and_wait(
        "mine",
        config=config(
            external("a", "gpt-4o"), external("b", "gpt-4.1"), traffic_config=serving.TrafficConfig(routes=routes)
        ),
    )
    assert made.config.served_entities[0].external_model.openai_config.openai_api_key_plaintext is None
    answers = [ask(endpoints) for _ in range(20)]
    assert {(a.served_model_name, a.model) for a in answers} == {("a", "gpt-4o"), ("b", "gpt-4.1")}


def test_deleted_endpoint_is_not_found(endpoints: JSON) -> None:
    endpoints.create_and_wait("mine", config=config(entity()))
    with pytest.raises(sdk.errors.ResourceAlreadyExists, match="Serving endpoint with name mine already exists"):
        endpoints.create("mine", config=config(entity()))
    endpoints.delete("mine")
    with pytest.raises(sdk.errors.ResourceDoesNotExist):
        endpoints.get("mine")
    with pytest.raises(sdk.errors.NotFound):
        ask(endpoints)
    endpoints.create("mine", config=config(entity()))


def test_ai_gateway_rate_limits_apply(endpoints: JSON) -> None:
    endpoints.create_and_wait("mine", config=config(entity()))
    minute = serving.AiGatewayRateLimitRenewalPeriod.MINUTE
    limit = serving.AiGatewayRateLimit(renewal_period=minute, calls=2, key=serving.AiGatewayRateLimitKey.ENDPOINT)
    reported = endpoints.put_ai_gateway("mine", rate_limits=[limit])
    assert reported.rate_limits[0].calls == 2
    assert endpoints.get("mine").ai_gateway.rate_limits == reported.rate_limits
    assert all(ask(endpoints).choices for _ in range(4))  # the client waits where waiting costs nothing
    endpoints.put_ai_gateway("mine")
    assert not endpoints.get("mine").ai_gateway.rate_limits


def test_legacy_rate_limits_apply(endpoints: JSON) -> None:
    endpoints.create_and_wait("mine", config=config(entity()))
    minute = serving.RateLimitRenewalPeriod.MINUTE
    limit = serving.RateLimit(calls=1, key=serving.RateLimitKey.USER, renewal_period=minute)
    assert endpoints.put("mine", rate_limits=[limit]).rate_limits == [limit]
    assert all(ask(endpoints).choices for _ in range(3))


def test_tags_and_notifications(endpoints: JSON) -> None:
    endpoints.create_and_wait("mine", config=config(entity()), tags=[serving.EndpointTag("team", "x")])
    tags = endpoints.patch("mine", add_tags=[serving.EndpointTag("a", "1")], delete_tags=["team"])
    assert [(tag.key, tag.value) for tag in tags.tags] == [("a", "1")]
    wanted = serving.EmailNotifications(on_update_success=["me@example.com"])
    assert endpoints.update_notifications("mine", email_notifications=wanted).email_notifications == wanted
    assert endpoints.get("mine").email_notifications == wanted


def test_permissions(endpoints: JSON) -> None:
    name = endpoints.create_and_wait("mine", config=config(entity())).id
    levels = serving.ServingEndpointPermissionLevel

    def grant(user: str, level: JSON) -> JSON:
        return serving.ServingEndpointAccessControlRequest(user_name=user, permission_level=level)

    def read(answer: JSON) -> JSON:
        rows = answer.access_control_list
        return {row.user_name: row.all_permissions[0].permission_level for row in rows}

    owner = {"default@example.com": levels.CAN_MANAGE}
    assert read(endpoints.get_permissions(name)) == owner
    endpoints.set_permissions(name, access_control_list=[grant("a", levels.CAN_VIEW), grant("b", levels.CAN_VIEW)])
    after = endpoints.update_permissions(name, access_control_list=[grant("b", levels.CAN_QUERY)])
    assert read(after) == {"a": levels.CAN_VIEW, "b": levels.CAN_QUERY, **owner}
    endpoints.set_permissions(name, access_control_list=[grant("c", levels.CAN_QUERY)])
    assert read(endpoints.get_permissions(name)) == {"c": levels.CAN_QUERY, **owner}


def test_logs_have_lines(endpoints: JSON) -> None:
    endpoints.create_and_wait("mine", config=config(entity()))
    assert endpoints.build_logs("mine", f"{LLAMA}-2").logs.endswith("The environment is ready.\n")
    assert "startup complete" in endpoints.logs("mine", f"{LLAMA}-2").logs


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        pytest.param([], "At least one served entity", id="none"),
        pytest.param([{"name": "system.ai.gpt-oss-120b", "max_provisioned_throughput": 980}],
                     "system.ai.gpt-oss-120b is not eligible for Provisioned Throughput.", id="not eligible"),
        pytest.param([{"max_provisioned_throughput": 5}], "multiple of 980", id="an odd throughput"),
        pytest.param([{"name": "main.a"}, {"name": "main.b"}], "traffic_config", id="no traffic split"),
        pytest.param([{"name": "main.a"}, {}], "different types", id="a mixture"),
    ],
)  # fmt: skip
def test_invalid_configs_are_rejected(endpoints: JSON, entities: JSON, message: str) -> None:
    with pytest.raises(sdk.errors.InvalidParameterValue, match=message):
        endpoints.create("mine", config=config(*(entity(**fields) for fields in entities)))


def test_error_after_state_change_keeps_endpoint(live_with: Start) -> None:
    running = live_with(
        "version: 1\nname: late\nclock: instant\n"
        "rules: [{name: late, when: {endpoint: /api/2.0/serving-endpoints}, times: {first: 1},"
        " error: {kind: internal, after: state}}]"
    )
    endpoints = connect(running)
    with pytest.raises(sdk.errors.InternalError):
        endpoints.create("mine", config=config(entity()))
    assert endpoints.get("mine").state.ready == serving.EndpointStateReady.READY


def test_route_optimized_endpoint_answers_on_data_plane(live: Running) -> None:
    host = live.urls["databricks"]
    login = sdk.core.Config(host=host, client_id="app", client_secret=live.key("s"), retry_timeout_seconds=3)
    workspace = sdk.WorkspaceClient(config=login)
    made = workspace.serving_endpoints.create_and_wait("mine", config=config(entity("main.m")), route_optimized=True)
    assert made.data_plane_info.query_info.endpoint_url.startswith(host)
    answer = workspace.serving_endpoints_data_plane.query("mine", inputs=[1, 2])
    assert len(answer.predictions) == 2


def test_custom_endpoint_metrics_openapi_and_permission_levels(endpoints: JSON) -> None:
    name = endpoints.create_and_wait("mine", config=config(entity("main.fraud"))).id
    ask_custom = endpoints.query("mine", inputs=[1, 2])
    assert len(ask_custom.predictions) == 2
    metrics = endpoints.export_metrics("mine").contents.read().decode()
    assert 'request_count_total{endpoint_name="mine",served_model_name="main.fraud-2"} 1' in metrics
    assert b"/served-models/main.fraud-2/invocations" in endpoints.get_open_api("mine").contents.read()
    levels = endpoints.get_permission_levels(name).permission_levels
    assert [level.permission_level.value for level in levels] == ["CAN_VIEW", "CAN_QUERY", "CAN_MANAGE"]


def test_telemetry_is_only_for_custom_models(endpoints: JSON) -> None:
    if not hasattr(endpoints, "patch_telemetry_config"):
        pytest.skip("this release of the SDK has no such method")
    endpoints.create_and_wait("mine", config=config(entity("main.fraud")))
    assert endpoints.patch_telemetry_config("mine").name == "mine"
    endpoints.create_and_wait("theirs", config=config(entity()))
    with pytest.raises(sdk.errors.InvalidParameterValue, match="custom models only"):
        endpoints.patch_telemetry_config("theirs")
