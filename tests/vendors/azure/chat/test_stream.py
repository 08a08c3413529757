"""Streamed chat answers of hand-written plans, byte by byte."""

from dataclasses import replace

import pytest

from emulator.core.http import Mark
from emulator.core.plan import Logprob, Plan
from emulator.encoding.template_stream import TemplateStream
from emulator.vendors.azure.chat.shapes import ANSWER_HARMS, PROMPT_HARMS
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import (
    CALL,
    HELLO,
    REQUEST,
    TOOL,
    call_of,
    chunks,
    deltas,
    events_of,
    plan_of,
    say,
    stream,
)
from tests.vendors.azure.service import accept


@pytest.mark.covers("azure/streams", "of maas")
def test_serverless_stream() -> None:
    events = stream(HELLO, "maas", model="mistral-large-2411")
    identity = parse_json(events[0][1][6:-2])["id"]
    tail = f'"created":1731461004,"id":"{identity}","model":"mistral-large-2411","object":"chat.completion.chunk"'
    middle = '"finish_reason":null,"index":0,"logprobs":null}],' + tail + "}\n\n"
    assert [(due, event.decode()) for due, event in events] == [
        (0.1, 'data: {"choices":[{"delta":{"content":"","role":"assistant"},' + middle),
        (0.1, 'data: {"choices":[{"delta":{"content":"Hel"},' + middle),
        (0.3, 'data: {"choices":[{"delta":{"content":"lö"},' + middle),
        (0.4, 'data: {"choices":[{"delta":{"content":"."},' + middle),
        (
            0.4,
            'data: {"choices":[{"delta":{"content":""},"finish_reason":"stop","index":0,"logprobs":null}],'
            + tail
            + ',"usage":{"completion_tokens":4,"prompt_tokens":13,"total_tokens":17}}\n\n',
        ),
        (0.4, "data: [DONE]\n\n"),
    ]


@pytest.mark.covers("azure/streams", "a call of maas")
def test_serverless_tool_call_stream() -> None:
    first, last = chunks(CALL, "maas", tools=[TOOL], model="mistral-large-2411")
    assert first["choices"][0]["delta"] == {"content": "", "role": "assistant"}
    (call,) = last["choices"][0]["delta"]["tool_calls"]
    assert {**call, "id": ""} == {
        "function": {"arguments": '{"a": 1}', "name": "f"},
        "id": "",
        "index": 0,
        "type": "function",
    }
    assert (last["choices"][0]["finish_reason"], last["usage"]["completion_tokens"]) == ("tool_calls", 3)


@pytest.mark.covers("azure/streams", "of aoai")
def test_openai_stream() -> None:
    first, *middle, last = chunks(HELLO, "aoai", model="gpt-4o-mini")
    assert first == {
        "choices": [],
        "created": 0,
        "id": "",
        "model": "",
        "object": "",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": PROMPT_HARMS}],
    }
    assert [chunk["choices"][0]["content_filter_results"] for chunk in middle] == [{}, *[ANSWER_HARMS] * 3]
    assert [chunk["choices"][0]["delta"] for chunk in middle] == [
        {"content": "", "refusal": None, "role": "assistant"},
        {"content": "Hel"},
        {"content": "lö"},
        {"content": "."},
    ]
    assert list(last) == ["choices", "created", "id", "model", "object", "system_fingerprint"]
    assert last["choices"] == [
        {"content_filter_results": {}, "delta": {}, "finish_reason": "stop", "index": 0, "logprobs": None}
    ]


@pytest.mark.covers("azure/streams", "filtered midway")
def test_openai_stream_ended_by_content_filter() -> None:
    *_, last = chunks(plan_of(say(("text", ["bad"]), finish="content_filter")), "aoai", model="gpt-4o-mini")
    (choice,) = last["choices"]
    seen = choice["content_filter_results"]
    assert (choice["finish_reason"], seen["violence"]) == ("content_filter", {"filtered": True, "severity": "medium"})
    assert [name for name, harm in seen.items() if harm["filtered"]] == ["violence"]


@pytest.mark.covers("azure/streams", "include_usage")
def test_openai_include_usage_adds_usage_chunk() -> None:
    body = {"model": "gpt-4o-mini", "stream_options": {"include_usage": True}}
    *others, last = chunks(HELLO, "aoai", **body)
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 17
    assert others
    assert all(chunk["usage"] is None for chunk in others if chunk["choices"])
    assert all("usage" not in chunk for chunk in chunks(HELLO, "aoai", model="gpt-4o-mini"))


@pytest.mark.covers("azure/streams", "a call of aoai")
def test_openai_tool_call_stream() -> None:
    plan = plan_of(say(("call:f", ["{", "}"]), ("call:g", ["{}"]), finish="tool_calls"))
    role, *calls, end = deltas(plan, "aoai", tools=[TOOL], model="gpt-4o-mini")
    assert role["content"] is None
    assert [call["tool_calls"][0].get("id", "")[:5] for call in calls] == ["call_", "", "", "call_", ""]
    assert [call["tool_calls"][0]["index"] for call in calls] == [0, 0, 0, 1, 1]
    assert [call["tool_calls"][0]["function"]["arguments"] for call in calls] == ["", "{", "}", "", "{}"]
    assert end == {}


