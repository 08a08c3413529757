"""Health and model routes."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    MODEL,
    PROMPT,
)


@pytest.mark.covers("mindie/HTTP", "timed health")
@pytest.mark.parametrize(
    ("seconds", "status"),
    [("1", 200), ("600", 200), ("0", 404), ("601", 404), ("1000", 404)],
)
async def test_timed_health_accepts_1_to_600_seconds(start: Start, seconds: str, status: int) -> None:
    answer = await (await start()).ask("mindie", f"/health/timed-{seconds}")
    assert answer.status == status
    assert answer.body


@pytest.mark.parametrize("state", ["ready", "stopped"])
@pytest.mark.parametrize("seconds", ["x", "-1", "1.0", "1s", "%D9%A1"])
async def test_timed_health_of_no_digits_has_no_route(start: Start, seconds: str, state: str) -> None:
    running = await start(f"deployments: [{{vendor: mindie, name: llama3, state: {state}}}]\n")
    answer = await running.ask("mindie", f"/health/timed-{seconds}")
    assert (answer.status, answer.body) == (404, b"")


async def test_models_list_includes_adapters(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: poet, kind: lora, tokenizer: qwen2}]\n")
    rows = {row["id"]: row["parent"] for row in (await running.ask("mindie", "/v1/models")).json()["data"]}
    assert rows == {MODEL: "null", "poet": MODEL}
    assert (await running.ask("mindie", "/v1/models/poet")).json()["parent"] == MODEL


@pytest.mark.covers("mindie/routes", "GET /health and its likes")
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


HELLO = [{"role": "user", "content": "Hello"}]
ASKED: dict[str, JSON] = {
    "/": {"inputs": PROMPT},
    "/generate": {"inputs": PROMPT},
    "/generate_stream": {"inputs": PROMPT},
    "/infer": {"inputs": PROMPT},
    "/v1/chat/completions": {"model": MODEL, "messages": HELLO},
    "/v1/completions": {"model": MODEL, "prompt": PROMPT},
    "/v1/tokenizer": {"inputs": PROMPT},
    f"/v2/models/{MODEL}/generate": {"id": "a", "text_input": PROMPT},
}
EMPTY, STOPPED = b"", b'{"error":"The service has been stopped.","error_type":"Service Unavailable"}'
REFUSED = b'{"error":"The service has been stopped","error_type":"Service Unavailable"}'
MODEL_ROUTES = (
    *("/v1/config", "/v1/models", f"/v1/models/{MODEL}"),
    *(f"/v2/models/{MODEL}", f"/v2/models/{MODEL}/config"),
)
PROBES = (
    "/health",
    "/v2/health/live",
    "/v2/health/ready",
    f"/v2/models/{MODEL}/ready",
    *("/info", f"/v2/models/{MODEL}/getSlotCount", "/metrics-json", "/v1/status", "/v2/status"),
)
TIMED = ("/health/timed", "/health/timed-5")


@pytest.mark.parametrize(
    ("state", "probe", "timed", "running"),
    [
        pytest.param("{loading: 20s}", EMPTY, 503, 4, id="loading for a time"),
        pytest.param("loading", EMPTY, 503, 4, id="loading"),
        pytest.param("stopped", STOPPED, 200, 1, id="stopped"),
    ],
)
async def test_every_route_reflects_model_state(
    start: Start, state: str, probe: bytes, timed: int, running: int
) -> None:
    server = await start(f"deployments: [{{vendor: mindie, name: {MODEL}, state: {state}}}]\n")
    assert {(answer.status, answer.body) for answer in [await server.ask("mindie", path) for path in PROBES]} == {
        (503, probe)
    }
    assert {(await server.ask("mindie", path)).status for path in TIMED} == {timed}
    responses = [await server.ask("mindie", path) for path in MODEL_ROUTES]
    responses += [await server.ask("mindie", path, body) for path, body in ASKED.items()]
    assert {(answer.status, answer.body) for answer in responses} == {(503, REFUSED)}
    assert (await server.ask("mindie", "/v1/engine-server/running-status")).json()["status"] == running
    if "20s" in state:
        server.built.runtime.advance(20.0)
        responses = [await server.ask("mindie", path) for path in (*PROBES, *TIMED, *MODEL_ROUTES)]
        responses += [await server.ask("mindie", path, body) for path, body in ASKED.items()]
        assert {answer.status for answer in responses} == {200}
        assert (await server.ask("mindie", "/v1/status")).json()["service"]["roleStatus"] == "RoleReady"
        assert (await server.ask("mindie", "/v1/engine-server/running-status")).json()["status"] == 1


async def test_loading_model_refuses_requests(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: own, tokenizer: qwen2, state: loading}]\n")
    assert (await running.ask("mindie", "/health")).status == 503
    answer = await running.ask("mindie", "/", {"inputs": PROMPT})
    assert answer.json() == {"error": "The service has been stopped", "error_type": "Service Unavailable"}
    assert (await running.ask("mindie", "/", {"inputs": PROMPT, "stream": 1})).status == 422


@pytest.mark.covers("mindie/Coordinator", "probes")
@pytest.mark.covers("promises/first steps", "readiness while it loads")
@pytest.mark.parametrize(("path", "loading"), [("/v1/startup", 200), ("/v1/health", 200), ("/v1/readiness", 503)])
async def test_coordinator_probes(start: Start, path: str, loading: int) -> None:
    motor = "vendors: {mindie: {profile: motor}}\n"
    answer = await (await start(motor)).ask("mindie", path)
    assert (answer.status, answer.body, answer.header("Server")) == (200, b"", "MindIE-MS")
    busy = await start(f"{motor}deployments: [{{name: m, vendor: mindie, state: loading}}]\n")
    assert (await busy.ask("mindie", path)).status == loading
    assert (await (await start()).ask("mindie", path)).status == 404


COUNTED = "/v1/tokenizer"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"{", "Req body converts to json fail.", id="no JSON"),
        pytest.param({}, "Inputs in request body is invalid.", id="none"),
        pytest.param({"inputs": ["a"]}, "Inputs in request body is invalid.", id="a list"),
        pytest.param({"inputs": ""}, "Inputs data length in [0, 4], but the length of inputs is 0", id="empty"),
        pytest.param({"inputs": "a😀bc"}, "Inputs data length in [0, 4], but the length of inputs is 5", id="long"),
    ],
)
async def test_invalid_tokenizer_inputs_are_refused(start: Start, body: JSON | bytes, text: str) -> None:
    running = await start("vendors: {mindie: {max_input_chars: 4}}\n")
    answer = await running.ask("mindie", COUNTED, body)
    assert (answer.status, answer.json()) == (422, {"error": text, "error_type": "Input Validation Error"})


@pytest.mark.covers("mindie/routes", "POST /v1/tokenizer")
@pytest.mark.parametrize(("decode", "shown"), [(None, True), (1, True), ("no", True), (True, True), (False, False)])
async def test_only_do_decode_false_omits_tokens(start: Start, decode: JSON, shown: bool) -> None:
    answer = (await (await start()).ask("mindie", COUNTED, {"inputs": PROMPT, "do_decode": decode})).json()
    assert bool(answer["tokens"]) is shown
    assert answer["token_number"] > 0
