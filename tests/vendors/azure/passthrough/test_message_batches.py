"""Batches of messages, over the wire."""

import json

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

BATCHES = "/anthropic/v1/messages/batches"
KEY = {"x-api-key": "k"}
SCENARIO = """
rules: [{name: odd, when: {prompt: {contains: odd}}, error: {kind: overloaded}}]
vendors: {azure: {batch_seconds: 100}}
"""


def ask(name: str, text: str, **fields: JSON) -> JSON:
    messages = [{"role": "user", "content": text}]
    params = {"model": "claude-sonnet-4-5", "max_tokens": 20, "messages": messages}
    return {"custom_id": name, "params": params, **fields}


async def call(running: Running, method: str, path: str = "", body: JSON = None) -> Answer:
    return await running.ask("azure", f"{BATCHES}{path}", body, method=method, headers=KEY)


async def test_batch_ends_by_clock(start: Start) -> None:
    running = await start(SCENARIO)
    made = (await call(running, "POST", "", {"requests": [ask("a", "Hi"), ask("b", "odd")]})).json()
    path = f"/{made['id']}"
    assert (made["type"], made["processing_status"], made["results_url"]) == ("message_batch", "in_progress", None)
    assert made["request_counts"] == {"processing": 2, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    assert (await call(running, "GET", f"{path}/results")).status == 400
    assert (await call(running, "DELETE", path)).status == 400
    running.built.runtime.advance(100)
    ended = (await call(running, "GET", path)).json()
    assert (ended["processing_status"], ended["ended_at"]) == ("ended", "2026-01-01T00:01:40Z")
    assert ended["request_counts"] == {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 0}
    assert ended["results_url"].endswith(f"{BATCHES}{path}/results")
    results: JSON = [json.loads(line) for line in (await call(running, "GET", f"{path}/results")).body.splitlines()]
    assert [(one["custom_id"], one["result"]["type"]) for one in results] == [("a", "succeeded"), ("b", "errored")]
    assert results[0]["result"]["message"]["type"] == "message"
    assert results[1]["result"]["error"]["error"]["type"] == "overloaded_error"
    assert (await call(running, "GET")).json()["data"] == [ended]
    assert (await call(running, "DELETE", path)).json() == {"id": made["id"], "type": "message_batch_deleted"}
    assert (await call(running, "GET", path)).json()["error"]["type"] == "not_found_error"


async def test_batch_is_cancelled(start: Start) -> None:
    running = await start(SCENARIO)
    made = (await call(running, "POST", "", {"requests": [ask(name, "Hi") for name in "abcd"]})).json()
    path = f"/{made['id']}"
    running.built.runtime.advance(50)
    stopped = (await call(running, "POST", f"{path}/cancel")).json()
    assert (stopped["processing_status"], stopped["ended_at"]) == ("canceling", None)
    assert (stopped["cancel_initiated_at"], stopped["request_counts"]["processing"]) == ("2026-01-01T00:00:50Z", 4)
    assert (await call(running, "GET", f"{path}/results")).status == 400
    running.built.runtime.advance(5)
    assert (await call(running, "POST", f"{path}/cancel")).json() == stopped
    running.built.runtime.advance(5)
    ended = (await call(running, "GET", path)).json()
    assert (ended["processing_status"], ended["ended_at"]) == ("ended", "2026-01-01T00:01:00Z")
    assert ended["request_counts"] == {"processing": 0, "succeeded": 2, "errored": 0, "canceled": 2, "expired": 0}
    results: JSON = [json.loads(line) for line in (await call(running, "GET", f"{path}/results")).body.splitlines()]
    assert [one["result"]["type"] for one in results] == ["succeeded", "succeeded", "canceled", "canceled"]
    assert results[3] == {"custom_id": "d", "result": {"type": "canceled"}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "requests: Field required"),
        ({"requests": []}, "requests: List should have between 1 and 1000 items"),
        ({"requests": [ask("a", "x"), ask("a", "x")]}, "requests.1.custom_id: Duplicate custom_id 'a'"),
        ({"requests": [ask("a", "x", odd=1)]}, "requests.0.odd: Extra inputs are not permitted"),
        ({"requests": [{"custom_id": "a"}]}, "requests.0.params: Field required"),
        ({"requests": [{"custom_id": 1, "params": {}}]}, "requests.0.custom_id: Input should be a valid string"),
        ({"requests": [ask("a", "x")], "odd": 1}, "odd: Extra inputs are not permitted"),
        *[
            (
                {"requests": [ask(name, "x")]},
                "requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
            )
            for name in ("", "a" * 65, "a b")
        ],
    ],
)
async def test_wrong_batch_is_refused(start: Start, body: JSON, message: str) -> None:
    refused = await call(await start(), "POST", "", body)
    assert (refused.status, refused.json()["error"]["message"]) == (400, message)
