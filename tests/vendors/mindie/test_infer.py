"""Requests and responses of the native form."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    REPLY,
    error_of,
)


@pytest.mark.covers("mindie/routes", "POST /infer, /infer_token")
@pytest.mark.covers("mindie/answers", "native")
@pytest.mark.covers("mindie/tokens", "ids that decode again")
async def test_native(start: Start) -> None:
    running = await start(REPLY)
    body = {"inputs": "Hello", "parameters": {"details": True, "seed": 5}}
    answer = (await running.ask("mindie", "/infer", body)).json()
    assert answer["generated_text"] == " one two three"
    assert list(answer["details"]) == ["finish_reason", "generated_tokens", "generated_token_ids", "seed"]
    rows = (await running.ask("mindie", "/infer", {**body, "stream": True})).events()
    assert list(rows[0]) == ["prefill_time", "decode_time", "token"]
    assert rows[0]["decode_time"] is rows[1]["prefill_time"] is rows[-1]["token"]["text"] is None
    assert rows[-1]["details"] == {"finish_reason": "eos_token", "generated_tokens": 4, "seed": 5}
    ids = (await running.ask("mindie", "/infer_token", {"input_id": [9707]})).json()
    assert ids == {"generated_text": " one two three"}


NATIVE = [
    ({}, "Not found inputs.", 422),
    ({"inputs": "x", "input_id": [1]}, "Input conflict.", 422),
    ({"input_id": 5}, "Parameter input_id must be an array", 422),
    ({"input_id": ["x"]}, "Parameter input_id must be integer", 422),
    ({"input_id": [2**64]}, "Parameter input_id must be integer", 422),
    ({"input_id": [2**64 - 1]}, "Data element in param input_id is invalid", 422),
    ({"input_id": [-1]}, "Data element in param input_id is invalid", 422),
    ({"input_id": [151936]}, "Failed to enqueue inferRequest. Invalid Input Ids", 424),
    ({"inputs": "x", "parameters": {"priority": 6}}, "Parameter priority must be in [1,5], got 6.", 422),
    (
        {"inputs": "x", "parameters": {"timeout": 0}},
        "Parameter timeout must be strictly positive and small than 65535 seconds, got 0.",
        422,
    ),
]


@pytest.mark.covers("mindie/other checks", "a token beyond the vocabulary")
@pytest.mark.parametrize(("body", "text", "status"), NATIVE, ids=[json.dumps(row[0]) for row in NATIVE])
def test_invalid_native_request_is_rejected(body: JSON, text: str, status: int) -> None:
    assert error_of("/infer", body, status=status) == text
