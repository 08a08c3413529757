"""Responses as events, and their order."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import GPT, respond

SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: JSON = {"name": "get_weather", "description": "Weather", "parameters": SCHEMA}
FLAT: JSON = {"type": "function", **FUNCTION}
TEXT_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def distinct(events: tuple[JSON, ...]) -> list[str]:
    types = [event["type"] for event in events if event != "[DONE]"]
    return [kind for position, kind in enumerate(types) if position == 0 or types[position - 1] != kind]


@pytest.mark.covers("databricks/Responses", "order of events")
def test_text_streams_in_order() -> None:
    events = respond(stream=True).events
    assert distinct(events) == TEXT_EVENTS
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert (events[0]["response"]["status"], events[0]["response"]["usage"]) == ("in_progress", None)
    whole = respond().body
    assert (
        "".join(e["delta"] for e in events if e["type"].endswith("text.delta"))
        == (whole["output"][-1]["content"][0]["text"])
    )
    assert events[-1]["response"]["usage"] == whole["usage"]
    assert [i["type"] for i in events[-1]["response"]["output"]] == ["reasoning", "message"]


@pytest.mark.covers("databricks/Responses", "a call")
def test_call_streams_in_order() -> None:
    events = respond(stream=True, tools=[FLAT], tool_choice="required").events
    assert distinct(events)[4:] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    done = next(e for e in events if e["type"] == "response.function_call_arguments.done")
    assert {*done} == {"type", "sequence_number", "item_id", "output_index", "arguments"}
    assert done["arguments"] == "".join(e["delta"] for e in events if e["type"].endswith("arguments.delta"))


@pytest.mark.covers("databricks/Responses", "incomplete stream")
def test_cut_stream_ends_incomplete() -> None:
    assert respond(stream=True, max_output_tokens=70).events[-1]["type"] == "response.incomplete"


def test_logprobs_and_summary_stream() -> None:
    events = respond(stream=True, top_logprobs=1, reasoning={"summary": "auto"}).events
    assert "response.reasoning_summary_text.delta" in distinct(events)
    assert all(len(e["logprobs"]) == 1 for e in events if e["type"] == "response.output_text.delta")


@pytest.mark.covers("databricks/Responses", "event lines and DONE")
@pytest.mark.covers("databricks/traps", "3 nothing but data lines")
@pytest.mark.parametrize(
    ("path", "options", "named", "done"),
    [
        pytest.param("/serving-endpoints/responses", {}, True, False, id="responses"),
        pytest.param("/serving-endpoints/v1/responses/", {}, True, False, id="its alias"),
        pytest.param(f"/serving-endpoints/{GPT}/invocations", {}, False, True, id="invocations"),
        pytest.param("/serving-endpoints/responses", {"responses_events": "never"}, False, False, id="never named"),
        pytest.param("/serving-endpoints/responses", {"responses_done": "always"}, True, True, id="always done"),
        pytest.param(
            f"/serving-endpoints/{GPT}/invocations/", {"responses_events": "always"}, True, True, id="always named"
        ),
    ],
)
def test_framing_depends_on_route(path: str, options: JSON, named: bool, done: bool) -> None:
    answer = respond(options, path, stream=True)
    assert (b"event: response.created\ndata: " in answer.text) is named
    assert (answer.events[-1] == "[DONE]") is done
