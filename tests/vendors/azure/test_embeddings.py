"""``POST /embeddings``."""

import base64
import json
import struct

import pytest

from emulator.core.requests import EmbeddingRequest
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.azure.service import VERSION, accept, refuse

ROUTE = f"/embeddings{VERSION}"
KEY = {"api-key": "k"}


def ask_of(body: JSON) -> EmbeddingRequest:
    ask = accept(body, ROUTE).request
    assert isinstance(ask, EmbeddingRequest)
    return ask


@pytest.mark.covers("azure/embeddings", "input, a text", case="a text")
@pytest.mark.covers("azure/embeddings", "input, token ids", case="token ids of one text")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("a", ("a",), id="a text"),
        pytest.param(["a", "b"], ("a", "b"), id="texts"),
        pytest.param([5, 6], ((5, 6),), id="token ids of one text"),
        pytest.param([[5, 6], [7]], ((5, 6), (7,)), id="token ids of several"),
        pytest.param([""], ("",), id="an empty text"),
        pytest.param(["x"] * 1024, ("x",) * 1024, id="1024 texts"),
    ],
)
def test_input(given: JSON, expected: object) -> None:
    assert ask_of({"input": given}).inputs == expected


@pytest.mark.covers("azure/embeddings", "1024 inputs", case="1025 texts")
@pytest.mark.covers("azure/embeddings", "dimensions, unsupported", case="a model of one size")
@pytest.mark.covers("azure/embeddings", "packed bits", case="signs that fill no byte")
@pytest.mark.parametrize(
    ("body", "loc"),
    [
        pytest.param({}, ["input"], id="input absent"),
        pytest.param({"input": None}, ["input"], id="input null"),
        pytest.param({"input": 5}, ["input"], id="input a number"),
        pytest.param({"input": []}, ["input"], id="no input"),
        pytest.param({"input": [[]]}, ["input", "0"], id="no token"),
        pytest.param({"input": ["a", 5]}, ["input", "1"], id="texts and tokens mixed"),
        pytest.param({"input": [True]}, ["input", "0"], id="true is no token"),
        pytest.param({"input": [-1]}, ["input", "0"], id="a token below 0"),
        pytest.param({"input": [10**9]}, ["input"], id="a token no vocabulary has"),
        pytest.param({"input": ["x"] * 1025}, ["input"], id="1025 texts"),
        pytest.param({"input": "a", "dimensions": 0}, ["dimensions"], id="dimensions 0"),
        pytest.param({"input": "a", "dimensions": "x"}, ["dimensions"], id="dimensions text"),
        pytest.param({"input": "a", "dimensions": 1537}, ["dimensions"], id="more dimensions than the model has"),
        pytest.param(
            {"input": "a", "dimensions": 512, "model": "embed-english-v3.0"}, ["dimensions"], id="a model of one size"
        ),
        pytest.param({"input": "a", "encoding_format": "x"}, ["encoding_format"], id="an unknown encoding"),
        pytest.param(
            {"input": "a", "encoding_format": "int8", "model": "text-embedding-3-small"},
            ["encoding_format"],
            id="an encoding the model lacks",
        ),
        pytest.param(
            {"input": "a", "encoding_format": "binary", "dimensions": 12},
            ["encoding_format"],
            id="signs that fill no byte",
        ),
        pytest.param({"input": "a", "input_type": "x"}, ["input_type"], id="an unknown purpose"),
    ],
)
def test_invalid_request_is_unprocessable(body: JSON, loc: list[str]) -> None:
    refused = refuse(body, ROUTE)
    assert (refused.status, refused.json()["detail"]["loc"]) == (422, ["body", *loc])


@pytest.mark.covers("azure/embeddings", "input_type, unknown")
def test_unknown_input_type_matches_recorded_error() -> None:
    refused = refuse({"input": ["a"], "input_type": "foo"}, ROUTE, "profile=maas")
    assert refused.response.body == (
        b'{"error":{"code":"Invalid input","status":422,"message":"invalid input error","details":[{"type":"enum",'
        b'"loc":["body","input_type"],"msg":"Input should be \'text\', \'query\' or \'document\'","input":"foo",'
        b"\"ctx\":{\"expected\":\"'text', 'query' or 'document'\"}}]}}"
    )


