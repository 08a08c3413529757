"""Rerank requests and responses."""

import json

import numpy as np
import pytest

from emulator.core.http import Response
from emulator.core.plan import Plan
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import SEED, Refusal, failure

OK = None
PATH = "/v3/rerank"
BODY: dict[str, JSON] = {"model": "rerank", "query": "red apple", "documents": ["a blue car", "the red apple", "red"]}
_SAME = "all documents have to be the same type (string or objects)"


@pytest.mark.covers("openvino/routes", "POST rerank")
@pytest.mark.covers("openvino/embeddings and rerank", "rerank's fields")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({}, OK, id="a query and documents"),
        pytest.param({"query": ...}, "query field is missing in request", id="no query"),
        pytest.param({"query": 1}, "query is not a string", id="a number as query"),
        pytest.param({"documents": ...}, "documents field is missing in request", id="no documents"),
        pytest.param({"documents": "a"}, "documents is not an array", id="a string as documents"),
        pytest.param({"documents": [1]}, "documents array element is neither string nor object", id="a number inside"),
        pytest.param({"documents": ["a", {"title": "t", "text": "x"}]}, _SAME, id="mixed documents"),
        pytest.param({"documents": [{"title": "t", "text": "x"}]}, OK, id="objects"),
        pytest.param({"documents": [{"text": "x"}]}, "document title field is missing", id="no title"),
        pytest.param({"documents": [{"title": 1}]}, "document title field have to be string", id="a number as title"),
        pytest.param({"documents": [{"title": "t"}]}, "document text field is missing", id="no text"),
        pytest.param(
            {"documents": [{"title": "t", "text": 1}]}, "document text field have to be string", id="a number as text"
        ),
        pytest.param({"top_n": None}, OK, id="top_n null"),
        pytest.param({"top_n": "1"}, "top_n accepts integer values", id="top_n text"),
        pytest.param({"return_documents": None}, OK, id="return_documents null"),
        pytest.param({"return_documents": 1}, "return_documents accepts boolean values", id="return_documents number"),
        pytest.param({"rank_fields": "a"}, "rank_fields is not an array", id="rank_fields text"),
        pytest.param({"rank_fields": [1]}, "rank_fields array element is not a string", id="rank_fields number"),
        pytest.param({"rank_fields": None}, OK, id="rank_fields null"),
        pytest.param({"max_chunks_per_doc": None}, OK, id="chunks null"),
        pytest.param(
            {"rank_fields": 1, "return_documents": 1}, "rank_fields is not an array", id="rank_fields come first"
        ),
        pytest.param({"rank_fields": ["text"], "max_chunks_per_doc": 3}, OK, id="fields without effect"),
        pytest.param(
            {"max_chunks_per_doc": "x"}, "max_chunks_per_doc accepts integer values", id="max_chunks_per_doc text"
        ),
        pytest.param(
            {"documents": [{"title": "t", "text": "x"}], "return_documents": True},
            "document map not supported",
            id="objects are not returned",
        ),
    ],
)
def test_request(fields: JSON, reason: str | None) -> None:
    body = {name: value for name, value in {**BODY, **fields}.items() if value is not ...}
    expected = None if reason is None else Refusal(400, failure(reason, "RerankCalculator"))
    assert SEED.refusal(body, PATH) == expected


@pytest.mark.covers("openvino/embeddings and rerank", "documents")
@pytest.mark.covers("openvino/decisions", "17 how many documents")
@pytest.mark.covers("openvino/cases", "97")
def test_too_many_documents() -> None:
    body = {**BODY, "model": "few", "documents": ["a"] * 4}
    assert SEED.refusal(body, PATH) is None
    assert SEED.refusal({**body, "documents": ["a"] * 5}, PATH) == Refusal(
        400, failure("Number of documents exceeds max_allowed_chunks", "RerankCalculator", "INTERNAL")
    )


@pytest.mark.covers("openvino/embeddings and rerank", "chunks")
def test_too_many_chunks() -> None:
    model = "small"
    assert SEED.refusal({**BODY, "model": model, "documents": ["word " * 30]}, PATH) is None
    refusal = SEED.refusal({**BODY, "model": model, "documents": ["word " * 300]}, PATH)
    reason = "Chunking failed: exceeding max_allowed_chunks after chunking limit: 4; actual: 11"
    assert refusal == Refusal(400, failure(reason, "RerankCalculator", "INTERNAL"))


def rank(**fields: JSON) -> JSON:
    call = SEED.call({**BODY, **fields}, PATH)
    rows = np.random.Generator(np.random.PCG64(7)).standard_normal((len(call.prompt_tokens), 16), dtype=np.float32)
    plan = Plan(key=bytes(16), created=0.0, vectors=rows / np.linalg.norm(rows, axis=1, keepdims=True))
    answer = call.codec.render(plan, make_request(PATH))
    assert isinstance(answer, Response)
    assert list(json.loads(answer.body)) == ["results"]
    return json.loads(answer.body)["results"]


def test_results_are_sorted_and_shared_words_score_highest() -> None:
    results = rank()
    assert [result["index"] for result in results] == [1, 2, 0]
    scores = [result["relevance_score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 and np.float32(score) == score for score in scores)


@pytest.mark.covers("openvino/embeddings and rerank", "order and top_n")
@pytest.mark.covers("openvino/cases", "98")
@pytest.mark.parametrize(
    ("top", "count"), [(None, 3), (1, 1), (3, 3), (9, 3), (0, 0), (-1, 3)], ids=lambda value: str(value)
)
def test_top_n(top: int | None, count: int) -> None:
    assert len(rank(top_n=top)) == count


@pytest.mark.covers("openvino/embeddings and rerank", "return_documents")
def test_documents_are_returned_as_objects() -> None:
    assert rank(return_documents=True)[0]["document"] == {"text": "the red apple"}
    assert "document" not in rank(return_documents=False)[0]


def test_no_documents() -> None:
    assert rank(documents=[]) == []
