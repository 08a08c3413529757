"""tritonclient against classic models of OpenVINO Model Server: KServe over REST, values as JSON and as bytes."""

from collections.abc import Iterator

import pytest

from tests.conftest import LiveServer
from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

triton = pytest.importorskip("tritonclient.http")
numpy = pytest.importorskip("numpy")

CLIENT = "tritonclient"

_SCENARIO = """
version: 1
name: live
vendors: {openvino: {profile: "2025.0"}}
deployments:
  - vendor: openvino
    name: dummy
    kind: classic
    traits:
      inputs: [{name: b, datatype: FP32, shape: [-1, 10]}]
      outputs: [{name: a, datatype: FP32, shape: [-1, 10]}]
  - vendor: openvino
    name: words
    kind: classic
    traits:
      inputs: [{name: text, datatype: BYTES, shape: [-1]}]
      outputs: [{name: label, datatype: BYTES, shape: [-1]}]
rules:
  - name: set
    when: {vendor: openvino, deployment: words}
    reply: {text: '{"label": ["yes", "no"]}'}
"""


@pytest.fixture(scope="module")
def live() -> Iterator[Running]:
    with LiveServer(_SCENARIO) as value:
        yield value


@pytest.fixture
def client(live: Running) -> Iterator[JSON]:
    value = triton.InferenceServerClient(live.urls["openvino"].removeprefix("http://"))
    yield value
    value.close()


def make_input(values: JSON, *, binary: bool, name: str = "b", datatype: str = "FP32") -> JSON:
    tensor = triton.InferInput(name, list(values.shape), datatype)
    tensor.set_data_from_numpy(values, binary_data=binary)
    return tensor


def test_probes_and_metadata(client: JSON) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("dummy")
    assert client.get_server_metadata()["name"] == "OpenVINO Model Server"
    assert client.get_model_metadata("dummy")["inputs"] == [{"name": "b", "datatype": "FP32", "shape": [-1, 10]}]


@pytest.mark.parametrize("binary_output", [False, True], ids=["answer as JSON", "answer as bytes"])
def test_json_and_binary_tensors_are_equal(client: JSON, binary_output: bool) -> None:
    values = numpy.arange(20, dtype=numpy.float32).reshape(2, 10)
    outputs = [triton.InferRequestedOutput("a", binary_data=binary_output)]
    found = [
        client.infer("dummy", [make_input(values, binary=binary)], outputs=outputs, request_id="7").as_numpy("a")
        for binary in (True, False)
    ]
    assert found[0].shape == (2, 10)
    assert found[0].dtype == numpy.float32
    assert numpy.array_equal(*found)
    others = client.infer("dummy", [make_input(values + 1, binary=True)]).as_numpy("a")
    assert not numpy.array_equal(found[0], others)


@pytest.mark.parametrize("binary", [True, False], ids=["as bytes", "as JSON"])
def test_bytes_tensors(client: JSON, binary: bool) -> None:
    texts = numpy.array([b"one", b"two"], dtype=object)
    result = client.infer("words", [make_input(texts, binary=binary, name="text", datatype="BYTES")])
    assert [str(text) for text in result.as_numpy("label")] in (["yes", "no"], ["b'yes'", "b'no'"])
    assert result.get_response()["model_version"] == "1"


def test_refusals_match_server(client: JSON) -> None:
    values = numpy.zeros((1, 9), dtype=numpy.float32)
    with pytest.raises(triton.InferenceServerException, match=r"Invalid input shape - Expected: \(-1,10\)"):
        client.infer("dummy", [make_input(values, binary=True)])
    with pytest.raises(triton.InferenceServerException, match="Model with requested name is not found"):
        client.infer("none", [make_input(values, binary=True)])
