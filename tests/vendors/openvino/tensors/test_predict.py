"""TensorFlow Serving's predictions by rows and columns, named or not, and its metadata."""

import json

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import SEED, Refusal, make_server
from tests.vendors.openvino.plans import say

_PATH = "/v1/models/dummy:predict"
_PAIR = "/v1/models/pair:predict"
_INSTANCE = "Could not parse instance content. Not valid ndarray detected"
_INPUT = "Could not parse input content. Not valid ndarray detected"
_ROW: JSON = {"ids": [1, 2], "mask": [1, 0]}


def ask(content: JSON, path: str = _PATH, text: str = '{"a": [0.1, 2, 3]}') -> str:
    answer = SEED.send(path, content)
    assert isinstance(answer, InferenceCall), answer.body
    return answer.codec.render(say(text), make_request(path, content)).body.decode()


@pytest.mark.covers("openvino/routes", "POST v1/models:predict")
@pytest.mark.parametrize(
    ("content", "answer"),
    [
        pytest.param({"instances": [[1, 2, 3, 4]]}, '{\n    "predictions": [[0.1, 2.0, 3.0]\n    ]\n}', id="rows"),
        pytest.param(
            {"instances": [{"b": [1, 2, 3, 4]}]}, '{\n    "predictions": [[0.1, 2.0, 3.0]\n    ]\n}', id="named rows"
        ),
        pytest.param(
            {"inputs": [[1, 2, 3, 4]]},
            '{\n    "outputs": [\n        [\n            0.1,\n            2.0,\n            3.0\n        ]\n    ]\n}',
            id="columns",
        ),
        pytest.param(
            {"inputs": {"b": [[1, 2, 3, 4]]}},
            '{\n    "outputs": [\n        [\n            0.1,\n            2.0,\n            3.0\n        ]\n    ]\n}',
            id="named columns",
        ),
    ],
)
def test_predict_response_whitespace(content: JSON, answer: str) -> None:
    assert ask(content) == answer


def test_several_outputs() -> None:
    text = '{"label": ["x", "y"], "score": [[1, 2], [3, 4]]}'
    assert ask({"instances": [_ROW, _ROW]}, _PAIR, text) == (
        '{\n    "predictions": [\n        {\n            "label": "x",\n            "score": [1, 2]\n        },\n'
        '        {\n            "label": "y",\n            "score": [3, 4]\n        }\n    ]\n}'
    )
    columns = {"ids": [[1, 2]], "mask": [[1, 0]]}
    assert ask({"inputs": columns}, _PAIR, '{"label": ["x"], "score": [[1, 2]]}') == (
        '{\n    "outputs": {\n        "label": [\n            "x"\n        ],\n        "score": [\n            [\n'
        "                1,\n                2\n            ]\n        ]\n    }\n}"
    )


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        pytest.param(
            b"{", 412, "The file is not valid json - Error: Missing a name for object member. Offset: 1", id="cut"
        ),
        pytest.param([], 400, "Request body should be JSON object", id="an array"),
        pytest.param({}, 400, "Invalid JSON structure. Could not detect row or column format", id="neither"),
        pytest.param(
            {"instances": [], "inputs": []},
            400,
            "Invalid JSON structure. Could not detect row or column format",
            id="both",
        ),
        pytest.param({"instances": 1}, 400, "Invalid JSON structure. Nonamed instance is not an array.", id="a number"),
        pytest.param({"instances": []}, 400, "Invalid JSON structure. Missing instances in row format", id="no rows"),
        pytest.param({"instances": [None]}, 400, "Could not detect neither named or nonamed format", id="null"),
        pytest.param(
            {"instances": [{"b": [1]}, 1]},
            400,
            "Invalid JSON structure. One of named instances is not a JSON object.",
            id="mixed",
        ),
        pytest.param({"instances": [{}]}, 400, _INSTANCE, id="an empty row"),
        pytest.param({"instances": [[1, 2], [3]]}, 400, _INSTANCE, id="ragged"),
        pytest.param({"instances": [[True]]}, 400, _INSTANCE, id="a boolean"),
        pytest.param({"instances": [{"b": {"b64": "!"}}]}, 400, _INSTANCE, id="no base64"),
        pytest.param({"inputs": "x"}, 400, "Invalid JSON structure. One of inputs is not a JSON object.", id="a text"),
        pytest.param({"inputs": {}}, 400, "Invalid JSON structure, missing inputs", id="no columns"),
        pytest.param({"inputs": {"b": None}}, 400, _INPUT, id="a column that is null"),
        pytest.param(
            {"inputs": [[1, 2, 3]]},
            400,
            "Invalid input shape - Expected: (1,4); Actual: (1,3); input name: b",
            id="shape",
        ),
        pytest.param(
            {"inputs": {"c": [[1, 2, 3, 4]]}}, 400, "Missing input with specific name - Required input: b", id="name"
        ),
        pytest.param(
            {"inputs": {"b": [[1, 2, 3, 4]], "c": [1]}},
            400,
            "Invalid number of inputs - Expected: 1; Actual: 2",
            id="one more",
        ),
    ],
)
def test_refusals(content: JSON, status: int, reason: str) -> None:
    assert SEED.refusal(content, _PATH) == Refusal(status, reason)


