"""Embeddings of texts and of token ids."""

import numpy as np
import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.core.plan import Plan, Usage
from emulator.core.requests import EmbeddingRequest
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import LATEST, SEED, Refusal, Server, failure, make_server

OK = None
PATH = "/v3/embeddings"
_MIXED = "input must be homogeneous"
_ELEMENT = "every element in input array should be either string or int"
_KIND = "input should be string, array of strings or array of integers"


def check(server: Server, fields: JSON, reason: str | None, node: str) -> None:
    expected = None if reason is None else Refusal(400, failure(reason, node))
    assert server.refusal({"model": "embeddings", **fields}, PATH) == expected


@pytest.mark.covers("openvino/routes", "POST embeddings")
@pytest.mark.covers("openvino/embeddings and rerank", "input")
@pytest.mark.covers("openvino/cases", "91", "92")
@pytest.mark.parametrize(
    ("server", "node"),
    [pytest.param(SEED, "EmbeddingsCalculator", id="2025.0"), pytest.param(LATEST, "EmbeddingsExecutor", id="2026.3")],
)
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"input": "one"}, OK, id="a string"),
        pytest.param({"input": ["one", "two"]}, OK, id="strings"),
        pytest.param({"input": [1, 2]}, OK, id="ids"),
        pytest.param({"input": [[1, 2], [3]]}, OK, id="arrays of ids"),
        pytest.param({}, "input field is required", id="nothing"),
        pytest.param({"input": 1}, _KIND, id="a number"),
        pytest.param({"input": None}, _KIND, id="null"),
        pytest.param({"input": {}}, _KIND, id="an object"),
        pytest.param({"input": ["one", 2, "three"]}, _MIXED, id="strings and a number"),
        pytest.param({"input": [[1, 2], 5]}, _MIXED, id="an array and a number"),
        pytest.param({"input": [[1], "s"]}, _MIXED, id="an array and a string"),
        pytest.param({"input": [[1, "s"]]}, _MIXED, id="a string after a number in an inner array"),
        pytest.param({"input": [[1, 2.0]]}, _MIXED, id="a fraction after a number in an inner array"),
        pytest.param({"input": [1.5]}, _ELEMENT, id="a fraction"),
        pytest.param({"input": [True]}, _ELEMENT, id="a boolean"),
        pytest.param({"input": [None]}, _ELEMENT, id="null inside"),
        pytest.param({"input": [2**31]}, _ELEMENT, id="a number beyond int32"),
        pytest.param({"input": "a", "encoding_format": "float"}, OK, id="float"),
        pytest.param({"input": "a", "encoding_format": "base64"}, OK, id="base64"),
        pytest.param(
            {"input": "a", "encoding_format": "int8"}, "encoding_format should either base64 or float", id="int8"
        ),
        pytest.param({"input": "a", "encoding_format": None}, "encoding_format should be string", id="null encoding"),
        pytest.param({"input": 1, "encoding_format": 1}, _KIND, id="the input comes first"),
        pytest.param({"input": "a", "dimensions": "x", "user": 1, "stream": 3}, OK, id="fields that are ignored"),
    ],
)
def test_input(server: Server, node: str, fields: JSON, reason: str | None) -> None:
    check(server, fields, reason, node)


@pytest.mark.covers("openvino/embeddings and rerank", "empty arrays")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param([], "input array should not be empty", id="nothing"),
        pytest.param([[1], []], "inner arrays in input should not be empty", id="nothing inside"),
    ],
)
def test_empty_array_error_depends_on_release(value: JSON, reason: str) -> None:
    for server in (LATEST, make_server("2025.4")):
        check(server, {"input": value}, reason, "EmbeddingsExecutor")
    refusal = SEED.refusal({"model": "embeddings", "input": value}, PATH)
    assert refusal is not None
    assert refusal.status == 400
    assert "MP status - INTERNAL: " in refusal.error


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param([["s"]], "input must be either array of strings or array of array of integers", id="texts"),
        pytest.param([["s", 1]], _MIXED, id="a text and a number"),
        pytest.param([["s"], [1]], _MIXED, id="texts, then numbers"),
        pytest.param([[1.0]], _ELEMENT, id="a fraction"),
        pytest.param([[None]], _ELEMENT, id="null"),
        pytest.param([[[1]]], _ELEMENT, id="an array"),
        pytest.param([[], "s"], "inner arrays in input should not be empty", id="nothing, then a text"),
        pytest.param(["s", []], "inner arrays in input should not be empty", id="a text, then nothing"),
        pytest.param([[1], [None]], _ELEMENT, id="a number, then null"),
    ],
)
def test_inner_array_is_judged_by_its_first_value_since_2025_4(value: JSON, reason: str) -> None:
    check(make_server("2025.4"), {"input": value}, reason, "EmbeddingsExecutor")
    check(LATEST, {"input": value}, reason, "EmbeddingsExecutor")
    check(make_server("2025.3"), {"input": [["s"]]}, _MIXED, "EmbeddingsExecutor")


