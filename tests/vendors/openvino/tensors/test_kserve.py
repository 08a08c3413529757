"""KServe inference: validation, and responses including white space."""

import json

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.scenario.models import DeploymentEntry
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import LATEST, SEED, Refusal, Server, make_server
from tests.vendors.openvino.plans import say

_NAME = "input name: input name: b"
_INPUT = "Could not parse input content. Not valid ndarray detected"
_PARAMETERS = "Could not parse request parameters"
_OUTPUT = "Could not parse output content."
_LENGTH = "Inference-Header-Content-Length"


def tensor(**members: JSON) -> JSON:
    return {"name": "b", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4], **members}


def body(*inputs: JSON, **members: JSON) -> JSON:
    return {"inputs": list(inputs or (tensor(),)), **members}


def ask(server: Server, content: JSON, model: str = "dummy", text: str = "", **headers: str) -> Response:
    lines = {name.replace("_", "-"): value for name, value in headers.items()}
    path = f"/v2/models/{model}/infer"
    answer = server.send(path, content, headers=lines)
    if isinstance(answer, InferenceCall):
        return answer.codec.render(say(*([text] if text else [])), make_request(path, content))
    return answer


@pytest.mark.covers("openvino/routes", "POST v2/models/infer")
def test_response_bytes_including_white_space() -> None:
    answer = ask(SEED, body(id="7"), text='{"a": [0.5, 2, -0.1]}')
    assert answer.body.decode() == (
        '{\n    "model_name": "dummy",\n    "id": "7",\n    "model_version": "1",\n    "outputs": [{\n'
        '            "name": "a",\n            "shape": [1, 3],\n            "datatype": "FP32",\n'
        '            "data": [0.5, 2.0, -0.10000000149011612]\n        }]\n}'
    )


def test_several_outputs() -> None:
    ids = {"name": "ids", "shape": [1, 2], "datatype": "INT64", "data": [[1, 2]]}
    mask = {"name": "mask", "shape": [1, 2], "datatype": "BOOL", "data": [True, False]}
    text = '{"label": ["a\\"b"], "score": [[1, -2]]}'
    answer = ask(SEED, body(ids, mask), "pair", text)
    assert answer.body.decode() == (
        '{\n    "model_name": "pair",\n    "model_version": "1",\n    "outputs": [{\n            "name": "label",\n'
        '            "shape": [1],\n            "datatype": "BYTES",\n            "data": ["a\\"b"]\n        }, {\n'
        '            "name": "score",\n            "shape": [1, 2],\n            "datatype": "INT32",\n'
        '            "data": [1, -2]\n        }]\n}'
    )


def test_equal_tensors_in_any_encoding_get_equal_outputs() -> None:
    as_json = ask(SEED, body(tensor(data=[[1.0, 2.0, 3.0, 4.0]])))
    head = json.dumps(body({"name": "b", "shape": [1, 4], "datatype": "FP32"})).encode()
    raw = bytes.fromhex("0000803f000000400000404000008040")
    as_bytes = ask(SEED, head + raw, **{_LENGTH: str(len(head))})
    sized = json.dumps(body(tensor(parameters={"binary_data_size": 16}) | {"data": []})).encode()
    assert as_json.body == as_bytes.body
    assert ask(SEED, sized + raw, **{_LENGTH: str(len(sized))}).body == as_json.body
    assert ask(SEED, body(tensor(data=[1, 2, 3, 5]))).body != as_json.body
    assert all(0 <= value < 1 for value in json.loads(as_json.body)["outputs"][0]["data"])