@pytest.mark.parametrize(
    ("path", "content", "refusal"),
    [
        pytest.param(
            _PAIR,
            {"instances": [[1, 2]]},
            Refusal(400, "Inputs inside buffer does not match expected format."),
            id="unnamed",
        ),
        pytest.param(
            _PAIR,
            {"instances": [_ROW, {"ids": [1, 2]}]},
            Refusal(400, "Invalid JSON structure. Request inputs have different batch sizes"),
            id="batches that differ",
        ),
        pytest.param(
            "/v1/models/net:predict", {"inputs": [1]}, Refusal(500, "Internal allocation error"), id="no inputs at all"
        ),
        pytest.param(
            "/v1/models/none:predict", b"", Refusal(404, "Model with requested name is not found"), id="unknown"
        ),
        pytest.param(
            "/v1/models/llama3:predict", b"", Refusal(404, "Model with requested name is not found"), id="a graph"
        ),
        pytest.param(
            "/v1/models/dummy/versions/9:predict",
            b"",
            Refusal(404, "Model with requested version is not found"),
            id="version",
        ),
        pytest.param("/v1/models/dummy/versions/1:predict", {"inputs": [[1, 2, 3, 4]]}, None, id="its version"),
        pytest.param("/v1/models/dummy/labels/stable:predict", {"inputs": [[1, 2, 3, 4]]}, None, id="a label"),
        pytest.param("/v1/models/sees:predict", {"instances": [{"in": {"b64": "iVBORw=="}}]}, None, id="a picture"),
        pytest.param("/v1/models/a/b:predict", {}, Refusal(400, "Invalid request URL"), id="no such path"),
    ],
)
def test_refusals_by_model_path(path: str, content: JSON, refusal: Refusal | None) -> None:
    assert SEED.refusal(content, path) == refusal


def test_predict_is_removed_in_2026_3() -> None:
    assert make_server("2026.2").refusal({"inputs": [[1, 2, 3, 4]]}, _PATH) is None
    refusal = make_server("2026.3").refusal({"inputs": [[1, 2, 3, 4]]}, _PATH)
    assert refusal is not None
    assert "model field is missing" in refusal.error


@pytest.mark.covers("openvino/routes", "GET v1/models/metadata")
def test_metadata() -> None:
    answer = SEED.send("/v1/models/dummy/versions/1/metadata", method="GET")
    assert isinstance(answer, Response)
    assert answer.body.startswith(
        b'{\n "modelSpec": {\n  "name": "dummy",\n  "signatureName": "",\n  "version": "1"\n },\n'
    )
    signature = json.loads(answer.body)["metadata"]["signature_def"]["signatureDef"]["serving_default"]
    assert signature == {
        "inputs": {
            "b": {
                "dtype": "DT_FLOAT",
                "tensorShape": {"dim": [{"size": "1", "name": ""}, {"size": "4", "name": ""}], "unknownRank": False},
                "name": "b",
            }
        },
        "outputs": {
            "a": {
                "dtype": "DT_FLOAT",
                "tensorShape": {"dim": [{"size": "1", "name": ""}, {"size": "3", "name": ""}], "unknownRank": False},
                "name": "a",
            }
        },
        "methodName": "",
        "defaults": {},
    }
    assert answer.body.endswith(b'     "methodName": "",\n     "defaults": {}\n    }\n   }\n  }\n }\n}\n')


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", [b'{"instances":%b}', b'{"inputs":%b}', b'{"inputs":{"b":%b}}', b'{"instances":[{"b":%b}]}']
)
@pytest.mark.parametrize(
    ("levels", "status"),
    [pytest.param(15_000, 400, id="many"), pytest.param(20_001, 412, id="more than a stack holds")],
)
def test_deeply_nested_arrays_are_refused(form: bytes, levels: int, status: int) -> None:
    refusal = SEED.refusal(form % (b"[" * levels + b"1" + b"]" * levels), _PATH)
    assert refusal is not None
    assert refusal.status == status


@pytest.mark.parametrize(
    ("array", "is_one"),
    [
        pytest.param([1, 2], True, id="a row"),
        pytest.param([[[1], [2]]], True, id="levels"),
        pytest.param([[], []], True, id="empty rows"),
        pytest.param([], True, id="nothing"),
        pytest.param([[1], [2, 3]], False, id="rows of other lengths"),
        pytest.param([[1], 2], False, id="a row and a value"),
        pytest.param([1, [2]], False, id="a value and a row"),
        pytest.param([[], [1]], False, id="an empty row and one that is not"),
        pytest.param([[[1]], [2]], False, id="rows of other levels"),
    ],
)
def test_ragged_arrays_are_reported_as_invalid(array: JSON, is_one: bool) -> None:
    refusal = SEED.refusal({"inputs": {"unknown": array}}, _PATH)
    assert refusal is not None
    assert (refusal.error == _INPUT) != is_one
