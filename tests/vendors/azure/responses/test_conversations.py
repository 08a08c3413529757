"""Conversations, prompts by id and compaction, over the wire."""

from collections.abc import Awaitable, Callable

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import accept, refuse

BASE = "/openai/v1/conversations"
RESPONSES = "/openai/v1/responses"
USER: JSON = {"role": "user", "content": "Hi"}
Call = Callable[..., Awaitable[JSON]]


@pytest.fixture
async def call(start: Start) -> Call:
    running = await start("keys: [{token: k, principal: one}, {token: o, principal: other}]")

    async def call(method: str, path: str, body: JSON = None, *, status: int = 200, key: str = "k") -> JSON:
        answer = await running.ask("azure", path, body, method=method, headers={"api-key": key})
        assert answer.status == status, answer.json()
        return answer.json()

    return call


async def test_conversation_is_made_changed_and_deleted(call: Call) -> None:
    made = await call("POST", BASE, {"metadata": {"a": "b"}})
    assert list(made) == ["id", "object", "created_at", "metadata"]
    assert (made["object"], made["metadata"]) == ("conversation", {"a": "b"})
    assert made["id"].startswith("conv_")
    path = f"{BASE}/{made['id']}"
    assert await call("GET", path) == made
    assert await call("POST", path, {"metadata": {"c": "d"}}) == {**made, "metadata": {"c": "d"}}
    assert (await call("GET", path))["metadata"] == {"c": "d"}
    await call("GET", path, status=404, key="o")
    assert await call("DELETE", path) == {"id": made["id"], "object": "conversation.deleted", "deleted": True}
    missing = await call("GET", path, status=404)
    assert missing["error"]["message"] == f"Conversation with id '{made['id']}' not found."


async def test_items_are_added_listed_and_deleted(call: Call) -> None:
    made = await call("POST", BASE, {"items": [USER]})
    items = f"{BASE}/{made['id']}/items"
    more: JSON = [{**USER, "content": "More"}, {"role": "assistant", "content": "Well"}]
    added = await call("POST", items, {"items": more})
    assert [item["role"] for item in added["data"]] == ["user", "assistant"]
    listed = await call("GET", f"{items}?order=asc")
    assert [item["content"][0]["text"] for item in listed["data"]] == ["Hi", "More", "Well"]
    assert [item["status"] for item in listed["data"]] == ["completed"] * 3
    first = listed["data"][0]
    assert await call("GET", f"{items}/{first['id']}") == first
    assert await call("DELETE", f"{items}/{first['id']}") == made
    await call("GET", f"{items}/{first['id']}", status=404)
    assert len((await call("GET", items))["data"]) == 2
    page = await call("GET", f"{items}?limit=1")
    assert (page["has_more"], page["data"][0]["content"][0]["text"]) == (True, "Well")


async def test_responses_continue_conversation_and_add_to_it(call: Call) -> None:
    name = (await call("POST", BASE, {}))["id"]
    ask: JSON = {"model": "gpt-4o", "conversation": name}
    first = await call("POST", RESPONSES, {**ask, "input": "One"})
    assert first["conversation"] == {"id": name}
    hidden = await call("POST", RESPONSES, {**ask, "conversation": {"id": name}, "input": "Two", "store": False})
    assert hidden["usage"]["input_tokens"] > first["usage"]["input_tokens"]
    await call("GET", f"{RESPONSES}/{hidden['id']}", status=404)
    await call("POST", f"{BASE}/{name}/items", {"items": [{"role": "user", "content": "Three"}]})
    assert (await call("DELETE", f"{RESPONSES}/{first['id']}"))["deleted"]
    await call("GET", f"{RESPONSES}/{first['id']}", status=404)
    third = await call("POST", RESPONSES, {**ask, "input": []}, status=400)
    assert third["error"]["code"] == "empty_array"
    await call("POST", RESPONSES, ask)
    listed = (await call("GET", f"{BASE}/{name}/items?order=asc"))["data"]
    assert [item["role"] for item in listed] == ["user", "assistant"] * 2 + ["user", "assistant"]
    texts = [item["content"][0]["text"] for item in listed if item["role"] == "user"]
    assert texts == ["One", "Two", "Three"]
    assert len({item["id"] for item in listed}) == len(listed)


