"""Metrics by graph and method; the metrics route and unused graphs do not count."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from emulator.vendors.openvino.routes import VENDOR
from tests.http_client import Running
from tests.untyped_json import JSON

_SCENARIO = """
vendors: {openvino: {profile: "2026.2", metrics_enable: true}}
deployments:
  - {vendor: openvino, name: other, kind: other}
  - {vendor: openvino, name: second}
rules:
  - {name: wait, when: {vendor: openvino, prompt: wait}, latency: {ttft: 1h}, reply: {text: late}}
  - {name: hello, when: {vendor: openvino}, reply: {text: "One two three four"}}
"""
_CHAT = "/v3/chat/completions"
_SERIES = re.compile(r"^ovms_(\S+?)\{(.*)\} ([1-9]\S*)$", re.MULTILINE)
Start = Callable[..., Awaitable[Running]]


def ask(model: str = "llama3", prompt: str = "hello", **fields: JSON) -> JSON:
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **fields}


async def count(running: Running) -> dict[str, float]:
    """Return family, method and graph of every series above zero, without buckets."""
    body = (await running.ask("openvino", "/metrics", method="GET")).body.decode()
    found: dict[str, float] = {}
    for family, labels, value in _SERIES.findall(body):
        parts = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if "le" not in parts:
            found[" ".join(filter(None, (family, parts.get("method"), parts["name"])))] = float(value)
    return found


@pytest.mark.covers("openvino/management", "what metrics count")
@pytest.mark.parametrize(
    ("bodies", "counts"),
    [
        pytest.param([], {}, id="nothing but the page itself"),
        pytest.param([b"{", b"[]", ask("none"), {**ask(), "model": 1}], {}, id="what no graph was asked"),
        pytest.param(
            [ask(), ask(), ask("second")],
            {
                "requests_accepted Unary llama3": 2,
                "responses Unary llama3": 2,
                "requests_accepted Unary second": 1,
                "responses Unary second": 1,
            },
            id="answers in one piece, by graph",
        ),
        pytest.param(
            [ask(stream=True)],
            {"requests_accepted Stream llama3": 1, "responses Stream llama3": 4},
            id="a stream has as many responses as packets",
        ),
        pytest.param(
            [ask(temperature=3.0), ask(temperature=3.0, stream=True)],
            {
                "requests_accepted Unary llama3": 1,
                "graph_error Unary llama3": 1,
                "requests_accepted Stream llama3": 1,
                "graph_error Stream llama3": 1,
                "responses Stream llama3": 0,
            },
            id="what the graph refuses was accepted",
        ),
        pytest.param(
            [ask("other")],
            {"requests_rejected Unary other": 1, "graph_error Unary other": 1},
            id="what the graph cannot take was rejected",
        ),
    ],
)
async def test_counts(start: Start, bodies: list[JSON], counts: dict[str, float]) -> None:
    running = await start(_SCENARIO, vendors=(VENDOR,))
    for body in bodies:
        await running.ask("openvino", _CHAT, body)
    found = await count(running)
    times = {name: value for name, value in found.items() if name.startswith("graph_processing_time_us_count")}
    assert {n: v for n, v in found.items() if not n.startswith("graph_processing")} == {
        n: v for n, v in counts.items() if v
    }
    answered = {name: value for name, value in counts.items() if name.startswith("responses") and value}
    assert len(times) == len(answered)


@pytest.mark.covers("openvino/management", "current graphs and requests")
async def test_running_request_is_counted_by_graph(start: Start) -> None:
    running = await start("version: 1\nclock: real\n" + _SCENARIO, vendors=(VENDOR,))
    task = asyncio.ensure_future(running.ask("openvino", _CHAT, ask("second", "wait")))
    while (found := await count(running)) == {}:
        await asyncio.sleep(0)
    task.cancel()
    assert found == {"current_graphs second": 1}


_MODEL = """
vendors: {openvino: {profile: "2026.2", metrics_enable: true}}
deployments:
  - vendor: openvino
    name: dummy
    kind: classic
    traits: {inputs: [{name: b, shape: [1, 2]}], outputs: [{name: a, shape: [1, 2]}], nireq: 3}
"""


@pytest.mark.covers("openvino/management", "of classic models")
async def test_classic_model_inferences_are_counted_by_method(start: Start) -> None:
    running = await start(_MODEL, vendors=(VENDOR,))
    tensor = {"name": "b", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}
    for inputs in ([tensor], [tensor], [{**tensor, "shape": [1, 3]}]):
        await running.ask("openvino", "/v2/models/dummy/infer", {"inputs": inputs})
    await running.ask("openvino", "/v1/models/dummy:predict", {"instances": [{"b": [1, 2]}]})
    await running.ask("openvino", "/v1/models/dummy:predict", {"instances": [{"c": [1, 2]}]})
    await running.ask("openvino", "/v2/models/dummy", method="GET")
    found = await count(running)
    sums = {name: found.pop(name) for name in list(found) if "_us" in name}
    assert found == {
        "streams dummy": 1,
        "infer_req_queue_size dummy": 3,
        "requests_success ModelInfer dummy": 2,
        "requests_fail ModelInfer dummy": 1,
        "requests_success Predict dummy": 1,
        "requests_fail Predict dummy": 1,
    }
    assert {name: sums[f"{name}_count dummy"] for name in _TIMES} == dict.fromkeys(_TIMES, 3)


_TIMES = ("request_time_us", "inference_time_us", "wait_for_infer_req_time_us")
