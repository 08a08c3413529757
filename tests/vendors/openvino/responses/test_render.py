"""Non-streaming responses of the Responses API."""

import json

import pytest

from emulator.core.plan import Plan
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import LATEST
from tests.vendors.openvino.plans import make_choice, make_plan, say

PATH = "/v3/responses"
BODY: dict[str, JSON] = {"model": "llama3", "input": "hello"}


def render(plan: Plan, **fields: JSON) -> JSON:
    call = LATEST.call({**BODY, **fields}, PATH)
    return json.loads(call.codec.render(plan, make_request(PATH)).body)


def test_echoed_numbers_have_float_precision() -> None:
    body = render(say("Hi"), temperature=0.7, top_p=1, min_p=0.1)
    assert (body["temperature"], body["top_p"], body["min_p"]) == (0.699999988079071, 1.0, 0.10000000149011612)


@pytest.mark.covers("openvino/models, tokenize, responses", "answer")
def test_response() -> None:
    fields = {"temperature": 0.5, "top_p": 0.5, "min_p": 0.1, "max_output_tokens": 9}
    answer = render(say("Hi", " you"), **fields)
    assert list(answer) == [
        "id", "object", "created_at", "completed_at", "error", "model", "status", "parallel_tool_calls", "store",
        "temperature", "text", "tool_choice", "tools", "top_p", "min_p", "truncation", "metadata", "max_output_tokens",
        "output", "usage",
    ]  # fmt: skip
    assert answer["id"] == "resp-1716825108"
    assert (answer["status"], answer["tool_choice"], answer["tools"]) == ("completed", "none", [])
    assert answer["output"] == [
        {
            "id": "msg-0",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi you", "annotations": []}],
        }
    ]
    assert answer["usage"] == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}


@pytest.mark.covers("openvino/models, tokenize, responses", "incomplete")
def test_truncated_response_is_incomplete() -> None:
    answer = render(say("Hi", finish="length"))
    assert list(answer)[3:5] == ["incomplete_details", "error"]
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_tokens"})


_PLAN = make_plan(
    make_choice(("reasoning", "", ["H", "m"]), ("tool_call", "f", ["{", "}"]), ("text", "", ["a", "b", "c"]))
)


@pytest.mark.covers("openvino/models, tokenize, responses", "items")
def test_output_items() -> None:
    thoughts, call, message = render(_PLAN)["output"]
    assert thoughts == {"id": "rs-0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    assert list(call) == ["id", "type", "status", "call_id", "name", "arguments"]
    assert (call["id"], call["name"], call["arguments"]) == (call["call_id"], "f", "{}")
    assert message["content"][0]["text"] == "abc"
