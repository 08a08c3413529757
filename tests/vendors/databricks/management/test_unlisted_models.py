"""Models of ``system.ai`` that are not in the catalogue."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.databricks.management.api import open_workspace

CHAT: JSON = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
PROMPT: JSON = {"prompt": "Hello", "max_tokens": 8}
TEXTS: JSON = {"input": ["Hello"]}


@pytest.mark.parametrize(
    ("model", "body", "other"),
    [
        ("llama_v3_2_3b_instruct", CHAT, TEXTS),
        ("Meta_Llama_v3_2_1b_instruct", CHAT, TEXTS),
        ("mistral_7b_instruct_v0_2", CHAT, TEXTS),
        ("gemma-3-27b-it", CHAT, TEXTS),
        ("llama-4-scout", CHAT, TEXTS),
        ("meta_llama_v3_1_8b", PROMPT, CHAT),
        ("gte_small", TEXTS, CHAT),
    ],
)
async def test_unlisted_model_is_like_its_family(start: Start, model: str, body: JSON, other: JSON) -> None:
    workspace = await open_workspace(start)
    made = await workspace.make({"entity_name": f"system.ai.{model}", "entity_version": "1"})
    assert made.status == 200
    assert made.json()["pending_config"]["served_entities"][0]["foundation_model"]["name"] == f"system.ai.{model}"
    workspace.pass_time(3600)
    paths = ("/mine/invocations", body, "/serving-endpoints"), ("/mine/invocations", other, "/serving-endpoints")
    answers = [await workspace.call("POST", path, sent, base) for path, sent, base in paths]
    assert [answer.status for answer in answers] == [200, 400]


async def test_unknown_model_is_refused_with_nearest(start: Start) -> None:
    workspace = await open_workspace(start)
    refused = await workspace.make({"entity_name": "system.ai.lama_guard", "entity_version": "1"})
    assert (refused.status, refused.json()["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert refused.json()["message"].startswith("Model 'system.ai.lama_guard' is not known. The nearest models of ")
    assert (await workspace.make({"entity_name": "main.default.lama_guard", "entity_version": "1"})).status == 200