def test_extra_parameters_are_rejected() -> None:
    assert refuse({"input": "a", "output_dimension": 5}, ROUTE).status == 400


@pytest.mark.covers("azure/embeddings", "dimensions")
@pytest.mark.parametrize("name", ["text-embedding-3-small", "text-embedding-3-large", "embed-v-4-0"])
def test_dimensions(name: str) -> None:
    assert ask_of({"input": "a", "model": name, "dimensions": 256}).dimensions == 256


@pytest.mark.covers("azure/embeddings", "input_type")
def test_input_type_changes_vector_but_not_token_count() -> None:
    calls = [accept({"input": "a", "input_type": kind}, ROUTE) for kind in ("text", "query", "document")]
    assert len({call.prompt_tokens for call in calls}) == 1
    asks = [call.request for call in calls]
    assert len({ask.instruction for ask in asks if isinstance(ask, EmbeddingRequest)}) == 3


async def embed(start: Start, body: JSON, scenario: str = "") -> JSON:
    running = await start(scenario)
    return (await running.ask("azure", ROUTE, body, headers=KEY)).json()


@pytest.mark.covers("azure/embeddings", "encoding_format")
async def test_encodings_are_equivalent(start: Start) -> None:
    running = await start()
    vectors = {}
    for encoding in (None, "float", "base64", "int8", "uint8", "binary", "ubinary"):
        body = {"input": ["a", "b"], "dimensions": 64, **({"encoding_format": encoding} if encoding else {})}
        answer = (await running.ask("azure", ROUTE, body, headers=KEY)).json()
        vectors[encoding] = answer["data"][1]["embedding"]
    floats = vectors["float"]
    assert vectors[None] == floats
    decoded = struct.unpack("<64f", base64.b64decode(vectors["base64"]))
    assert decoded == struct.unpack("<64f", struct.pack("<64f", *floats))
    assert sum(x * x for x in floats) == pytest.approx(1, abs=1e-5)
    assert [x > 0 for x in vectors["int8"]] == [round(x * 127 / max(map(abs, floats))) > 0 for x in floats]
    assert vectors["uint8"] == [x + 128 for x in vectors["int8"]]
    bits = "".join(f"{byte:08b}" for byte in vectors["ubinary"])
    assert bits == "".join("1" if x > 0 else "0" for x in floats)
    assert vectors["binary"] == [byte - 128 for byte in vectors["ubinary"]]


@pytest.mark.covers("azure/embeddings", "answer")
async def test_response_fields(start: Start) -> None:
    answer = await embed(start, {"input": ["a", "b"], "dimensions": 8})
    assert list(answer) == ["id", "object", "data", "model", "usage"]
    assert [list(item) for item in answer["data"]] == [["index", "object", "embedding"]] * 2
    assert [item["index"] for item in answer["data"]] == [0, 1]
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"]
    assert (answer["object"], answer["model"]) == ("list", "embed-v-4-0")