@pytest.mark.parametrize(
    "wanted",
    [
        {"parameters": {"binary_data_output": True}, "outputs": [{"name": "a"}]},
        {"outputs": [{"name": "a", "parameters": {"binary_data": True}}]},
    ],
    ids=["all", "one"],
)
def test_binary_outputs(wanted: JSON) -> None:
    answer = ask(SEED, body(**wanted), text='{"a": [1, 2, 3]}')
    length = int(dict(answer.headers)["inference-header-content-length"])
    assert answer.body[length:] == bytes.fromhex("0000803f0000004000004040")
    end = '            "parameters": {\n                "binary_data_size": 12\n            }\n        }]\n}'
    assert answer.body[:length].decode().endswith('            "datatype": "FP32",\n' + end)


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        pytest.param(b"", 412, "The file is not valid json - Error: The document is empty. Offset: 0", id="nothing"),
        pytest.param(
            b"[1",
            412,
            "The file is not valid json - Error: Missing a comma or ] after an array element. Offset: 2",
            id="cut",
        ),
        pytest.param(
            b'{"a" 1}',
            412,
            "The file is not valid json - Error: Missing a colon after a name of object member. Offset: 5",
            id="no colon",
        ),
        pytest.param([], 400, "Request body should be JSON object", id="an array"),
        pytest.param(body(id=1), 400, _INPUT, id="a number as id"),
        pytest.param(body(parameters=1), 400, _PARAMETERS, id="a number as parameters"),
        pytest.param(body(parameters={"a": 1.5}), 400, _PARAMETERS, id="a fraction as parameter"),
        pytest.param(body(outputs={}), 400, _INPUT, id="an object as outputs"),
        pytest.param(body(outputs=[{}]), 400, _OUTPUT, id="an output without name"),
        pytest.param({}, 400, "Invalid JSON structure, missing inputs", id="no inputs"),
        pytest.param({"inputs": []}, 400, "Invalid JSON structure, missing inputs", id="empty inputs"),
        pytest.param({"inputs": {}}, 400, _INPUT, id="an object as inputs"),
        pytest.param({"inputs": [1]}, 400, _INPUT, id="a number as input"),
        pytest.param(body(tensor(name=1)), 400, _INPUT, id="a number as name"),
        pytest.param(body(tensor(shape=4)), 400, _INPUT, id="a number as shape"),
        pytest.param(body(tensor(shape=[1, -4])), 400, _INPUT, id="a negative dimension"),
        pytest.param(body(tensor(shape=[1.0, 4])), 400, _INPUT, id="a fraction as dimension"),
        pytest.param(body(tensor(datatype=1)), 400, _INPUT, id="a number as type"),
        pytest.param(body(tensor(data=1)), 400, _INPUT, id="a number as data"),
        pytest.param(body(tensor(data=["1"])), 400, _INPUT, id="a text as value"),
        pytest.param(body(tensor(datatype="FP16")), 400, _INPUT, id="half floats as JSON"),
        pytest.param(
            body(tensor(datatype="X")),
            400,
            "Could not parse input content. Unsupported data precision detected",
            id="no type",
        ),
        pytest.param(body(tensor(datatype="INT64", data=[2**31])), 400, _INPUT, id="a number of more than 32 bits"),
        pytest.param(
            body(tensor(), tensor(name="c")),
            400,
            "Invalid number of inputs - Expected: 1; Actual: 2",
            id="one too many",
        ),
        pytest.param(
            body(tensor(name="c")), 400, "Missing input with specific name - Required input: b", id="another name"
        ),
        pytest.param(
            body(tensor(datatype="INT32")),
            400,
            f"Invalid input precision - Expected: FP32; Actual: INT32; {_NAME}",
            id="another type",
        ),
        pytest.param(
            body(tensor(shape=[4])),
            400,
            f"Invalid number of shape dimensions - Expected: (1,4); Actual: (4); {_NAME}",
            id="fewer dimensions",
        ),
        pytest.param(
            body(tensor(shape=[2, 4])),
            400,
            f"Invalid input batch size - Expected: 1; Actual: 2; {_NAME}",
            id="a larger batch",
        ),
        pytest.param(
            body(tensor(shape=[1, 5])),
            400,
            f"Invalid input shape - Expected: (1,4); Actual: (1,5); {_NAME}",
            id="another shape",
        ),
        pytest.param(
            body(tensor(data=[1, 2])),
            400,
            f"Invalid number of values in tensor proto container - Expected: 4 values; Actual: 2 values; {_NAME}",
            id="too few values",
        ),
        pytest.param(
            body(tensor(data=[])),
            400,
            "Received buffer size is smaller than binary_data_size parameter indicates",
            id="no values",
        ),
        pytest.param(
            body(tensor(parameters={"binary_data_size": 4})),
            500,
            "Request contains values both in binary data and in content value",
            id="both",
        ),
        pytest.param(
            body(tensor(data=[], parameters={"binary_data_size": "4"})),
            400,
            "binary_data_size parameter is invalid and cannot be parsed",
            id="size",
        ),
    ],
)
def test_invalid_request_is_rejected(content: JSON, status: int, reason: str) -> None:
    for server in (SEED, LATEST):
        assert server.refusal(content, "/v2/models/dummy/infer") == Refusal(status, reason)


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        pytest.param("/v2/models/none/infer", Refusal(404, "Model with requested name is not found"), id="unknown"),
        pytest.param(
            "/v2/models/dummy/versions/2/infer", Refusal(404, "Model with requested version is not found"), id="version"
        ),
        pytest.param(
            "/v2/models/slow-net/infer", Refusal(404, "Model with requested version is not loaded yet"), id="loading"
        ),
        pytest.param("/v2/models/retired/infer", Refusal(404, "Model with requested version is retired"), id="retired"),
        pytest.param("/v2/models/dummy/versions/1/infer", None, id="its one version"),
    ],
)
def test_model_lookup(path: str, refusal: Refusal | None) -> None:
    assert SEED.refusal(body(), path) == refusal


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        ("x", "Inference-Header-Content-Length header is invalid and couldn't be parsed"),
        ("-1", "Inference-Header-Content-Length header is invalid and couldn't be parsed"),
        ("999", "Inference-Header-Content-Length header exceeds actual payload length"),
    ],
)
def test_invalid_json_length_header_is_rejected(length: str, reason: str) -> None:
    assert SEED.refusal(body(), "/v2/models/dummy/infer", headers={_LENGTH: length}) == Refusal(500, reason)


