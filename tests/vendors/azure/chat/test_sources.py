"""Chats over data sources, which hold nothing here."""

import pytest

from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import accept, refuse

CHAT = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
PARAMETERS: JSON = {
    "endpoint": "https://x",
    "index_name": "i",
    "authentication": {"type": "api_key", "key": "k"},
    "top_n_documents": 5,
    "in_scope": True,
    "fields_mapping": {"content_fields": ["a"]},
    "embedding_dependency": {"type": "deployment_name", "deployment_name": "ada"},
    "filter": None,
}
SEARCH: JSON = {"type": "azure_search", "parameters": PARAMETERS}


def ask(*sources: JSON, **fields: JSON) -> JSON:
    return {"messages": [{"role": "user", "content": "Where?"}], "data_sources": list(sources), **fields}


def test_answer_has_context() -> None:
    context = {"citations": [], "intent": '["Where?"]'}
    message = parse_json(accept(ask(SEARCH), CHAT).codec.render(HELLO, REQUEST).body)["choices"][0]["message"]
    assert message["context"] == context
    events = accept(ask(SEARCH, stream=True), CHAT).codec.stream(HELLO, REQUEST).events
    _, opening, *_ = [data for _, data, _, _ in events]
    assert parse_json(opening[6:])["choices"][0]["delta"]["context"] == context
    assert accept({"messages": [*ask()["messages"], message, *ask()["messages"]]}, CHAT)


def test_unknown_source_is_refused() -> None:
    for scenario in ("", "strict_members=false"):
        error = refuse(ask(SEARCH, {"type": "odd", "parameters": {}}), CHAT, scenario).json()["error"]
        assert error["message"] == (
            "Validation error at #/data_sources/1: Input tag 'odd' found using 'type' does not match any of the "
            "expected tags: 'azure_search', 'azure_cosmos_db', 'elasticsearch', 'mongo_db', 'pinecone'"
        )


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        ({"endpoint": 5}, ["endpoint: Input should be a valid string"]),
        ({"top_n_documents": True}, ["top_n_documents: Input should be a valid integer"]),
        ({"in_scope": "yes"}, ["in_scope: Input should be a valid boolean"]),
        ({"indexName": "i", "odd": 1}, [f"{name}: Extra inputs are not permitted" for name in ("indexName", "odd")]),
        ({"authentication": {"type": "api_key"}}, ["authentication/api_key/key: Field required"]),
        (
            {"authentication": {"type": "api_key", "key": "k", "n": 1}},
            ["authentication/api_key/n: Extra inputs are not permitted"],
        ),
        ({"authentication": "k"}, ["authentication: Unable to extract tag using discriminator 'type'"]),
        ({"authentication": None}, ["authentication: Unable to extract tag using discriminator 'type'"]),
        (
            {"embedding_dependency": {"type": "endpoint", "endpoint": "u", "authentication": {"type": "api_key"}}},
            ["embedding_dependency/endpoint/authentication/api_key/key: Field required"],
        ),
        (
            {"fields_mapping": []},
            ["fields_mapping: Input should be a valid dictionary or object to extract fields from"],
        ),
    ],
)
def test_wrong_parameter_of_source_is_refused(change: JSON, texts: list[str]) -> None:
    body = ask({"type": "azure_search", "parameters": {**PARAMETERS, **change}})
    refused = refuse(body, CHAT)
    error = refused.json()["error"]
    assert (refused.status, error["code"], len(error["requestid"])) == (400, 400, 36)
    start = "Validation error at #/data_sources/0/azure_search/parameters/"
    assert error["message"] == "\n".join(start + text for text in texts)
    assert accept(body, CHAT, "strict_members=false")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"type": "azure_search"}, "0/azure_search/parameters: Field required"),
        ({"type": "azure_search", "parameters": PARAMETERS, "odd": 1}, "0/azure_search/odd: Extra inputs"),
        ({"parameters": PARAMETERS}, "0: Unable to extract tag using discriminator 'type'"),
        ({"type": "pinecone", "parameters": {"index_name": "i"}}, "0/pinecone/parameters/environment: Field required"),
        ({"type": "mongo_db", "parameters": {}}, "0/mongo_db/parameters/app_name: Field required"),
        ({"type": "azure_cosmos_db", "parameters": {}}, "0/azure_cosmos_db/parameters/container_name: Field required"),
    ],
)
def test_incomplete_source_is_refused(source: JSON, text: str) -> None:
    assert f"Validation error at #/data_sources/{text}" in refuse(ask(source), CHAT).json()["error"]["message"]
