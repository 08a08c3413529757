"""Model, limits and health of a server."""

import pytest

from tests.conftest import Start
from tests.vendors.tgi.direct import OLD


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
