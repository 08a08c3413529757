"""Streaming responses of the Responses API."""

import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.vendors.openvino.routes import VENDOR
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import LATEST, failure
from tests.vendors.openvino.plans import join_writes, make_choice, make_plan

PATH = "/v3/responses"
BODY: dict[str, JSON] = {"model": "llama3", "input": "hello"}

_PLAN = make_plan(
    make_choice(("reasoning", "", ["H", "m"]), ("tool_call", "f", ["{", "}"]), ("text", "", ["a", "b", "c"]))
)


@pytest.mark.covers("openvino/models, tokenize, responses", "stream")
def test_stream() -> None:
    call = LATEST.call({**BODY, "stream": True}, PATH)
    written = list(join_writes(call.codec.stream(_PLAN, make_request(PATH)).events))
    body = b"".join(data for _, data in written)
    assert body.endswith(b"data: [DONE]\n\n")
    assert b"event:" not in body
    events = [json.loads(line[6:]) for line in body.split(b"\n\n")[:-2]]
    assert [event["sequence_number"] for event in events] == list(range(1, len(events) + 1))
    assert [moment for moment, _ in written] == sorted(moment for moment, _ in written)
    item_done = "response.output_item.done"
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        item_done,
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        item_done,
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        item_done,
        "response.completed",
    ]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert deltas == ["a", "bc"]
    assert events[-1]["response"]["output"] == [event["item"] for event in events if event["type"] == item_done]
    assert events[14]["output_index"] == 2


@pytest.mark.covers("openvino/models, tokenize, responses", "failed")
def test_stream_failure_is_event() -> None:
    request = make_request(PATH, {**BODY, "stream": True})
    words = VENDOR.render_late_error(EmulatedError(ErrorKind.INTERNAL), request, LATEST.service)
    event, end, _ = words.split(b"\n\n")
    body = json.loads(event[6:])
    assert end == b"data: [DONE]"
    assert (body["type"], body["response"]["status"]) == ("response.failed", "failed")
    assert body["response"]["error"] == {
        "code": "server_error",
        "message": failure("Response generation failed", word="INTERNAL"),
    }


async def test_late_error_has_the_next_sequence_number(start: Start) -> None:
    rules = "rules: [{name: late, faults: [{type: late_error, after_tokens: 2}]}]"
    running = await start(f'vendors: {{openvino: {{profile: "2026.3"}}}}\n{rules}')
    answer = await running.ask("openvino", PATH, {**BODY, "stream": True})
    events = [json.loads(line[6:]) for line in answer.body.split(b"\n\n")[:-2]]
    assert events[-1]["type"] == "response.failed"
    assert [event["sequence_number"] for event in events] == list(range(1, len(events) + 1))
