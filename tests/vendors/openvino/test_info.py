"""Metadata, probes, status and model lists."""

import json

import pytest

from emulator.core.http import Response
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import LATEST, SEED, Refusal, Server, make_server, without

_EXTRA = [name for name in SEED.service.deployments if name not in ("llama3", "embeddings", "rerank")]
_NOT_READY = ("loading", "slow-net")
SMALL = without(SEED, *_EXTRA)
_STATUS = """{
 "model_version_status": [
  {
   "version": "1",
   "state": "%s",
   "status": {
    "error_code": "OK",
    "error_message": "OK"
   }
  }
 ]
}"""


def get(server: Server, path: str, method: str = "GET") -> Response:
    answer = server.send(path, None, method=method)
    assert isinstance(answer, Response)
    return answer


@pytest.mark.covers("openvino/routes", "GET v2")
def test_server() -> None:
    body = json.loads(get(SEED, "/v2").body)
    assert list(body) == ["name", "version"]
    assert body["name"] == "OpenVINO Model Server"
    assert body["version"].startswith("2025.0.0.")
    assert json.loads(get(make_server(server_version="1.2"), "/v2").body)["version"] == "1.2"


@pytest.mark.covers("openvino/routes", "GET v2/health/live")
@pytest.mark.covers("openvino/traps", "24")
def test_live() -> None:
    answer = get(SEED, "/v2/health/live")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers == (("content-type", "application/json; charset=utf-8"),)


@pytest.mark.covers("openvino/routes", "GET v2/health/ready")
@pytest.mark.covers("openvino/management", "not ready")
@pytest.mark.parametrize(
    ("release", "refusal"),
    [
        pytest.param("2025.0", Refusal(500, "Error while loading a model"), id="2025.0"),
        pytest.param("2026.1", Refusal(500, "Error while loading a model"), id="2026.1"),
        pytest.param("2026.2", Refusal(503, "Server is not ready"), id="2026.2"),
    ],
)
def test_ready(release: str, refusal: Refusal) -> None:
    server = make_server(release)
    assert server.refusal(None, "/v2/health/ready", method="GET") == refusal
    answer = get(without(server, *_NOT_READY), "/v2/health/ready")
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.covers("openvino/routes", "GET v2/models")
@pytest.mark.parametrize("path", ["", "/", "/versions/1", "/versions/7/"])
def test_model(path: str) -> None:
    assert get(SEED, "/v2/models/llama3" + path).body == (
        b'{"name":"llama3","versions":["1"],"platform":"OpenVINO",'
        b'"inputs":[{"name":"input","datatype":"INVALID","shape":[]}],'
        b'"outputs":[{"name":"output","datatype":"INVALID","shape":[]}]}'
    )


_UNKNOWN = Refusal(404, "Model with requested name is not found")
_UNLOADED = Refusal(404, "Model with requested version is not loaded yet")


@pytest.mark.covers("openvino/routes", "GET v2/models/ready")
@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        pytest.param("/v2/models/none", _UNKNOWN, id="unknown"),
        pytest.param("/v2/models/none/ready", _UNKNOWN, id="unknown, ready"),
        pytest.param("/v2/models/llama3/ready", None, id="ready"),
        pytest.param("/v2/models/llama3/versions/1/ready", None, id="a version ready"),
        pytest.param("/v2/models/loading/ready", _UNLOADED, id="loading"),
        pytest.param("/v2/models/retired/ready", _UNLOADED, id="retired"),
    ],
)
def test_model_ready(path: str, refusal: Refusal | None) -> None:
    assert SEED.refusal(None, path, method="GET") == refusal
    if refusal is None:
        assert get(SEED, path).body == b""


@pytest.mark.covers("openvino/management", "a graph's tensors")
@pytest.mark.covers("openvino/cases", "28")
@pytest.mark.parametrize("model", ["llama3", "embeddings", "image"])
def test_graphs_reject_tensors(model: str) -> None:
    body = {"inputs": [{"name": "input", "shape": [1], "datatype": "FP32", "data": [1]}]}
    refusal = SEED.refusal(body, f"/v2/models/{model}/infer")
    assert refusal is not None
    assert refusal.status == 412
    assert refusal.error.startswith("Failed to add packet to mediapipe graph input stream - ")
    assert SEED.refusal(body, "/v2/models/none/infer") == _UNKNOWN


@pytest.mark.covers("openvino/routes", "GET v1/config")
@pytest.mark.covers("openvino/cases", "107")
def test_config() -> None:
    assert get(without(SMALL, "embeddings", "rerank"), "/v1/config").body.decode() == (
        '{\n"llama3" : \n' + _STATUS % "AVAILABLE" + "\n}"
    )
    two = get(without(SMALL, "rerank"), "/v1/config").body.decode()
    available = _STATUS % "AVAILABLE"
    assert two == f'{{\n"embeddings" : \n{available},\n"llama3" : \n{available}\n}}'
    assert get(without(SMALL, "embeddings", "rerank", "llama3"), "/v1/config").body == b"{}"


@pytest.mark.covers("openvino/routes", "GET v1/models")
@pytest.mark.parametrize(("name", "state"), [("llama3", "AVAILABLE"), ("loading", "LOADING"), ("retired", "END")])
def test_status(name: str, state: str) -> None:
    for path in ("", "/versions/1"):
        assert get(SEED, f"/v1/models/{name}{path}").body.decode() == _STATUS % state + "\n"


