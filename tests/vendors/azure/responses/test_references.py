"""Items that a Responses request names by id, over the wire."""

from collections.abc import Awaitable, Callable

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

RESPONSES, CONVERSATIONS = "/openai/v1/responses", "/openai/v1/conversations"
SCENARIO = """
keys: [{token: k, principal: one}, {token: o, principal: other}]
rules:
  - {name: call, when: {prompt: Weather}, reply: {tool_calls: [{name: f, arguments: {}}]}}
"""
F: JSON = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
Call = Callable[..., Awaitable[JSON]]


@pytest.fixture
async def call(start: Start) -> Call:
    running = await start(SCENARIO)

    async def call(path: str, body: JSON, *, method: str = "POST", status: int = 200, key: str = "k") -> JSON:
        answer = await running.ask("azure", path, body, method=method, headers={"api-key": key})
        assert answer.status == status, answer.json()
        return answer.json()

    return call


def refer(name: str, **fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": [{"type": "item_reference", "id": name}], **fields}


async def test_reference_stands_for_stored_item(call: Call) -> None:
    asked = await call(RESPONSES, {"model": "gpt-4o", "input": "Weather", "tools": [F]})
    (called,) = asked["output"]
    body = refer(called["id"], tools=[F])
    refused = await call(RESPONSES, body, status=400)
    assert refused["error"]["message"] == f"No tool output found for function call {called['call_id']}."
    body["input"].append({"type": "function_call_output", "call_id": called["call_id"], "output": "3"})
    whole = {**body, "input": [called, body["input"][1]]}
    answers = [await call(RESPONSES, each) for each in (body, whole)]
    assert answers[0]["usage"]["input_tokens"] == answers[1]["usage"]["input_tokens"]
    counts = [await call(f"{RESPONSES}/input_tokens", each) for each in (body, whole)]
    assert counts[0] == counts[1]
    listed = await call(f"{RESPONSES}/{answers[0]['id']}/input_items?order=asc", None, method="GET")
    assert listed["data"][0] == called
    compacted = await call(f"{RESPONSES}/compact", {"model": "gpt-4o", "input": body["input"]})
    assert compacted["usage"]["input_tokens"] > 0


async def test_reference_to_item_of_conversation(call: Call) -> None:
    made = await call(CONVERSATIONS, {"items": [{"type": "message", "role": "user", "content": "Hi"}]})
    listed = await call(f"{CONVERSATIONS}/{made['id']}/items", None, method="GET")
    name = listed["data"][0]["id"]
    assert (await call(RESPONSES, refer(name)))["status"] == "completed"
    other = await call(CONVERSATIONS, {"items": [{"type": "item_reference", "id": name}]})
    copied = await call(f"{CONVERSATIONS}/{other['id']}/items", None, method="GET")
    assert copied["data"] == listed["data"]
    twice = await call(RESPONSES, refer(name, conversation=made["id"]), status=400)
    text = f"Duplicate item found with id {name}. Remove duplicate items from your input and try again."
    assert twice["error"] == {"message": text, "type": "invalid_request_error", "param": "input", "code": None}
    for conversation in (made, other):
        await call(f"{CONVERSATIONS}/{conversation['id']}/items/{name}", None, method="DELETE")
    await call(RESPONSES, refer(name), status=404)


@pytest.mark.parametrize(
    ("fields", "tail"),
    [
        ({}, ""),
        (
            {"store": False},
            " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this "
            "item from your input.",
        ),
    ],
)
async def test_unknown_reference_is_refused(call: Call, fields: JSON, tail: str) -> None:
    refused = await call(RESPONSES, refer("msg_0", **fields), status=404)
    text = f"Item with id 'msg_0' not found.{tail}"
    assert refused["error"] == {"message": text, "type": "invalid_request_error", "param": "input", "code": None}
    unstored = await call(RESPONSES, {"model": "gpt-4o", "input": "Hi", "store": False})
    await call(RESPONSES, refer(unstored["output"][0]["id"], **fields), status=404)
    stored = await call(RESPONSES, {"model": "gpt-4o", "input": "Hi"})
    await call(RESPONSES, refer(stored["output"][0]["id"], **fields), status=404, key="o")
    await call(CONVERSATIONS, {"items": [{"type": "item_reference", "id": "msg_0"}]}, status=404)


async def test_item_may_come_once(call: Call) -> None:
    first = await call(RESPONSES, {"model": "gpt-4o", "input": "Hi"})
    (answer,) = first["output"]
    again = {"model": "gpt-4o", "input": [answer, {"role": "user", "content": "And?"}]}
    assert (await call(RESPONSES, again))["status"] == "completed"
    for body in ({**again, "previous_response_id": first["id"]}, {**again, "input": [answer, *again["input"]]}):
        refused = await call(RESPONSES, body, status=400)
        assert refused["error"]["message"].startswith(f"Duplicate item found with id {answer['id']}.")


@pytest.mark.parametrize(
    ("path", "body"),
    [("", {"odd": 1}), ("/{id}", {"metadata": {}, "items": []}), ("/{id}/items", {"items": [], "metadata": {}})],
)
async def test_conversation_refuses_unknown_field(call: Call, path: str, body: JSON) -> None:
    made = await call(CONVERSATIONS, {})
    refused = await call(f"{CONVERSATIONS}{path.format(**made)}", body, status=400)
    name = [*body][-1]
    assert refused["error"]["message"] == f"Unknown parameter: '{name}'."
    assert (refused["error"]["param"], refused["error"]["code"]) == (name, "unknown_parameter")


@pytest.mark.parametrize("path", [RESPONSES, f"{RESPONSES}/input_tokens"])
@pytest.mark.parametrize("name", [{"a": 1}, ["x"], 3, ""], ids=str)
async def test_id_that_is_no_text_is_ignored(call: Call, path: str, name: JSON) -> None:
    item = {"role": "user", "content": "hi", "id": name}
    first = await call(path, {"model": "grok-4", "input": [item]})
    if "id" in first:
        listed = await call(f"{path}/{first['id']}/input_items", None, method="GET")
        assert listed["data"][0]["id"].startswith("msg_")
        assert (await call(path, refer(listed["data"][0]["id"])))["status"] == "completed"


@pytest.mark.parametrize("path", [RESPONSES, f"{RESPONSES}/input_tokens"])
@pytest.mark.parametrize(
    ("fields", "message", "code"),
    [
        (
            {"id": ["x"]},
            "Invalid type for 'input[0].id': expected a string, but got an array instead.",
            "invalid_type",
        ),
        ({}, "Missing required parameter: 'input[0].id'.", "missing_required_parameter"),
    ],
    ids=["list", "none"],
)
async def test_reference_without_text_is_refused(call: Call, path: str, fields: JSON, message: str, code: str) -> None:
    body = {"model": "grok-4", "input": [{"type": "item_reference", **fields}]}
    error = (await call(path, body, status=400))["error"]
    assert (error["message"], error["param"], error["code"]) == (message, "input[0].id", code)


async def test_item_comes_into_a_conversation_once(call: Call) -> None:
    made = await call(CONVERSATIONS, {"items": [{"type": "message", "role": "user", "content": "Hi"}]})
    path = f"{CONVERSATIONS}/{made['id']}/items"
    (kept,) = (await call(path, None, method="GET"))["data"]
    twice = {"items": [{"type": "item_reference", "id": kept["id"]}] * 2}
    for target, body in ((CONVERSATIONS, twice), (path, {"items": twice["items"][:1]}), (path, {"items": [kept]})):
        error = (await call(target, body, status=400))["error"]
        assert error["message"].startswith(f"Duplicate item found with id {kept['id']}."), target
        assert error["param"] == "items"
    assert (await call(path, None, method="GET"))["data"] == [kept]
