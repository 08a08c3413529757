"""Chats over data sources, which hold nothing here."""

from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import accept, refuse

CHAT = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
SEARCH: JSON = {"type": "azure_search", "parameters": {"endpoint": "https://x", "index_name": "i"}}


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
    assert refuse(ask(SEARCH, {"type": "odd", "parameters": {}}), CHAT).json()["error"]["message"] == (
        "Validation error at #/data_sources/1: Input tag 'odd' found using 'type' does not match any of the expected "
        "tags: 'azure_search', 'azure_cosmos_db', 'elasticsearch', 'mongo_db', 'pinecone'"
    )