@pytest.mark.covers("openvino/management", "no status")
@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/models/none", "/v1/models/llama3/metadata", "/v1/models/none/versions/1"]
)
def test_status_of_unknown_model_is_not_found(path: str) -> None:
    assert SEED.refusal(None, path, method="GET") == _UNKNOWN


@pytest.mark.covers("openvino/routes", "POST v1/config/reload")
@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        pytest.param("not_needed", 200, None, id="not needed"),
        pytest.param("reloaded", 201, None, id="reloaded"),
        pytest.param("cannot_open", 500, "Config file not found or cannot open.", id="no file"),
        pytest.param(
            "failed", 500, "Reloading config file failed. Check server logs for more info.", id="a broken file"
        ),
        pytest.param(
            "versions_failed", 500, "Reloading models versions failed. Check server logs for more info.", id="versions"
        ),
        pytest.param(
            "statuses_failed",
            500,
            "Retrieving all model statuses failed. Check server logs for more info.",
            id="statuses",
        ),
        pytest.param(
            "serializing_failed",
            500,
            "Serializing model statuses to json failed. Check server logs for more info.",
            id="serializing",
        ),
    ],
)
def test_reload(outcome: str, status: int, error: str | None) -> None:
    server = make_server("seed", config_reload=outcome)
    answer = get(server, "/v1/config/reload", "POST")
    assert answer.status == status
    if error is None:
        assert answer.body == get(server, "/v1/config").body
    else:
        assert answer.body.decode() == f'{{\n\t"error": "{error}"\n}}'


@pytest.mark.covers("openvino/routes", "GET models")
@pytest.mark.covers("openvino/models, tokenize, responses", "order of keys")
@pytest.mark.parametrize("path", ["/v3/models", "/v3/v1/models", "/v1/models"])
def test_list(path: str) -> None:
    body = json.loads(get(LATEST, path).body)
    assert list(body) == ["data", "object"]
    assert body["object"] == "list"
    names = [entry["id"] for entry in body["data"]]
    assert names[0] == "net"
    assert not {"loading", "retired"} & set(names)
    assert list(body["data"][0].items()) == [
        ("id", "net"),
        ("object", "model"),
        ("created", 1767225600),
        ("owned_by", "OVMS"),
    ]


@pytest.mark.covers("openvino/routes", "GET models/id")
@pytest.mark.covers("openvino/models, tokenize, responses", "unknown")
@pytest.mark.covers("openvino/cases", "100")
@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        pytest.param("/v3/models/llama3", None, id="known"),
        pytest.param("/v3/v1/models/my/graph", None, id="with a slash"),
        pytest.param("/v1/models/my/graph", None, id="with a slash under v1"),
        pytest.param("/v3/models/non_existing", Refusal(500, "Model not found"), id="unknown"),
        pytest.param("/v3/models/loading", Refusal(500, "Model not found"), id="loading"),
    ],
)
def test_retrieve(path: str, refusal: Refusal | None) -> None:
    assert LATEST.refusal(None, path, method="GET") == refusal
    assert SEED.refusal(None, path, method="GET") in (
        Refusal(400, "Invalid request URL"),
        Refusal(404, "Model with requested name is not found"),
    )


@pytest.mark.covers("openvino/routes", "GET metrics")
@pytest.mark.parametrize(
    ("release", "kind"),
    [
        pytest.param("2025.0", "application/json; charset=utf-8", id="2025.0 calls it JSON"),
        pytest.param("2025.4", "text/plain; charset=utf-8", id="2025.4 calls it text"),
    ],
)
def test_metrics(release: str, kind: str) -> None:
    answer = get(make_server(release, metrics_enable=True), "/metrics")
    assert answer.headers[0] == ("content-type", kind)
    lines = answer.body.decode().split("\n")
    assert 'ovms_requests_accepted{api="V3",interface="REST",method="Unary",name="llama3"} 0' in lines
    assert "# TYPE ovms_current_graphs gauge" in lines
    assert 'ovms_current_graphs{name="llama3"} 0' in lines


@pytest.mark.covers("openvino/management", "families of metrics")
def test_metrics_have_every_family_once() -> None:
    body = get(make_server(metrics_enable=True), "/metrics").body.decode()
    families = [line.split()[2:] for line in body.split("\n") if line.startswith("# TYPE")]
    assert families == [
        ["ovms_current_graphs", "gauge"],
        ["ovms_requests_accepted", "counter"],
        ["ovms_requests_rejected", "counter"],
        ["ovms_responses", "counter"],
        ["ovms_graph_error", "counter"],
        ["ovms_graph_processing_time_us", "histogram"],
        ["ovms_streams", "gauge"],
        ["ovms_current_requests", "gauge"],
        ["ovms_infer_req_queue_size", "gauge"],
        ["ovms_infer_req_active", "gauge"],
        ["ovms_requests_success", "counter"],
        ["ovms_requests_fail", "counter"],
        ["ovms_request_time_us", "histogram"],
        ["ovms_inference_time_us", "histogram"],
        ["ovms_wait_for_infer_req_time_us", "histogram"],
    ]
    assert 'ovms_graph_processing_time_us_bucket{method="Unary",name="llama3",le="32.4"} 0' in body


@pytest.mark.covers("openvino/management", "metrics off")
def test_metrics_are_off_by_default() -> None:
    assert SEED.refusal(None, "/metrics", method="GET") == Refusal(400, "Invalid request URL")


@pytest.mark.covers("openvino/management", "a classic model's tensors")
def test_classic_model_without_declared_tensors_has_empty_metadata() -> None:
    body: JSON = json.loads(get(SEED, "/v2/models/net").body)
    assert (body["inputs"], body["outputs"]) == ([], [])