@pytest.mark.parametrize(
    ("name", "size"),
    [("embed-english-v3.0", 1024), ("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072)],
)
async def test_sizes(start: Start, name: str, size: int) -> None:
    answer = await embed(start, {"input": "a", "model": name})
    assert len(answer["data"][0]["embedding"]) == size


@pytest.mark.covers("azure/embeddings", "of Azure OpenAI")
async def test_openai_response_shape(start: Start) -> None:
    body = {"input": "a", "model": "text-embedding-3-small"}
    answer = await embed(start, body, "vendors: {azure: {profile: aoai}}\n")
    assert list(answer) == ["object", "data", "model", "usage"]
    assert list(answer["usage"]) == ["prompt_tokens", "total_tokens"]


@pytest.mark.covers("azure/embeddings", "headers")
@pytest.mark.covers("azure/headers of an answer", "num_chars", "num_tokens")
async def test_serverless_endpoint_counts_in_headers(start: Start) -> None:
    running = await start("vendors: {azure: {profile: maas}}\n")
    answer = await running.ask("azure", ROUTE, {"input": ["abc", "de"]}, headers=KEY)
    tokens = str(json.loads(answer.body)["usage"]["prompt_tokens"])
    assert [answer.header(name) for name in ("num_chars", "num_tokens", "prompt_token_len", "sampling_token_len")] == [
        "5",
        tokens,
        tokens,
        "0",
    ]


@pytest.mark.covers("azure/embeddings", "too long a text")
def test_text_beyond_context_is_rejected() -> None:
    body = {"input": "word " * 600, "model": "embed-english-v3.0"}
    assert refuse(body, ROUTE).json()["code"] == "context_length_exceeded"


IMAGES = f"/images/embeddings{VERSION}"
PIXEL = {"image": "data:image/png;base64,aGk="}


@pytest.mark.covers("azure/routes", "POST images/embeddings")
@pytest.mark.covers("azure/embeddings", "pictures")
async def test_pictures(start: Start) -> None:
    running = await start()
    body = {"input": [PIXEL, {**PIXEL, "text": "a dot"}], "dimensions": 8}
    answer = (await running.ask("azure", IMAGES, body, headers=KEY)).json()
    first, second = (item["embedding"] for item in answer["data"])
    assert first != second
    tokens = answer["usage"]["prompt_tokens"]
    assert 2000 < tokens < 2020
    assert answer["usage"] == {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens, "images": 2}


@pytest.mark.covers("azure/embeddings", "pictures, refused")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({}, 422, id="no picture"),
        pytest.param({"input": []}, 422, id="an empty list"),
        pytest.param({"input": ["x"]}, 422, id="a text"),
        pytest.param({"input": [{"text": "x"}]}, 422, id="a text without a picture"),
        pytest.param({"input": [PIXEL], "input_type": "x"}, 422, id="an unknown purpose"),
        pytest.param({"input": [PIXEL], "dimensions": 10**6}, 422, id="too many dimensions"),
        pytest.param({"input": [PIXEL], "foo": 1}, 400, id="an extra parameter"),
        pytest.param({"input": [PIXEL], "model": "text-embedding-3-small"}, 404, id="a model that sees nothing"),
    ],
)
def test_invalid_pictures_are_rejected(body: JSON, status: int) -> None:
    assert refuse(body, IMAGES).status == status


@pytest.mark.covers("azure/embeddings", "who knows none")
@pytest.mark.parametrize(("profile", "status"), [("maas", 404), ("managed", 404), ("foundry", 404), ("aoai", 404)])
def test_profiles_without_image_embeddings_return_404(profile: str, status: int) -> None:
    body = {"input": [PIXEL], "model": "text-embedding-3-small"}
    assert refuse(body, IMAGES, f"profile={profile}").status == status


@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        pytest.param(
            {"input": ["a"] * 2049},
            "Invalid 'input': array too long. Expected an array with maximum length 2048, but got an array with length "
            "2049 instead.",
            "input",
            id="too many inputs",
        ),
        pytest.param(
            {"dimensions": 2000},
            "Invalid value for 'dimensions' = 2000. Must be less than or equal to 1536.",
            None,
            id="too many dimensions",
        ),
        pytest.param(
            {"model": "text-embedding-ada-002", "dimensions": 5},
            "This model does not support specifying dimensions.",
            None,
            id="dimensions of an old model",
        ),
        pytest.param({"user": 1}, "Invalid type for 'user': expected a string, but got an integer instead.", "user",
                     id="a wrong user"),
    ],
)  # fmt: skip
def test_azure_openai_error_messages(fields: JSON, message: str, param: str | None) -> None:
    refused = refuse({"model": "text-embedding-3-small", "input": "a", **fields}, "/openai/v1/embeddings")
    error = refused.json()["error"]
    assert (refused.status, error["message"], error["param"]) == (400, message, param)


def test_picture_is_base64_or_url() -> None:
    target = f"/images/embeddings{VERSION}"
    body = {"model": "embed-v-4-0", "input": [{"image": "xx!"}]}
    assert refuse(body, target).json()["detail"]["loc"] == ["body", "input", "0", "image"]
    assert accept({**body, "input": [{"image": "https://host/a.png"}]}, target)
    assert accept({**body, "input": [{"image": "aGk="}]}, target)
