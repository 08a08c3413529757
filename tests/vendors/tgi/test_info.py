"""Model, limits and health of a server."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, HELLO, OLD


@pytest.mark.covers("mindie/TGI beside it", "GET /")
@pytest.mark.covers("mindie/TGI", "routes of 3")
async def test_auxiliary_routes(start: Start) -> None:
    running = await start()
    for path in ("/", "/health", "/ping"):
        answer = await running.ask("tgi", path)
        assert (answer.status, answer.body) == (200, b"")
    models = (await running.ask("tgi", "/v1/models")).json()
    assert models["data"][0]["created"] == 0
    tokens = (await running.ask("tgi", "/tokenize", {"inputs": "Hé 世"})).json()
    assert all(list(token) == ["id", "text", "start", "stop"] for token in tokens)
    assert tokens[-1]["stop"] == len("Hé 世".encode())
    await running.ask("tgi", "/generate", {"inputs": "x"})
    metrics = (await running.ask("tgi", "/metrics")).body.decode()
    assert "tgi_request_count" in metrics
    assert 'tgi_request_duration_bucket{le="+Inf"}' in metrics


@pytest.mark.covers("mindie/TGI", "info")
@pytest.mark.parametrize(
    ("section", "present", "absent"),
    [
        pytest.param("", "max_input_tokens", "max_input_length", id="3"),
        pytest.param(OLD, "max_input_length", "router", id="0.9.4"),
    ],
)
async def test_info(start: Start, section: str, present: str, absent: str) -> None:
    info = (await (await start(section)).ask("tgi", "/info")).json()
    assert present in info
    assert absent not in info
    assert info["max_concurrent_requests"] == 128


GONE = "deployments: [{vendor: tgi, name: own, state: stopped}]\n"
REFUSED = "Request failed during generation: Server error: error trying to connect: Connection refused (os error 111)"


async def test_routes_without_model_server(start: Start) -> None:
    """``router/src/server.rs``: the router itself goes on."""
    running = await start(GONE)
    for path in ("/info", "/v1/models"):
        assert (await running.ask("tgi", path)).status == 200
    assert (await running.ask("tgi", "/tokenize", {"inputs": "x"})).status == 200
    assert (await running.ask("tgi", "/chat_tokenize", {"messages": HELLO})).status == 200
    for path in ("/", "/health", "/ping"):
        answer = await running.ask("tgi", path)
        assert (answer.status, answer.json()) == (503, {"error": "unhealthy", "error_type": "healthcheck"})
    asked: list[tuple[str, JSON]] = [
        ("/generate", {"inputs": "x"}),
        ("/", {"inputs": "x"}),
        (CHAT, {"messages": HELLO}),
        ("/v1/completions", {"prompt": "x"}),
    ]
    for path, body in asked:
        answer = await running.ask("tgi", path, body)
        assert (answer.status, answer.json()) == (424, {"error": REFUSED, "error_type": "generation"})
        assert (await running.ask("tgi", path, {**body, "max_tokens": -1, "parameters": 5})).status == 422
    events = (await running.ask("tgi", "/generate_stream", {"inputs": "x"})).events()
    assert events == [{"error": REFUSED, "error_type": "generation"}]
    events = (await running.ask("tgi", CHAT, {"messages": HELLO, "stream": True})).events()
    assert events == [{"error": {"message": REFUSED, "http_status_code": 422}}, "[DONE]"]
    answer = await running.ask("tgi", "/generate", {"inputs": "x", "parameters": {"top_p": 5.0}})
    assert (answer.status, answer.json()["error_type"]) == (422, "validation")
    answer = await running.ask("tgi", "/vertex", {"instances": [{"inputs": "x"}]})
    assert (answer.status, answer.json()["error"]) == (500, "Incomplete generation")
    assert 'tgi_request_failure{err="generation"} 7' in (await running.ask("tgi", "/metrics")).body.decode()


@pytest.mark.parametrize(
    ("section", "version", "label"), [("", "3.3.6-dev0", "sha-dfb3fbe"), (OLD, "0.9.4", "sha-9f18f4c")]
)
async def test_release_names_itself(start: Start, section: str, version: str, label: str) -> None:
    """``Cargo.toml:24`` of 3.3.7; ``.github/workflows/build.yaml:223-224`` (GIT_SHA, DOCKER_LABEL)."""
    info = (await (await start(section)).ask("tgi", "/info")).json()
    assert (info["version"], info["docker_label"], info["sha"][:7]) == (version, label, label.removeprefix("sha-"))
