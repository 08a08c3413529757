"""Fields and status of response objects."""

from dataclasses import replace

import pytest

from emulator.core.plan import Choice, FinishReason, Plan, Segment, Tokens, Usage
from emulator.encoding.obfuscation import pad
from emulator.protocols.openai.responses import (
    ResponseOptions,
    build_echo,
    build_pending,
    build_response,
    complete_tool,
    find_top_logprobs,
    stream_response,
)
from tests.untyped_json import JSON, parse_json

OPTIONS = ResponseOptions(
    model="m",
    draw_id=lambda key: "resp_1",
    echo={"store": True},
    chat_usage=False,
    stream_usage=True,
    events=True,
    done=False,
    summary=False,
    encrypted=False,
    findings={"filters": 1},
    filtered={"filters": 2},
)


def plan_of(finish: FinishReason = "stop") -> Plan:
    segments = (Segment("text", 0, 2),)
    choice = Choice(Tokens(("a", "b"), (1, 2)), due=(0.1, 0.2), finish_reason=finish, segments=segments)
    return Plan(key=bytes(16), created=5.5, choices=(choice,), usage=Usage(3, 2, 0))


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        ({"verbosity": "low"}, {"format": {"type": "text"}, "verbosity": "low"}),
        ({"format": {"type": "json_object"}}, {"format": {"type": "json_object"}}),
        (
            {"format": {"name": "n", "schema": {}, "type": "json_schema", "strict": True}},
            {"format": {"type": "json_schema", "description": None, "name": "n", "schema": {}, "strict": True}},
        ),
        (
            {"format": {"type": "json_schema", "name": "n", "description": "d", "schema": {}}},
            {"format": {"type": "json_schema", "name": "n", "description": "d", "schema": {}}},
        ),
        ({"format": {"type": "json_schema", "json_schema": {"name": "n"}}}, None),
    ],
)
def test_build_echo_completes_format(given: JSON, echoed: JSON) -> None:
    assert build_echo({"text": given}, {}, without=())["text"] == (given if echoed is None else echoed)


def test_build_echo_prefers_own_to_given_to_default() -> None:
    given: JSON = {"model": "m", "temperature": 0, "top_p": None, "store": True, "user": "u"}
    echo = build_echo(given, {"store": False}, without=("background", "service_tier"))
    assert list(echo)[:3] == ["conversation", "frequency_penalty", "instructions"]
    assert echo["text"] == {"format": {"type": "text"}}
    assert (echo["temperature"], echo["top_p"], echo["store"], echo["user"]) == (0, 1.0, False, "u")
    assert echo.keys().isdisjoint({"model", "background", "service_tier"})


@pytest.mark.parametrize(
    ("tool", "whole"),
    [
        (
            {"type": "function", "name": "f", "parameters": {}, "strict": None},
            {"type": "function", "description": None, "name": "f", "parameters": {}, "strict": True},
        ),
        (
            {"type": "custom", "name": "f"},
            {"type": "custom", "format": {"type": "text"}, "name": "f"},
        ),
        ({"type": "web_search"}, {"type": "web_search"}),
    ],
)
def test_complete_tool_adds_defaults(tool: JSON, whole: JSON) -> None:
    assert complete_tool(tool) == whole


def test_response_has_todays_fields() -> None:
    whole: JSON = build_response(plan_of(), OPTIONS)
    assert whole["completed_at"] == 5
    assert whole["output"][0]["content"][0]["logprobs"] == []
    assert whole["usage"]["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}
    assert build_response(plan_of("length"), OPTIONS)["completed_at"] is None


@pytest.mark.parametrize(
    ("token", "size"), [("P", 15), ("**Craft", 9), ("x" * 16, 16), ("x" * 17, 15), ("x" * 15, 1), ("lö", 14)]
)
def test_pad_fills_block(token: str, size: int) -> None:
    assert len(pad(token)) == size


@pytest.mark.parametrize("obfuscate", [True, False])
def test_deltas_are_padded(obfuscate: bool) -> None:
    events = stream_response(plan_of(), replace(OPTIONS, obfuscate=obfuscate))
    parsed: JSON = [parse_json(data.split(b"data: ")[1]) for _, data, _, _ in events]
    deltas = [event for event in parsed if event["type"].endswith(".delta")]
    assert [len(delta.get("obfuscation", "")) for delta in deltas] == [15 * obfuscate] * 2
    assert not any("obfuscation" in event for event in parsed if event not in deltas)


def test_build_pending_has_neither_output_nor_findings() -> None:
    pending = build_pending(plan_of(), OPTIONS, "queued")
    found = [pending[name] for name in ("status", "created_at", "output", "filters", "usage")]
    assert found == ["queued", 5, [], None, None]
    assert list(pending) == list(build_response(plan_of(), OPTIONS))


@pytest.mark.parametrize(
    ("finish", "status", "reason", "filters"),
    [
        pytest.param("stop", "completed", None, 1, id="complete"),
        pytest.param("length", "incomplete", {"reason": "max_output_tokens"}, 1, id="cut at the limit"),
        pytest.param("content_filter", "incomplete", {"reason": "content_filter"}, 2, id="filtered"),
    ],
)
def test_build_response_has_status_reason_and_findings(
    finish: FinishReason, status: str, reason: JSON, filters: int
) -> None:
    body: JSON = build_response(plan_of(finish), OPTIONS)
    assert (body["status"], body["incomplete_details"], body["filters"]) == (status, reason, filters)
    assert (body["output"][0]["content"][0]["text"], body["usage"]["total_tokens"]) == ("ab", 5)
    assert build_response(plan_of(finish), OPTIONS, usage=False)["usage"] is None


@pytest.mark.parametrize(
    ("given", "include", "top"),
    [
        pytest.param(None, [], None, id="none"),
        pytest.param(None, ["message.output_text.logprobs"], 0, id="included"),
        pytest.param(3, ["message.output_text.logprobs"], 3, id="given"),
    ],
)
def test_find_top_logprobs(given: int | None, include: list[JSON], top: int | None) -> None:
    assert find_top_logprobs(given, include) == top
