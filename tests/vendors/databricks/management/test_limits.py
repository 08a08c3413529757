"""Test the preset limits of a workspace."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import CUSTOM, Workspace, open_workspace

pytestmark = pytest.mark.slow

SMALL = "databricks-meta-llama-3-1-405b-instruct"  # 5,000 tokens in, 500 out a minute, 1,200 requests an hour


async def limited(start: Start, tier: str = "enterprise", settings: str = "") -> Workspace:
    return await open_workspace(start, f"rate_limits: {tier}{settings}")


@pytest.mark.parametrize(
    ("fields", "phrase"),
    [
        pytest.param({"content": "word " * 5_000}, "input tokens per minute rate limit", id="in"),
        pytest.param({"max_tokens": 501}, "output tokens per minute rate limit", id="out"),
    ],
)
async def test_workspace_limits_setting_enables_token_limits(start: Start, fields: JSON, phrase: str) -> None:
    workspace = await limited(start)
    answer = await workspace.chat(SMALL, **fields)
    assert (answer.status, answer.json()["error_code"]) == (429, "REQUEST_LIMIT_EXCEEDED")
    assert f"Exceeded workspace {phrase} for {SMALL}." in answer.json()["message"]
    assert (await workspace.chat(SMALL)).status == 200
    assert (await (await limited(start, "none")).chat(SMALL, **fields)).status == 200


@pytest.mark.covers("databricks/rate limits", "reserved and given back")
async def test_reserved_output_tokens_are_refunded(start: Start) -> None:
    workspace = await limited(start)
    first = await workspace.chat(SMALL, max_tokens=490, stop=["."])
    used = first.json()["usage"]["completion_tokens"]
    assert used < 400
    assert (await workspace.chat(SMALL, max_tokens=500 - used)).status == 200


@pytest.mark.covers("databricks/rate limits", "QPH")
async def test_queries_per_hour_limit_is_enforced(start: Start) -> None:
    workspace = await limited(start, settings=", rate_limit_body: docs")
    for number in range(1200):
        workspace.pass_time(0.01)
        assert (await workspace.chat(SMALL, max_tokens=1, content="x" * (number % 2))).status == 200
        workspace.pass_time(0.2)
    # Minutes have passed, and with them a few requests have come back.
    answers = [await workspace.chat(SMALL, max_tokens=1) for _ in range(150)]
    refused = next(answer for answer in answers if answer.status == 429).json()["error"]
    assert (refused["limit_type"], refused["limit"]) == ("queries_per_hour", 1200)
    assert refused["message"] == "Rate limit exceeded: QPH limit of 1,200 queries reached"


@pytest.mark.covers("databricks/rate limits", "autumn's raise")
async def test_raised_limits_apply_to_some_models(start: Start) -> None:
    llama = "databricks-meta-llama-3-3-70b-instruct"
    workspace = await limited(start)
    asked: JSON = {"content": "word " * 110_000}
    assert (await workspace.chat(llama, **asked)).status == 200
    assert (await workspace.chat(llama, **asked)).status == 429
    raised = await limited(start, "raised")
    assert [(await raised.chat(llama, **asked)).status for _ in range(2)] == [200, 200]
    assert (await raised.chat(SMALL, max_tokens=501)).status == 429


@pytest.mark.covers("databricks/rate limits", "pay-per-token alone")
async def test_provisioned_throughput_has_no_token_limits(start: Start) -> None:
    workspace = await limited(start)
    await workspace.make({"entity_name": "system.ai.meta_llama_v3_1_405b_instruct", "entity_version": "1"})
    assert (await workspace.chat(max_tokens=501)).status == 200


@pytest.mark.covers("databricks/rate limits", "of the gateway")
async def test_gateway_limits_apply_with_workspace_limits(start: Start) -> None:
    workspace = await limited(start)
    rule = {"calls": 1, "key": "endpoint", "renewal_period": "minute"}
    await workspace.call("PUT", f"/{SMALL}/ai-gateway", {"rate_limits": [rule]})
    assert (await workspace.chat(SMALL, max_tokens=501)).status == 429
    assert (await workspace.chat(SMALL)).status == 200
    assert (await workspace.chat(SMALL)).status == 429


@pytest.mark.covers("databricks/limits", "200 queries a second")
@pytest.mark.parametrize(
    ("name", "body", "fields", "status"),
    [
        pytest.param("databricks-bge-large-en", {"input": "x"}, None, 429, id="of pay per token"),
        pytest.param("mine", {"inputs": [1]}, {}, 429, id="of a custom model"),
        pytest.param("mine", {"inputs": [1]}, {"route_optimized": True}, 200, id="but of a route-optimized one more"),
    ],
)
async def test_workspace_allows_200_queries_per_second(
    start: Start, name: str, body: JSON, fields: JSON, status: int
) -> None:
    workspace = await limited(start)
    if fields is not None:
        await workspace.make(CUSTOM, **fields)
    asked = [await workspace.call("POST", f"/{name}/invocations", body, base="/serving-endpoints") for _ in range(201)]
    assert {answer.status for answer in asked[:200]} == {200}
    assert asked[200].status == status
    assert ("Exceeded workspace QPS rate limit" in asked[200].body.decode()) is (status == 429)
    workspace.pass_time(1)
    assert (await workspace.call("POST", f"/{name}/invocations", body, base="/serving-endpoints")).status == 200


@pytest.mark.parametrize("path", ["rate-limits", "ai-gateway"])
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        pytest.param({}, None, id="no key"),
        pytest.param({"key": None}, None, id="null"),
        pytest.param({"key": True}, "Rate limit key 'true' is not supported.", id="a boolean"),
        pytest.param({"key": "nobody"}, "Rate limit key 'nobody' is not supported.", id="an unknown key"),
        pytest.param({"renewal_period": None}, "A rate limit needs a 'renewal_period'.", id="no period"),
        pytest.param({"renewal_period": 5}, "Rate limit renewal period '5' is not supported.", id="a number"),
    ],
)
async def test_rate_limit_counts_by_endpoint_without_key(start: Start, path: str, rule: JSON, text: str | None) -> None:
    workspace = await open_workspace(start)
    await workspace.make()
    workspace.pass_time(60)
    limit = {"calls": 1, "renewal_period": "minute", **rule}
    answer = await workspace.call("PUT", f"/mine/{path}", {"rate_limits": [limit]})
    if text is not None:
        assert (answer.status, answer.json()["message"]) == (400, text)
        return
    assert answer.status == 200
    statuses = []
    for token in ("a", "b"):
        workspace.token = {"Authorization": f"Bearer {token}"}
        statuses.append((await workspace.chat()).status)
    assert statuses == [200, 429]
