"""Responses that were kept, over the wire."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON

V1 = "/openai/v1/responses"


def ask(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": "Hi", **fields}


async def test_responses_of_other_session_or_principal_are_hidden(start: Start) -> None:
    running = await start("keys:\n  - {token: a, principal: one}\n  - {token: b, principal: two}\n")
    mine, other = {"api-key": "a"}, {"api-key": "b"}
    made = (await running.ask("azure", V1, ask(), headers=mine)).json()
    path = f"{V1}/{made['id']}"
    assert (await running.ask("azure", path, method="GET", headers=mine)).json() == made
    assert (await running.ask("azure", path, method="GET", headers=other)).status == 404
    elsewhere = {**mine, "x-emulator-session": "elsewhere"}
    assert (await running.ask("azure", path, method="GET", headers=elsewhere)).status == 404


@pytest.mark.covers("azure/Azure OpenAI", "Responses' state")
async def test_equal_requests_are_stored_separately(start: Start) -> None:
    running = await start()
    names = {(await running.ask("azure", V1, ask(), headers={"api-key": "k"})).json()["id"] for _ in range(3)}
    assert len(names) == 3


async def test_oldest_responses_are_evicted(start: Start) -> None:
    running = await start()
    key = {"api-key": "k"}
    state = running.built.emulator.state
    for number in range(999):
        assert await state.store("", "azure", f"{number}", {"principal": "default"}, None)
    first = (await running.ask("azure", V1, ask(), headers=key)).json()["id"]
    last = (await running.ask("azure", V1, ask(), headers=key)).json()["id"]
    kept = await state.fetch("", "azure")
    assert (len(kept), "0" in kept, first in kept, last in kept) == (1000, False, True, True)


@pytest.mark.covers("azure/Azure OpenAI", "input items")
@pytest.mark.parametrize(
    ("query", "names", "more"),
    [
        pytest.param("", ["c", "b", "a"], False, id="the newest first"),
        pytest.param("?order=asc", ["a", "b", "c"], False, id="the oldest first"),
        pytest.param("?order=asc&limit=2", ["a", "b"], True, id="a page"),
        pytest.param("?order=asc&after=msg_b", ["c"], False, id="the next page"),
    ],
)
async def test_input_items_are_paginated(start: Start, query: str, names: list[str], more: bool) -> None:
    running = await start()
    key = {"api-key": "k"}
    items: JSON = [{"role": "user", "content": name, "id": f"msg_{name}"} for name in "abc"]
    made = (await running.ask("azure", V1, ask(input=items), headers=key)).json()
    page = (await running.ask("azure", f"{V1}/{made['id']}/input_items{query}", method="GET", headers=key)).json()
    assert [item["content"][0]["text"] for item in page["data"]] == names
    assert (page["object"], page["has_more"]) == ("list", more)
    assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], page["data"][-1]["id"])


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("path", [f"{V1}/resp_0", "/api/projects/p/openai/v1/responses/resp_0"])
async def test_unknown_response_is_not_found(start: Start, method: str, path: str) -> None:
    answer = await (await start()).ask("azure", path, method=method, headers={"api-key": "k"})
    message = "Response with id 'resp_0' not found."
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (answer.status, answer.json()) == (404, {"error": error})


async def test_invalid_page_limit_is_rejected(start: Start) -> None:
    running = await start()
    made = (await running.ask("azure", V1, ask(), headers={"api-key": "k"})).json()
    path = f"{V1}/{made['id']}/input_items?limit=0"
    assert (await running.ask("azure", path, method="GET", headers={"api-key": "k"})).status == 400


async def test_background_response_is_in_progress_until_last_token(start: Start) -> None:
    running = await start("latency: {ttft: 2s, itl: 0s}\n")
    key = {"api-key": "k"}
    made = (await running.ask("azure", V1, ask(background=True), headers=key)).json()
    path = f"{V1}/{made['id']}"
    assert (await running.ask("azure", path, method="GET", headers=key)).json()["status"] == "in_progress"
    running.built.runtime.advance(3.0)
    done = (await running.ask("azure", path, method="GET", headers=key)).json()
    assert (done["status"], bool(done["output"])) == ("completed", True)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_items_of_background_response_follow_its_end(start: Start, cancelled: bool) -> None:
    running = await start("latency: {ttft: 2s, itl: 0s}\n")
    key = {"api-key": "k"}

    async def call(path: str, body: JSON = None, method: str = "POST", status: int = 200) -> JSON:
        answer = await running.ask("azure", path, body, method=method, headers=key)
        assert answer.status == status, answer.json()
        return answer.json()

    conversation = (await call("/openai/v1/conversations", {}))["id"]
    items = f"/openai/v1/conversations/{conversation}/items"
    made = await call(V1, ask(background=True, conversation=conversation))
    alone = await call(f"{V1}/input_tokens", ask())
    assert (await call(items, method="GET"))["data"] == []
    assert await call(f"{V1}/input_tokens", ask(conversation=conversation)) == alone
    before = (await call(f"{V1}/input_tokens", ask(previous_response_id=made["id"])))["input_tokens"]
    if cancelled:
        await call(f"{V1}/{made['id']}/cancel")
    running.built.runtime.advance(3.0)
    assert [item["role"] for item in (await call(items, method="GET"))["data"]] == (
        [] if cancelled else ["assistant", "user"]
    )
    after = (await call(f"{V1}/input_tokens", ask(previous_response_id=made["id"])))["input_tokens"]
    assert (after > before) is not cancelled
    stored = (await call(f"{V1}/{made['id']}", method="GET"))["output"]
    reference = {"type": "item_reference", "id": stored[0]["id"] if stored else "msg_0"}
    await call(f"{V1}/input_tokens", ask(input=[reference]), status=404 if cancelled else 200)