@pytest.mark.covers("azure/streams", "n")
@pytest.mark.parametrize("profile", ["seed", "maas", "aoai"])
def test_choices_stream_interleaved(profile: str) -> None:
    plan = plan_of(say(("text", ["a", "b", "c"])), say(("text", ["d"])))
    events = stream(plan, profile, n=2, model="gpt-4o-mini")
    assert [due for due, _ in events] == sorted(due for due, _ in events)
    said = {0: "", 1: ""}
    for chunk in chunks(plan, profile, n=2, model="gpt-4o-mini"):
        for choice in chunk["choices"]:
            said[choice["index"]] += choice["delta"].get("content") or ""
    assert said == {0: "abc", 1: "d"}
    if profile != "aoai":
        assert ["usage" in parse_json(event[6:-2]) for _, event in events[:-1]][-2:] == [False, True]


@pytest.mark.covers("azure/streams", "escapes")
def test_token_text_is_escaped() -> None:
    tokens = ['"', "\\", "\n", "\x00", "%d", "%b", "{}", "\u2028"]
    plan = plan_of(say(("text", tokens)))
    for profile in ("seed", "aoai"):
        assert "".join(d.get("content") or "" for d in deltas(plan, profile, model="gpt-4o-mini")) == "".join(tokens)
    plan = plan_of(say(("call:f", tokens), finish="tool_calls"))
    parts = [d["tool_calls"][0] for d in deltas(plan, "aoai", model="gpt-4o-mini") if "tool_calls" in d]
    assert "".join(part["function"]["arguments"] for part in parts) == "".join(tokens)


@pytest.mark.covers("azure/streams", "content type")
@pytest.mark.parametrize("profile", ["seed", "maas", "managed", "foundry", "aoai"])
def test_stream_content_type_is_event_stream(profile: str) -> None:
    call = call_of(profile, model="gpt-4o-mini")
    head = call.codec.stream(HELLO, REQUEST).headers
    assert head[0] == ("Content-Type", "text/event-stream; charset=utf-8")


@pytest.mark.parametrize(
    ("profile", "last"),
    [
        pytest.param("maas", [Mark.FINISH | Mark.USAGE, Mark.DONE], id="serverless"),
        pytest.param("aoai", [Mark.FINISH, Mark.USAGE, Mark.DONE], id="OpenAI"),
    ],
)
def test_last_events_are_marked(profile: str, last: list[Mark]) -> None:
    fields: JSON = {"model": "gpt-4o-mini", "stream_options": {"include_usage": True}}
    marks = [mark for _, _, _, mark in events_of(HELLO, profile, **fields)]
    assert marks[-len(last) :] == last
    assert set(marks[: -len(last)]) == {Mark.PLAIN}


def test_events_count_tokens_of_all_choices() -> None:
    plan = plan_of(say(("text", ["a", "", "b"])), say(("text", ["c"])))
    said = [(data, tokens) for _, data, tokens, _ in events_of(plan, "maas", n=2) if b'"content":""' not in data]
    assert [tokens for _, tokens in said] == [1, 2, 4, 0]


def test_every_choice_finishes_and_one_carries_usage() -> None:
    plan = plan_of(say(("text", ["a", "b"])), say(("text", ["c"])))
    marks = [mark for _, _, _, mark in events_of(plan, "maas", n=2) if mark]
    assert marks == [Mark.FINISH, Mark.FINISH | Mark.USAGE, Mark.DONE]


V1 = "/openai/v1/chat/completions"
DATED = "/openai/deployments/gpt-4o/chat/completions?api-version="


def padded_sizes(target: str, plan: Plan = HELLO, **fields: JSON) -> list[int | None]:
    """Size of the noise of each chunk with a choice."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "stream": True, **fields}
    events = accept(body, target).codec.stream(plan, REQUEST).events
    parsed: JSON = [parse_json(data[6:]) for _, data, _, _ in events if data != b"data: [DONE]\n\n"]
    found = [chunk for chunk in parsed if chunk["choices"]]
    return [len(chunk["obfuscation"]) if "obfuscation" in chunk else None for chunk in found]


@pytest.mark.parametrize("logprobs", [False, True])
def test_chunks_are_padded(logprobs: bool) -> None:
    plan = plan_of(say(("text", ["Hel", "lö", "."]), logprobs=(Logprob("x", -1.0),) * 3)) if logprobs else HELLO
    assert padded_sizes(V1, plan, logprobs=logprobs) == [16, 13, 14, 15, 16]


def test_chunks_of_calls_are_padded() -> None:
    plan = plan_of(say(("call:f", ["{", "}"]), finish="tool_calls"))
    assert padded_sizes(V1, plan, tools=[TOOL]) == [16, 16, 15, 15, 16]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (V1, {"include_obfuscation": False}),
        (f"{DATED}2024-10-21", None),
        (f"{DATED}2025-04-01-preview", {"include_usage": True}),
        ("/models/chat/completions?api-version=2024-05-01-preview", None),
    ],
)
def test_chunks_are_not_padded(target: str, options: JSON) -> None:
    more = {} if options is None else {"stream_options": options}
    assert set(padded_sizes(target, **more)) == {None}


def test_padded_batches_are_the_events() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    plan = plan_of(replace(say(("text", ["Hel", "lö", "."])), due=(0.0,) * 3))
    events = accept(body, V1).codec.stream(plan, REQUEST).events
    assert isinstance(events, TemplateStream)
    batches = events.batches()
    assert batches is not None
    chunked = b"".join(joint.join(pieces) for joint, pieces, _, _ in batches)
    sizes = [b"%x\r\n%b\r\n" % (len(data), data) for _, data, _, _ in events]
    assert chunked == b"".join(sizes)
