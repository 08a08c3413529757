"""Token ids of texts."""

import json

import pytest

from emulator.core.http import Response
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import LATEST, Refusal, failure, make_server

PATH = "/v3/tokenize"
_ELEMENT = "every element in text array should be either string or int"


@pytest.mark.covers("openvino/models, tokenize, responses", "tokenize's fields")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({}, "text field is required", id="nothing"),
        pytest.param({"text": 1}, "text should be string, array of strings or array of integers", id="a number"),
        pytest.param({"text": []}, "text array should not be empty", id="an empty array"),
        pytest.param({"text": ["a", 1]}, "text must be homogeneous", id="a mixture"),
        pytest.param({"text": [[1], []]}, "inner arrays in text should not be empty", id="an empty inner array"),
        pytest.param({"text": [1]}, "Input should be string or array of strings", id="ids"),
        pytest.param({"text": [["a"]]}, "Input should be string or array of strings", id="arrays of texts"),
        pytest.param({"text": [[1], ["a"]]}, "text must be homogeneous", id="ids, then texts"),
        pytest.param({"text": ["a", []]}, "inner arrays in text should not be empty", id="a text, then nothing"),
        pytest.param({"text": [None]}, _ELEMENT, id="null"),
        pytest.param({"text": [1.5]}, _ELEMENT, id="a fraction"),
        pytest.param({"text": [True]}, _ELEMENT, id="a boolean"),
        pytest.param({"text": [[{}]]}, _ELEMENT, id="an object in an inner array"),
        pytest.param({"text": [1], "max_length": 0}, "max_length should be greater than 0", id="fields before ids"),
        pytest.param({"text": "a", "max_length": "x"}, "max_length should be unsigned integer", id="max_length text"),
        pytest.param({"text": "a", "max_length": 0}, "max_length should be greater than 0", id="max_length zero"),
        pytest.param({"text": "a", "pad_to_max_length": 1}, "pad_to_max_length should be boolean", id="padding number"),
        pytest.param(
            {"text": "a", "add_special_tokens": 1}, "add_special_tokens should be boolean", id="special tokens number"
        ),
        pytest.param(
            {"text": "a", "padding_side": 1}, "padding_side should be string, either left or right", id="side number"
        ),
        pytest.param(
            {"text": "a", "padding_side": "up"}, "padding_side should be either left or right", id="another side"
        ),
    ],
)
def test_refusal(fields: JSON, reason: str) -> None:
    assert LATEST.refusal({"model": "llama3", **fields}, PATH) == Refusal(400, failure(reason))


def tokens(**fields: JSON) -> JSON:
    answer = LATEST.send(PATH, {"model": "llama3", **fields})
    assert isinstance(answer, Response)
    assert answer.body.startswith(b'{"tokens":[')
    return json.loads(answer.body)["tokens"]


@pytest.mark.covers("openvino/routes", "POST tokenize")
def test_ids() -> None:
    deployment = LATEST.service.deployments["llama3"]
    tokenizer = LATEST.service.tokenizer(deployment)
    ids = tokenizer.encode("hello world")
    assert tokens(text="hello world", add_special_tokens=False) == ids
    assert tokens(text="hello world") == [tokenizer.bos, *ids]
    assert tokens(text=["hello world"], add_special_tokens=False) == ids
    assert tokens(text=["hello world", "hello world"], add_special_tokens=False) == [ids, ids]


@pytest.mark.covers("openvino/models, tokenize, responses", "tokens")
def test_length() -> None:
    plain = {"text": "hello world", "add_special_tokens": False}
    assert len(tokens(**plain, max_length=1)) == 1
    padded = tokens(**plain, max_length=6, pad_to_max_length=True)
    assert (len(padded), padded[-1]) == (6, 0)
    assert tokens(**plain, max_length=6, pad_to_max_length=True, padding_side="left")[0] == 0
    assert len(tokens(**plain, max_length=6)) < 6


@pytest.mark.parametrize(
    ("release", "model", "served"),
    [
        ("2025.3", "embeddings", False),
        ("2025.4", "embeddings", True),
        ("2025.4", "llama3", False),
        ("2026.0", "llama3", True),
    ],
)
def test_tokenize_availability_by_release(release: str, model: str, served: bool) -> None:
    assert (make_server(release).refusal({"model": model, "text": "a"}, PATH) is None) is served