@pytest.mark.parametrize(
    ("body", "message", "status"),
    [
        ({"odd": 1}, "Unknown parameter: 'odd'.", 400),
        ({"items": [{**USER, "odd": 1}]}, "Unknown parameter: 'items[0].odd'.", 400),
        ({"items": [{"type": "odd"}]}, "Invalid value: 'odd'. Supported values are: 'message'", 400),
        ({"items": [USER] * 21}, "Invalid 'items': array too long.", 400),
        ({"items": "x"}, "Invalid type for 'items': expected an array of objects, but got a string instead.", 400),
        ({"metadata": {"a": 1}}, "Invalid type for 'metadata.a': expected a string, but got an integer instead.", 400),
    ],
)
async def test_wrong_conversation_is_refused(call: Call, body: JSON, message: str, status: int) -> None:
    assert (await call("POST", BASE, body, status=status))["error"]["message"].startswith(message)


def test_unknown_conversation_is_refused() -> None:
    refused = refuse({"model": "gpt-4o", "input": "Hi", "conversation": "conv_0"}, RESPONSES)
    assert (refused.status, refused.json()["error"]["message"]) == (404, "Conversation with id 'conv_0' not found.")


DECLARED = """
vendors:
  azure:
    prompts:
      pmpt_1: Old.
      pmpt_1@2: Speak of {{ city }} and {{what}}.
"""


def test_prompt_becomes_system_message() -> None:
    prompt: JSON = {"id": "pmpt_1", "variables": {"city": "Paris", "what": {"type": "input_text", "text": "art"}}}
    body = {"model": "gpt-4o", "prompt": prompt}
    messages = accept(body, RESPONSES, DECLARED).request.messages  # type: ignore[union-attr]
    assert [(message.role, message.text) for message in messages] == [("system", "Speak of Paris and art.")]
    body = {"model": "gpt-4o", "prompt": {"id": "pmpt_1", "version": "1"}, "input": "Hi", "instructions": "Be brief."}
    call = accept(body, RESPONSES, DECLARED)
    assert [message.text for message in call.request.messages] == ["Old.", "Be brief.", "Hi"]  # type: ignore[union-attr]
    assert b'"prompt":{"id":"pmpt_1","version":"1"}' in call.codec.render(HELLO, REQUEST).body


@pytest.mark.parametrize(
    ("prompt", "status", "message"),
    [
        ({"id": "pmpt_0"}, 404, "Prompt with id 'pmpt_0' not found."),
        ({"id": "pmpt_1", "version": "3"}, 404, "Prompt with id 'pmpt_1' and version '3' not found."),
        ({"id": "pmpt_1", "variables": {"city": "x"}}, 400, "Missing required parameter: 'prompt.variables.what'."),
        ({"version": "1"}, 400, "Missing required parameter: 'prompt.id'."),
    ],
)
def test_wrong_prompt_is_refused(prompt: JSON, status: int, message: str) -> None:
    refused = refuse({"model": "gpt-4o", "prompt": prompt, "input": "Hi"}, RESPONSES, DECLARED)
    assert (refused.status, refused.json()["error"]["message"]) == (status, message)


async def test_compaction_keeps_messages_of_users(call: Call) -> None:
    said: JSON = [USER, {"role": "assistant", "content": "word " * 200}, {**USER, "content": "More"}]
    compacted = await call("POST", f"{RESPONSES}/compact", {"model": "gpt-4o", "input": said})
    assert (compacted["object"], [item["type"] for item in compacted["output"]]) == (
        "response.compaction", ["message", "message", "compaction"],
    )  # fmt: skip
    usage = compacted["usage"]
    assert 0 < usage["output_tokens"] < usage["input_tokens"]
    answer = await call("POST", RESPONSES, {"model": "gpt-4o", "input": [*compacted["output"], USER]})
    assert answer["status"] == "completed"
    again = {"model": "gpt-4o", "previous_response_id": answer["id"]}
    assert (await call("POST", f"{RESPONSES}/compact", again))["output"][-1]["type"] == "compaction"
    refused = await call("POST", f"{RESPONSES}/compact", {"model": "gpt-4o"}, status=400)
    assert refused["error"]["message"] == "Missing required parameter: 'input'."
    refused = await call("POST", f"{RESPONSES}/compact", {"model": "gpt-4o", "tools": []}, status=400)
    assert refused["error"]["message"] == "Unknown parameter: 'tools'."


@pytest.mark.parametrize("kind", ["web_search", "code_interpreter", "mcp"])
def test_hosted_tool_is_refused(kind: str) -> None:
    tool: JSON = {
        "code_interpreter": {"container": {"type": "auto"}},
        "mcp": {"server_label": "s"},
    }.get(kind, {})
    body: JSON = {"model": "gpt-4o", "input": "Hi", "tools": [{"type": kind, **tool}]}
    error = refuse(body, RESPONSES).json()["error"]
    assert (error["message"], error["param"]) == (f"Hosted tool '{kind}' is not supported with gpt-4o.", "tools")
    assert accept(body, RESPONSES, "hosted_tools=ignore")
