"""The Cohere client's rerank against OpenVINO Model Server."""

import pytest

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

cohere = pytest.importorskip("cohere")
httpx = pytest.importorskip("httpx")

CLIENT = "cohere"

DOCUMENTS = ["a blue car", "the red apple", "an apple"]


@pytest.mark.covers("openvino/traps", "16 the path hardly matters", "19 rerank")
@pytest.mark.parametrize("name", ["Client", "ClientV2"])
@pytest.mark.parametrize("way", ["port", "front"])
def test_rerank(live: Running, name: str, way: str) -> None:
    url = (live.urls["openvino"] if way == "port" else live.front("openvino")) + "/v3"
    with httpx.Client() as connections:
        client: JSON = getattr(cohere, name)(api_key=live.key("not_used"), base_url=url, httpx_client=connections)
        answer = client.rerank(model="rerank", query="red apple", documents=DOCUMENTS, top_n=2)
    assert [result.index for result in answer.results] == [1, 2]
    assert answer.id is None
    assert all(0 <= result.relevance_score <= 1 for result in answer.results)
