"""Validation of requests of the Responses API."""

import pytest

from emulator.core.http import Response
from emulator.core.requests import ChatRequest
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import LATEST, Refusal, failure, make_server

OK = None
PATH = "/v3/responses"
BODY: dict[str, JSON] = {"model": "llama3", "input": "hello"}


def item(**members: JSON) -> JSON:
    return {"input": [members]}


def part(**members: JSON) -> JSON:
    return item(role="user", content=[members])


@pytest.mark.covers("openvino/routes", "POST responses")
@pytest.mark.covers("openvino/models, tokenize, responses", "input")
@pytest.mark.covers("openvino/cases", "103", "104")
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


@pytest.mark.covers("openvino/models, tokenize, responses", "n in a stream")
@pytest.mark.covers("openvino/cases", "104, in a stream")
def test_streaming_rejects_n_above_one() -> None:
    answer = LATEST.send(PATH, {**BODY, "stream": True, "n": 2})
    assert isinstance(answer, Response)
    assert (answer.status, answer.chunked) == (400, True)
    assert b"n greater than 1 is not supported for Responses API streaming" in answer.body


def test_endpoint_exists_since_2026_2() -> None:
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
    ask = LATEST.call({**BODY, "input": turns}, PATH).request
    assert isinstance(ask, ChatRequest)
    assert [(m.role, m.text) for m in ask.messages] == [("user", "a\nb"), ("assistant", ""), ("tool", "7")]
