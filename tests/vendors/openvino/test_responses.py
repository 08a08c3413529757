"""The Responses API of the newest releases."""

import json

import pytest

from emulator.core.call import ChatAsk
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.wire import WireResponse
from emulator.vendors.openvino import VENDOR
from tests.vendors.openvino.ovms import LATEST, Refusal, failure, make_request, make_server
from tests.vendors.openvino.plans import join_writes, make_choice, make_plan, say

OK = None
PATH = "/v3/responses"
BODY: dict[str, JSON] = {"model": "llama3", "input": "hello"}


def item(**members: JSON) -> JSON:
    return {"input": [members]}


def part(**members: JSON) -> JSON:
    return item(role="user", content=[members])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({}, OK, id="a string"),
        pytest.param(item(role="user", content="hi"), OK, id="a message"),
        pytest.param(part(type="input_text", text="hi"), OK, id="a text part"),
        pytest.param({"max_tokens": "x", "max_completion_tokens": "x", "store": 1}, OK, id="fields that are ignored"),
        pytest.param({"stream_options": None}, "stream_options is not supported in Responses API.", id="options"),
        pytest.param({"input": ...}, "input missing in request", id="no input"),
        pytest.param({"input": ""}, "input cannot be empty", id="an empty string"),
        pytest.param({"input": []}, "input array must not be empty", id="an empty array"),
        pytest.param({"input": 1}, "input is not a string or array", id="a number"),
        pytest.param({"input": None}, "input is not a string or array", id="null"),
        pytest.param({"input": ["a"]}, "input array items must be objects", id="a string inside"),
        pytest.param(item(content="hi"), "input item role is missing or invalid", id="no role"),
        pytest.param(item(role="user"), "input item is missing required content field", id="no content"),
        pytest.param(item(role="user", content=1), "input item content must be a string or array", id="a number"),
        pytest.param(item(role="user", content=[]), "input item content array must not be empty", id="no parts"),
        pytest.param(item(role="user", content=["a"]), "input content items must be objects", id="a string as part"),
        pytest.param(part(text="a"), "input content item type is missing or invalid", id="no type"),
        pytest.param(part(type="x"), "unsupported input content item type: x", id="another type"),
        pytest.param(part(type="input_text"), "input_text requires a valid text field", id="no text"),
        pytest.param(part(type="input_image"), "input_image requires image_url field", id="no picture"),
        pytest.param(
            part(type="input_image", image_url=1),
            "input_image.image_url must be a string or object",
            id="a number as url",
        ),
        pytest.param(
            part(type="input_image", image_url={}), "input_image.image_url.url is missing or invalid", id="no url"
        ),
        pytest.param(
            item(type="function_call", name="f", arguments="{}"),
            "function_call item is missing required call_id (or id) field",
            id="a call without id",
        ),
        pytest.param(
            item(type="function_call", id="a", arguments="{}"),
            "function_call item is missing required name field",
            id="a call without name",
        ),
        pytest.param(
            item(type="function_call", id="a", name="f"),
            "function_call item is missing required arguments field",
            id="a call without arguments",
        ),
        pytest.param({"reasoning": 1}, "reasoning is not an object", id="reasoning number"),
        pytest.param({"reasoning": {"effort": 1}}, "reasoning.effort is not a string", id="effort number"),
        pytest.param(
            {"reasoning": {"effort": "max"}}, "reasoning.effort must be one of: low, medium, high", id="effort"
        ),
        pytest.param(
            {"max_output_tokens": "x"}, "max_output_tokens is not an unsigned integer", id="max_output_tokens text"
        ),
        pytest.param(
            {"max_output_tokens": 2**32},
            "max_output_tokens value can't be greater than 4294967295",
            id="max_output_tokens uint64",
        ),
        pytest.param(
            {"max_output_tokens": 0}, "max_output_tokens value should be greater than 0", id="max_output_tokens zero"
        ),
        pytest.param({"temperature": 3.0}, "temperature out of range(0.0, 2.0)", id="a shared field"),
    ],
)
def test_request(fields: JSON, reason: str | None) -> None:
    body = {name: value for name, value in {**BODY, **fields}.items() if value is not ...}
    assert LATEST.refusal(body, PATH) == (None if reason is None else Refusal(400, failure(reason)))


def test_more_answers_than_one_do_not_stream() -> None:
    answer = LATEST.send(PATH, {**BODY, "stream": True, "n": 2})
    assert isinstance(answer, WireResponse)
    assert (answer.status, answer.chunked) == (400, True)
    assert b"n greater than 1 is not supported for Responses API streaming" in answer.body


def test_since_2026_2() -> None:
    assert make_server("2026.2").refusal(BODY, PATH) is None
    refusal = make_server("2026.1").refusal(BODY, PATH)
    assert refusal is not None
    assert "Wrong endpoint" in refusal.error


def test_turns() -> None:
    turns: JSON = [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "7"},
    ]
    ask = LATEST.call({**BODY, "input": turns}, PATH).ask
    assert isinstance(ask, ChatAsk)
    assert [(m.role, m.text) for m in ask.messages] == [("user", "a\nb"), ("assistant", ""), ("tool", "7")]


def render(plan: Plan, **fields: JSON) -> JSON:
    call = LATEST.call({**BODY, **fields}, PATH)
    return json.loads(call.codec.render(plan, make_request(PATH)).body)


def test_numbers_that_are_repeated_are_floats() -> None:
    body = render(say("Hi"), temperature=0.7, top_p=1, min_p=0.1)
    assert (body["temperature"], body["top_p"], body["min_p"]) == (0.699999988079071, 1.0, 0.10000000149011612)


def test_answer() -> None:
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


def test_an_answer_cut_off_is_incomplete() -> None:
    answer = render(say("Hi", finish="length"))
    assert list(answer)[3:5] == ["incomplete_details", "error"]
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_tokens"})


_PLAN = make_plan(
    make_choice(("reasoning", "", ["H", "m"]), ("tool_call", "f", ["{", "}"]), ("text", "", ["a", "b", "c"]))
)


def test_items_of_an_answer() -> None:
    thoughts, call, message = render(_PLAN)["output"]
    assert thoughts == {"id": "rs-0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    assert list(call) == ["id", "type", "status", "call_id", "name", "arguments"]
    assert (call["id"], call["name"], call["arguments"]) == (call["call_id"], "f", "{}")
    assert message["content"][0]["text"] == "abc"


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


def test_a_failure_midway_is_an_event() -> None:
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
