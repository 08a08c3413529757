"""Chat completions that are kept, over the wire."""

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON, parse_json

V1 = "/openai/v1/chat/completions"
KEY = {"api-key": "k"}


async def store(running: Running, content: JSON = "Hi", **fields: JSON) -> JSON:
    """An answer that is kept."""
    messages: JSON = [{"role": "user", "content": content}]
    body = {"model": "gpt-4o", "messages": messages, "store": True, **fields}
    answer = await running.ask("azure", V1, body, headers=KEY)
    assert answer.status == 200
    if not fields.get("stream"):
        return answer.json()
    chunks = [line.removeprefix(b"data: ") for line in answer.body.splitlines() if line.startswith(b"data: {")]
    return parse_json(chunks[-1])


async def get(running: Running, path: str, **headers: str) -> Answer:
    return await running.ask("azure", f"{V1}{path}", method="GET", headers=headers or KEY)


@pytest.mark.covers("azure/routes", "stored chats")
async def test_completion_is_stored_with_request_fields(start: Start) -> None:
    running = await start()
    made = await store(running, metadata={"a": "1"}, temperature=0.5, seed=7, user="me")
    kept = (await get(running, f"/{made['id']}")).json()
    assert {name: kept[name] for name in made} == made
    asked = {"metadata": {"a": "1"}, "temperature": 0.5, "seed": 7, "input_user": "me", "top_p": 1.0, "tools": None}
    assert {name: kept[name] for name in asked} == asked


async def test_stream_is_stored_as_completion(start: Start) -> None:
    running = await start("rules:\n  - {name: greet, reply: {text: Good day.}}\n")
    made = await store(running, stream=True)
    kept = (await get(running, f"/{made['id']}")).json()
    assert (kept["object"], kept["choices"][0]["message"]["content"]) == ("chat.completion", "Good day.")


@pytest.mark.parametrize("fields", [{"store": False}, {"store": None}])
async def test_unstored_completion_is_not_found(start: Start, fields: JSON) -> None:
    running = await start()
    made = await store(running, **fields)
    assert (await get(running, f"/{made['id']}")).status == 404


@pytest.mark.parametrize(
    ("query", "names", "more"),
    [
        pytest.param("", ["one", "two", "three"], False, id="the oldest first"),
        pytest.param("?order=desc", ["three", "two", "one"], False, id="the newest first"),
        pytest.param("?metadata[kind]=even", ["two"], False, id="with metadata"),
        pytest.param("?metadata[kind]=odd&metadata[last]=yes", ["three"], False, id="with all of two metadata"),
        pytest.param("?metadata[none]=odd", [], False, id="with metadata of no response"),
        pytest.param("?model=gpt-4o-mini", ["three"], False, id="of a model"),
        pytest.param("?limit=2", ["one", "two"], True, id="a page"),
    ],
)
async def test_stored_completions_are_listed(start: Start, query: str, names: list[str], more: bool) -> None:
    running = await start()
    await store(running, metadata={"kind": "odd", "name": "one"})
    await store(running, metadata={"kind": "even", "name": "two"})
    await store(running, model="gpt-4o-mini", metadata={"kind": "odd", "last": "yes", "name": "three"})
    page = (await get(running, query)).json()
    assert [each["metadata"]["name"] for each in page["data"]] == names
    assert (page["object"], page["has_more"]) == ("list", more)
    ends = [page["data"][0]["id"], page["data"][-1]["id"]] if names else [None, None]
    assert [page["first_id"], page["last_id"]] == ends


async def test_next_page(start: Start) -> None:
    running = await start()
    ids = [(await store(running))["id"] for _ in range(3)]
    page = (await get(running, f"?after={ids[0]}&limit=1")).json()
    assert [each["id"] for each in page["data"]] == [ids[1]]


async def test_stored_messages_have_ids_and_parts(start: Start) -> None:
    running = await start()
    parts: JSON = [{"type": "text", "text": "Hi"}]
    made = await store(running, parts)
    page = (await get(running, f"/{made['id']}/messages")).json()
    message = {"id": f"{made['id']}-0", "role": "user", "content": None, "name": None, "content_parts": parts}
    assert page["data"] == [message]


async def test_metadata_is_replaced(start: Start) -> None:
    running = await start()
    made = await store(running, metadata={"a": "1"})
    path = f"{V1}/{made['id']}"
    changed = (await running.ask("azure", path, {"metadata": {"b": "2"}}, headers=KEY)).json()
    assert (changed["metadata"], changed["choices"]) == ({"b": "2"}, made["choices"])
    assert (await get(running, f"/{made['id']}")).json() == changed
    refused = (await running.ask("azure", path, {}, headers=KEY)).json()["error"]
    assert (refused["param"], refused["code"]) == ("metadata", "missing_required_parameter")
    odd = (await running.ask("azure", path, {"metadata": {}, "odd": 1}, headers=KEY)).json()["error"]
    assert (odd["message"], odd["param"], odd["code"]) == ("Unknown parameter: 'odd'.", "odd", "unknown_parameter")


async def test_deleted_completion_is_not_found(start: Start) -> None:
    running = await start()
    name = (await store(running))["id"]
    gone = await running.ask("azure", f"{V1}/{name}", method="DELETE", headers=KEY)
    assert gone.json() == {"object": "chat.completion.deleted", "id": name, "deleted": True}
    again = await running.ask("azure", f"{V1}/{name}", method="DELETE", headers=KEY)
    message = f"Chat completion with id '{name}' not found."
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (again.status, again.json()) == (404, {"error": error})


async def test_completions_of_other_principal_are_hidden(start: Start) -> None:
    running = await start("keys:\n  - {token: k, principal: one}\n  - {token: b, principal: two}\n")
    name = (await store(running))["id"]
    assert (await get(running, f"/{name}", **{"api-key": "b"})).status == 404
    assert (await get(running, "", **{"api-key": "b"})).json()["data"] == []


async def test_responses_and_completions_are_separate(start: Start) -> None:
    running = await start()
    made = await store(running)
    asked = {"model": "gpt-4o", "input": "Hi"}
    response = (await running.ask("azure", "/openai/v1/responses", asked, headers=KEY)).json()
    assert (await get(running, f"/{response['id']}")).status == 404
    assert len((await get(running, "")).json()["data"]) == 1
    path = f"/openai/v1/responses/{made['id']}"
    assert (await running.ask("azure", path, method="GET", headers=KEY)).status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/openai/chat/completions?api-version=2025-04-01-preview", 200, id="dated"),
        pytest.param("/api/projects/p/openai/v1/chat/completions", 200, id="a project's"),
        pytest.param("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", 405, id="a deployment"),
        pytest.param("/models/chat/completions?api-version=2024-05-01-preview", 405, id="model inference"),
        pytest.param("/chat/completions?api-version=2024-05-01-preview", 405, id="the root"),
        pytest.param("/models/chat/completions/x?api-version=2024-05-01-preview", 404, id="one of model inference"),
    ],
)
async def test_list_status_by_path(start: Start, path: str, status: int) -> None:
    answer = await (await start()).ask("azure", path, method="GET", headers=KEY)
    assert answer.status == status
