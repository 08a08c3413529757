"""Validation of tensor declarations in a scenario."""

import json

import pytest

from emulator.runtime.services import check_vendors
from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.vendors.openvino.routes import VENDOR
from tests.untyped_json import JSON

_OUTPUTS: JSON = [{"name": "a", "shape": [1]}]


def check(**traits: JSON) -> None:
    text = "version: 1\ndeployments: [{vendor: openvino, name: net, kind: classic, traits: %s}]\n"
    check_vendors(load_text(text % json.dumps(traits)), {"openvino": VENDOR})


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        pytest.param("b", "inputs is a list of tensors, each with a name, a datatype and a shape", id="a text"),
        pytest.param([1], "inputs: a tensor has a name", id="a number"),
        pytest.param([{"shape": [1]}], "inputs: a tensor has a name", id="no name"),
        pytest.param([{"name": "b", "datatype": "FP31", "shape": [1]}], "the datatype of b is none of BOOL", id="FP31"),
        pytest.param([{"name": "b"}], "the shape of b is a list of whole numbers", id="no shape"),
        pytest.param([{"name": "b", "shape": [1, -2]}], "the shape of b is a list of whole numbers", id="below -1"),
        pytest.param([{"name": "b", "shape": [True]}], "the shape of b is a list of whole numbers", id="a boolean"),
        pytest.param([{"name": "b", "shape": [1], "type": "FP32"}], "inputs: a tensor has no type", id="another key"),
    ],
)
def test_invalid_tensor_is_scenario_error(inputs: JSON, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        check(inputs=inputs, outputs=_OUTPUTS)


def test_inputs_require_outputs() -> None:
    check(inputs=[{"name": "b", "datatype": "INT8", "shape": [-1, 2]}], outputs=_OUTPUTS)
    check(nireq=2)
    with pytest.raises(ScenarioError, match="a model has inputs and outputs"):
        check(outputs=_OUTPUTS)