def test_image_and_text_inputs() -> None:
    """Image files are accepted for an image input, texts for a byte input."""
    head = json.dumps(body({"name": "in", "shape": [1], "datatype": "BYTES"})).encode()
    picture = b"\x04\x00\x00\x00\x89PNG"
    assert ask(SEED, head + picture, "sees", **{_LENGTH: str(len(head))}).status == 200
    two = json.dumps(body({"name": "in", "shape": [1], "datatype": "BYTES"})).encode()
    answer = ask(SEED, two + picture * 2, "sees", **{_LENGTH: str(len(two))})
    assert (
        json.loads(answer.body)["error"]
        == "Invalid input batch size - Expected: 1; Actual: 2; input name: input name: in"
    )
    texts = body({"name": "text", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]})
    assert ask(SEED, texts, "reads").status == 200
    wrong = SEED.refusal(body(tensor(datatype="BYTES", data=["a"], shape=[1])), "/v2/models/dummy/infer")
    assert wrong == Refusal(500, "Functionality not implemented")


def test_nesting_limit_since_2026_2() -> None:
    deep = b'{"inputs":' + b"[" * 100 + b"]" * 100 + b"}"
    assert LATEST.refusal(deep, "/v2/models/dummy/infer") == Refusal(
        500, "JSON nesting depth exceeds the allowed limit"
    )
    assert make_server("2026.1").refusal(deep, "/v2/models/dummy/infer") == Refusal(400, _INPUT)


@pytest.mark.parametrize(
    ("levels", "status", "reason"),
    [
        pytest.param(15_000, 400, f"Invalid input shape - Expected: (1,4); Actual: (1,0); {_NAME}", id="many"),
        pytest.param(
            20_000,
            412,
            "The file is not valid json - Error: Terminate parsing due to Handler error. Offset: 0",
            id="more than a stack holds",
        ),
    ],
)
def test_nesting_of_data(levels: int, status: int, reason: str) -> None:
    nested = b'{"inputs":[{"name":"b","shape":[1,0],"datatype":"FP32","data":%b}]}' % (b"[" * levels + b"]" * levels)
    assert SEED.refusal(nested, "/v2/models/dummy/infer") == Refusal(status, reason)


def test_metadata() -> None:
    answer = SEED.send("/v2/models/pair", method="GET")
    assert isinstance(answer, Response)
    assert answer.body == (
        b'{"name":"pair","versions":["1"],"platform":"OpenVINO","inputs":[{"name":"ids","datatype":"INT64","shape":[-1,2]},'
        b'{"name":"mask","datatype":"BOOL","shape":[-1,2]}],"outputs":[{"name":"label","datatype":"BYTES","shape":[-1]},'
        b'{"name":"score","datatype":"INT32","shape":[-1,2]}]}'
    )


_WIDE = DeploymentEntry(
    vendor="openvino",
    name="wide",
    kind="classic",
    traits={"inputs": [{"name": "b", "shape": [-1, -1, -1]}], "outputs": [{"name": "a", "shape": [-1, -1]}]},
)


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        pytest.param([1, 2_000_000_000, 0], 2_000_000_000, id="nothing, in a shape that is giant"),
        pytest.param([524_289, 1, 0], 524_289, id="one too many"),
    ],
)
def test_output_size_is_bounded(shape: JSON, count: int) -> None:
    server = make_server(deployments=[_WIDE])
    refused = ask(server, body(tensor(shape=shape, data=[])), "wide")
    assert refused.status == 400
    assert f"{count} values" in refused.body.decode()


def test_body_of_too_many_values_is_rejected() -> None:
    refused = ask(SEED, body(tensor(data=[1] * 300_001)))
    assert refused.status == 412
