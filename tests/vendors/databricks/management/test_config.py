"""Configs that the management API does not take."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import CUSTOM, LLAMA, external, open_workspace

MAVERICK = {"entity_name": "system.ai.llama-4-maverick", "entity_version": "1"}
HALVES = {"traffic_config": {"routes": [{"served_model_name": name, "traffic_percentage": 50} for name in "ab"]}}


@pytest.mark.covers("databricks/shapes of an endpoint", "workload_size", case="a size")
@pytest.mark.covers("databricks/shapes of an endpoint", "environment_vars", case="51 variables")
@pytest.mark.covers("databricks/shapes of an endpoint", "provisioned concurrency", case="too many calls at once")
@pytest.mark.covers("databricks/shapes of an endpoint", "external_model and its providers", case="no provider")
@pytest.mark.covers("databricks/lifecycle", "throughput in chunks", case="a base model")
@pytest.mark.covers("databricks/lifecycle", "Llama 4 alone", case="alone")
@pytest.mark.covers("databricks/limits", "provisioned concurrency of a model", case="too many calls at once")
@pytest.mark.covers("databricks/limits", "environment variables", case="51 variables")
@pytest.mark.parametrize(
    ("entities", "config", "text"),
    [
        pytest.param([{**CUSTOM, "workload_size": "Huge"}], {}, "not a valid workload_size", id="a size"),
        pytest.param([{**CUSTOM, "workload_type": "TPU"}], {}, "not a valid workload_type", id="a type"),
        pytest.param([{**CUSTOM, "environment_vars": []}], {}, "must map names to texts", id="no variables"),
        pytest.param([{**CUSTOM, "environment_vars": {"A": 1}}], {}, "must map names to texts", id="a number"),
        pytest.param(
            [{**CUSTOM, "environment_vars": {f"V{n}": "x" for n in range(51)}}], {}, "at most 50", id="51 variables"
        ),
        pytest.param(
            [{**CUSTOM, "max_provisioned_concurrency": 1025}], {}, "from 0 to 1024", id="too many calls at once"
        ),
        pytest.param([{**CUSTOM, "min_provisioned_concurrency": -4}], {}, "from 0 to 1024", id="less than no call"),
        pytest.param(
            [{**CUSTOM, "min_provisioned_concurrency": 8, "max_provisioned_concurrency": 4}],
            {},
            "cannot exceed",
            id="more at least than at most",
        ),
        pytest.param(
            [{**CUSTOM, "min_provisioned_concurrency": 4, "workload_size": "Small"}],
            {},
            "cannot be given together",
            id="two sizes",
        ),
        pytest.param([{**CUSTOM, "name": "a b"}], {}, "name 'a b' is invalid", id="a name"),
        pytest.param([{"external_model": {"name": "m", "provider": "openai"}}], {}, "'task'", id="no task"),
        pytest.param([{"external_model": {"name": "m", "task": "llm/v1/chat"}}], {}, "'provider'", id="no provider"),
        pytest.param([external(task="llm/v1/rerank")], {}, "is not supported", id="an unknown task"),
        pytest.param([{**MAVERICK, "name": "a"}, {**LLAMA, "name": "b"}], HALVES, "no other beside it", id="alone"),
        pytest.param(
            [{"entity_name": "system.ai.meta_llama_v3_1_8b", "max_provisioned_throughput": 980}],
            {},
            "is not eligible for Provisioned Throughput",
            id="a base model",
        ),
    ],
)
async def test_invalid_entities_are_rejected(start: Start, entities: list[JSON], config: JSON, text: str) -> None:
    workspace = await open_workspace(start)
    answer = await workspace.make(*entities, config=config)
    assert (answer.status, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    assert text in answer.json()["message"]


async def test_entity_within_bounds_is_stored(start: Start) -> None:
    workspace = await open_workspace(start)
    entity = {"environment_vars": {f"V{n}": "x" for n in range(50)}, "max_provisioned_concurrency": 1024}
    made = await workspace.make({**CUSTOM, "min_provisioned_concurrency": 4, **entity})
    (kept,) = made.json()["pending_config"]["served_entities"]
    assert {name: kept[name] for name in entity} == entity


@pytest.mark.covers("databricks/shapes of an endpoint", "workload_type")
@pytest.mark.parametrize(
    "field",
    [
        "CPU",
        "CPU_MEDIUM",
        "CPU_LARGE",
        "GPU_SMALL",
        "GPU_MEDIUM",
        "GPU_LARGE",
        "GPU_XLARGE",
        "GPU_XLARGE_8",
        "MULTIGPU_MEDIUM",
    ],
)
async def test_every_workload_type_is_accepted(start: Start, field: str) -> None:
    workspace = await open_workspace(start)
    assert (await workspace.make({**CUSTOM, "workload_type": field, "workload_size": "Large"})).status == 200


@pytest.mark.parametrize("body", [{}, {"served_entities": []}, {"served_entities": [{}]}])
async def test_missing_endpoint_is_checked_before_config(start: Start, body: JSON) -> None:
    workspace = await open_workspace(start)
    assert (await workspace.call("PUT", "/nope/config", body)).status == 404
    assert (await workspace.call("PUT", "/databricks-gpt-5/config", body)).status == 403


async def test_custom_model_has_no_llm_task(start: Start) -> None:
    workspace = await open_workspace(start)
    await workspace.make(CUSTOM)
    workspace.pass_time(60)
    shape = await workspace.get()
    assert ("task" in shape, shape["capabilities"]) == (False, {})
    assert (await workspace.call("POST", "/mine/invocations", {"inputs": [1]}, base="/serving-endpoints")).status == 200


@pytest.mark.covers("databricks/shapes of an endpoint", "ai_gateway")
@pytest.mark.parametrize(
    ("gateway", "text"),
    [
        pytest.param({"guardrails": {"input": {"pii": {"behavior": "EAT"}}}}, "'EAT'", id="a behavior"),
        pytest.param({"guardrails": {"output": {"invalid_keywords": "x"}}}, "must be a list", id="one keyword"),
        pytest.param({"guardrails": {"input": []}}, "'input' must be an object", id="no guardrail"),
        pytest.param({"inference_table_config": {"enabled": True}}, "'catalog_name'", id="a table nowhere"),
        pytest.param(
            {"rate_limits": [{"key": "user_group", "calls": 1, "renewal_period": "minute"}]},
            "needs a 'principal'",
            id="a group without a name",
        ),
        pytest.param(
            {"rate_limits": [{"key": "endpoint", "tokens": 1, "renewal_period": "minute"}]},
            "Token rate limits are not supported",
            id="tokens of a custom model",
        ),
    ],
)
async def test_invalid_gateways_are_rejected(start: Start, gateway: JSON, text: str) -> None:
    workspace = await open_workspace(start)
    made = await workspace.make(CUSTOM, ai_gateway=gateway)
    assert (made.status, text in made.json()["message"]) == (400, True)
    await workspace.make(CUSTOM)
    workspace.pass_time(60)
    reported = await workspace.call("PUT", "/mine/ai-gateway", gateway)
    assert (reported.status, reported.json()["error_code"], text in reported.json()["message"]) == (
        400, "INVALID_PARAMETER_VALUE", True,
    )  # fmt: skip


@pytest.mark.parametrize(("model", "reasons"), [("gpt-4o", False), ("gpt-5", True)])
async def test_external_model_reports_reasoning_capability(start: Start, model: str, reasons: bool) -> None:
    workspace = await open_workspace(start)
    await workspace.make(external(name=model))
    assert (await workspace.get())["capabilities"]["openai_reasoning"] is reasons


@pytest.mark.covers("databricks/shapes of an endpoint", "provisioned_model_units")
@pytest.mark.parametrize(("size", "sleeps"), [({"provisioned_model_units": 50}, False), ({}, True)])
async def test_entity_with_model_units_never_scales_to_zero(start: Start, size: JSON, sleeps: bool) -> None:
    workspace = await open_workspace(start)
    await workspace.make({**MAVERICK, **size})
    (entity,) = (await workspace.get())["pending_config"]["served_entities"]
    assert ("scale_to_zero_enabled" in entity) is sleeps
