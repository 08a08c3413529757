"""Cohere's rerank."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.azure.service import accept, refuse

ASK: JSON = {"query": "capital of France", "documents": ["Bananas are yellow.", "Paris is the capital of France."]}


@pytest.mark.covers("azure/routes", "rerank")
@pytest.mark.parametrize(
    ("target", "version"),
    [
        ("/v1/rerank", "1"),
        ("/v2/rerank", "2"),
        ("/providers/cohere/v2/rerank", "2"),
        ("/endpoints/Cohere-rerank-v3.5/v2/rerank", "2"),
    ],
)
async def test_best_document_comes_first(start: Start, target: str, version: str) -> None:
    running = await start()
    body = {**ASK, "return_documents": True, "top_n": 1}
    answer = (await running.ask("azure", target, body, headers={"api-key": "k"})).json()
    (best,) = answer["results"]
    assert (best["index"], best["document"]) == (1, {"text": ASK["documents"][1]})
    assert 0 < best["relevance_score"] < 1
    assert answer["meta"] == {"api_version": {"version": version}, "billed_units": {"search_units": 1}}


def test_documents_may_be_objects() -> None:
    call = accept({**ASK, "documents": [{"title": "a", "text": "b"}], "rank_fields": ["title"]}, "/v1/rerank")
    assert call.request.inputs == ("a", "capital of France")  # type: ignore[union-attr]


@pytest.mark.parametrize("body", [{"query": "a"}, {**ASK, "documents": []}, {**ASK, "top_n": 0}, {**ASK, "query": ""}])
def test_invalid_request_is_rejected(body: JSON) -> None:
    assert refuse(body, "/v2/rerank").status == 422


def test_only_rerank_models_are_found() -> None:
    assert refuse(ASK, "/endpoints/gpt-4o/v2/rerank").status == 404
    assert refuse(ASK, "/openai/v1/rerank").status == 404