@pytest.mark.parametrize("token", [-1, 30522, 2**31 - 1])
def test_ids_outside_vocabulary_are_rejected(token: int) -> None:
    refusal = SEED.refusal({"model": "embeddings", "input": [token]}, PATH)
    assert refusal is not None
    assert "MP status - INTERNAL: " in refusal.error


@pytest.mark.covers("openvino/embeddings and rerank", "length")
@pytest.mark.covers("openvino/cases", "95")
def test_input_length_limit() -> None:
    assert SEED.refusal({"model": "embeddings", "input": [[7] * 510]}, PATH) is None
    check(SEED, {"input": [[7] * 511]}, "Input length 513 longer than allowed 512", "EmbeddingsCalculator")


def _call(server: Server, **fields: JSON) -> InferenceCall:
    return server.call({"model": "embeddings", **fields}, PATH)


@pytest.mark.covers("openvino/embeddings and rerank", "one array of ids")
def test_array_of_ids_is_one_document() -> None:
    call = _call(SEED, input=[1, 2, 3])
    assert isinstance(call.request, EmbeddingRequest)
    assert call.request.inputs == ((1, 2, 3),)
    assert not _call(SEED, input="a", stream=True).stream


def _render(server: Server, rows: list[list[float]], **fields: JSON) -> bytes:
    call = _call(server, **fields)
    vectors = np.array(rows, dtype=np.float32)
    plan = Plan(key=bytes(16), created=0.0, vectors=vectors, usage=Usage(5))
    answer = call.codec.render(plan, make_request(PATH))
    assert isinstance(answer, Response)
    return answer.body


@pytest.mark.covers("openvino/embeddings and rerank", "floats")
@pytest.mark.covers("openvino/decisions", "16 embeddings without model")
def test_floats() -> None:
    assert _render(SEED, [[1, 2, 3]], input="a") == (
        b'{"object":"list","data":[{"object":"embedding","embedding":[1.0,2.0,3.0],"index":0}],'
        b'"usage":{"prompt_tokens":5,"total_tokens":5}}'
    )


@pytest.mark.covers("openvino/traps", "20 numbers")
def test_small_floats_are_doubles_without_padded_exponents() -> None:
    body = _render(SEED, [[22.33, 1e-7, 3e-9, -0.000048]], input="a")
    assert b"[22.329999923706055,1.0000000116860974e-7,3.000000026176508e-9,-0.000048000001697801054]" in body


@pytest.mark.covers("openvino/embeddings and rerank", "base64")
@pytest.mark.covers("openvino/cases", "94")
def test_base64() -> None:
    assert _render(SEED, [[1, 2, 3], [0, 0, 0]], input=["a", "b"], encoding_format="base64") == (
        b'{"object":"list","data":[{"object":"embedding","embedding":"AACAPwAAAEAAAEBA","index":0},'
        b'{"object":"embedding","embedding":"AAAAAAAAAAAAAAAA","index":1}],"usage":{"prompt_tokens":5,"total_tokens":5}}'
    )


@pytest.mark.covers("openvino/errors", "node names")
def test_node_names() -> None:
    server = make_server("2025.1")
    check(server, {}, "input field is required", "EmbeddingsCalculator")
    check(make_server("2025.2", node_name="mine"), {}, "input field is required", "mine")
