"""Health and models."""

import pytest

from tests.conftest import Start
from tests.vendors.mindie.direct import (
    MODEL,
    PROMPT,
)


@pytest.mark.parametrize(
    ("seconds", "status"),
    [("1", 200), ("600", 200), ("0", 404), ("601", 404), ("1000", 404), ("x", 404)],
)
async def test_timed_health(start: Start, seconds: str, status: int) -> None:
    answer = await (await start()).ask("mindie", f"/health/timed-{seconds}")
    assert answer.status == status


async def test_adapters_are_listed(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: poet, kind: lora, tokenizer: qwen2}]\n")
    rows = {row["id"]: row["parent"] for row in (await running.ask("mindie", "/v1/models")).json()["data"]}
    assert rows == {MODEL: "null", "poet": MODEL}
    assert (await running.ask("mindie", "/v1/models/poet")).json()["parent"] == MODEL


@pytest.mark.parametrize(
    ("kind", "path", "status", "body"),
    [
        pytest.param("not_ready", "/health", 503, b"", id="not yet there"),
        pytest.param(
            "overloaded", "/v2/health/live", 200, b'{"message":"Service is alive but busy"}', id="busy, alive"
        ),
        pytest.param(
            "overloaded",
            "/v2/health/ready",
            503,
            b'{"message":"Service is alive but busy. Consider reducing request frequency"}',
            id="busy, not ready",
        ),
        pytest.param("internal", "/v2/health/ready", 500, b'{"message":"Service is abnormal"}', id="ill"),
    ],
)
async def test_health(start: Start, kind: str, path: str, status: int, body: bytes) -> None:
    running = await start(f"rules: [{{name: ill, when: {{endpoint: {path}}}, error: {{kind: {kind}}}}}]\n")
    answer = await running.ask("mindie", path)
    assert (answer.status, answer.body) == (status, body)


async def test_model_that_is_not_ready(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: own, tokenizer: qwen2, state: loading}]\n")
    assert (await running.ask("mindie", "/health")).status == 503
    answer = await running.ask("mindie", "/", {"inputs": PROMPT})
    assert answer.json() == {"error": "The service has been stopped", "error_type": "Service Unavailable"}
    assert (await running.ask("mindie", "/", {"inputs": PROMPT, "stream": 1})).status == 422


@pytest.mark.parametrize(("path", "loading"), [("/v1/startup", 200), ("/v1/health", 200), ("/v1/readiness", 503)])
async def test_probes_of_the_coordinator(start: Start, path: str, loading: int) -> None:
    motor = "vendors: {mindie: {profile: motor}}\n"
    answer = await (await start(motor)).ask("mindie", path)
    assert (answer.status, answer.body, answer.header("Server")) == (200, b"", "MindIE-MS")
    busy = await start(f"{motor}deployments: [{{name: m, vendor: mindie, state: loading}}]\n")
    assert (await busy.ask("mindie", path)).status == loading
    assert (await (await start()).ask("mindie", path)).status == 404
