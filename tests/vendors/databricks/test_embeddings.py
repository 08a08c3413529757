"""Embeddings: inputs, instructions, encodings, sizes."""

import base64
import struct

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import BGE, LLAMA, QWEN, Exchange, invoke


def embed(name: str = BGE, options: JSON = None, **fields: JSON) -> Exchange:
    return invoke(name, {"input": "hello", **fields}, **(options or {}))


@pytest.mark.covers("databricks/tasks", "embeddings, input", case="a text")
@pytest.mark.covers("databricks/embeddings", "150 inputs", case="more than a batch")
@pytest.mark.covers("databricks/validation", "input of embeddings", case="no texts")
@pytest.mark.covers("databricks/limits", "embeddings batch", case="more than a batch")
@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        pytest.param("input", "x", None, id="a text"),
        pytest.param("input", ["x", "y"], None, id="two texts"),
        pytest.param("input", ["x"] * 150, None, id="a full batch"),
        pytest.param(
            "input",
            ["x"] * 151,
            "Input embeddings size is too large, exceeding 150 limit for databricks-bge-large-en",
            id="more than a batch",
        ),
        pytest.param("input", None, "Missing required embeddings parameter: 'input'", id="no input"),
        pytest.param("input", "", "input must not be empty", id="an empty text"),
        pytest.param("input", [], "input must not be empty", id="no texts"),
        pytest.param("input", ["x", ""], "input must not be empty", id="an empty text among others"),
        pytest.param("input", [[1, 2]], "field 'input' expects", id="token ids"),
        pytest.param("input", 5, "field 'input' expects input with json type 'string'", id="a number"),
        pytest.param("instruction", "Represent this sentence for searching relevant passages:", None, id="instruction"),
        pytest.param("instruction", 5, "field 'instruction' expects", id="a number for an instruction"),
        pytest.param("encoding_format", "float", None, id="numbers"),
        pytest.param("encoding_format", "base64", None, id="base64"),
        pytest.param("encoding_format", "int8", "encoding_format must be 'float' or 'base64'", id="an odd encoding"),
        pytest.param("dimensions", 256, None, id="a size, which is ignored"),
        pytest.param("dimensions", 0, "dimensions must be greater than 0", id="no size"),
        pytest.param("user", "u", None, id="who asks"),
        pytest.param("model", "m", None, id="a model"),
        pytest.param("messages", [], 'json: unknown field "messages"\n', id="another task's field"),
        pytest.param("input_type", "query", 'json: unknown field "input_type"\n', id="a field of another vendor"),
    ],
)
def test_field(field: str, value: JSON, text: str | None) -> None:
    answer = embed(**{field: value})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/tasks", "embeddings, no input")
def test_task_rules_return_invalid_parameter_value() -> None:
    assert embed(input=None).body["error_code"] == "INVALID_PARAMETER_VALUE"


@pytest.mark.covers("databricks/usage", "completion_tokens, not of embeddings")
@pytest.mark.covers("databricks/embeddings", "index")
def test_response_matches_reference_shape() -> None:
    body = embed(input=["a", "b"]).body
    assert list(body) == ["id", "object", "model", "data", "usage"]
    assert (body["object"], body["model"]) == ("list", "bge-large-en-v1.5")
    assert [list(item) for item in body["data"]] == [["object", "index", "embedding"]] * 2
    assert [item["index"] for item in body["data"]] == [0, 1]
    assert body["data"][0]["object"] == "embedding"
    assert len(body["data"][0]["embedding"]) == 1024
    assert set(body["usage"]) == {"prompt_tokens", "total_tokens"}
    assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"] > 0


@pytest.mark.covers("databricks/embeddings", "unit length")
@pytest.mark.parametrize(("name", "unit"), [(BGE, True), ("databricks-gte-large-en", False), (QWEN, True)])
def test_vector_length(name: str, unit: bool) -> None:
    vector = embed(name).body["data"][0]["embedding"]
    length = sum(x * x for x in vector) ** 0.5
    assert (abs(length - 1) < 1e-5) is unit


@pytest.mark.covers("databricks/embeddings", "encoding_format")
def test_base64_encodes_same_floats() -> None:
    packed = base64.b64decode(embed(encoding_format="base64").body["data"][0]["embedding"])
    numbers = embed().body["data"][0]["embedding"]
    assert list(struct.unpack("<1024f", packed)) == pytest.approx(numbers, abs=1e-7)


@pytest.mark.covers("databricks/embeddings", "instruction")
def test_instruction_changes_vector_and_is_counted() -> None:
    plain, guided = embed().body, embed(instruction="Find:").body
    assert plain["data"] != guided["data"]
    assert plain["usage"]["prompt_tokens"] < guided["usage"]["prompt_tokens"]


@pytest.mark.covers("databricks/embeddings", "dimensions")
def test_dimensions_shorten_vector_if_supported() -> None:
    assert len(embed(QWEN, dimensions=256).body["data"][0]["embedding"]) == 256
    assert len(embed(BGE, dimensions=256).body["data"][0]["embedding"]) == 1024
    assert "dimensions must not exceed 1024" in embed(QWEN, dimensions=1025).message


def test_equal_texts_have_equal_vectors_in_any_position() -> None:
    data = embed(input=["a", "b", "a"]).body["data"]
    assert data[0]["embedding"] == data[2]["embedding"] != data[1]["embedding"]


@pytest.mark.covers("databricks/embeddings", "beyond the window")
def test_long_input_is_truncated_and_counted() -> None:
    body = embed(input="word " * 600).body
    assert body["usage"]["prompt_tokens"] == 512
    assert body["data"] == embed(input="word " * 700).body["data"]
    refused = embed(BGE, {"embeddings_overflow": "refuse"}, input="word " * 600)
    assert (refused.status, refused.body["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_chat_endpoint_rejects_embeddings() -> None:
    assert 'unknown field "input"' in embed(LLAMA).message
