"""Repeated requests: what is cached of them, and what is computed again."""

import json
from dataclasses import replace

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.plan import Choice, Plan, Segment, Tokens, Usage
from emulator.core.requests import Deployment
from emulator.generation.generate import generate
from emulator.generation.tokenizer import tokenizer_for
from emulator.vendors.databricks.chat.render import ChatCodec
from emulator.vendors.databricks.chat.shapes import build_usage, encode_usage
from emulator.vendors.databricks.routes import VENDOR
from tests.untyped_json import JSON
from tests.vendors import client
from tests.vendors.databricks.harness import BGE, CLAUDE, GEMINI, GPT, LLAMA, MPT, OSS, make_service

USER: JSON = {"role": "user", "content": 'Tell me about \u00e9t\u00e9 in "Paris"\n\u2014 100 %'}
SPLIT = Deployment(vendor="databricks", name="ab", traits={"served_entities": {"a": 50, "b": 50}})
ODD = Deployment(vendor="databricks", name="odd", model='100 %b of "x" %d')
USUAL_GPT = Deployment(vendor="databricks", name="usual", model="gpt-4o", traits={"usage_style": "every"})


def read(path: str, body: JSON, key: bytes = bytes(16)) -> tuple[InferenceCall, Request]:
    service = make_service({}, (SPLIT, ODD, USUAL_GPT))
    request = client.make_request(path, body, {"Authorization": "Bearer dapi-x"})
    request.key = key
    call = client.send(VENDOR, service, request)
    assert isinstance(call, InferenceCall)
    return call, request


def say(call: InferenceCall, request: Request) -> bytes:
    draft = generate(call.request, call.deployment, tokenizer_for(call.deployment.tokenizer), seed=0,
                  prompt_tokens=call.prompt_tokens)  # fmt: skip
    plan = Plan(key=request.key, created=5.0, choices=draft.choices, vectors=draft.vectors, usage=draft.usage)
    if call.stream:
        stream = call.codec.stream(plan, request)
        return repr(stream.headers).encode() + b"".join(data for _, data, _, _ in stream.events)
    answer = call.codec.render(plan, request)
    return repr(answer.headers).encode() + answer.body


def the_long_way(call: InferenceCall) -> InferenceCall:
    """The same call, as if its endpoint never sent a plain string."""
    assert isinstance(call.codec, ChatCodec)
    return replace(call, codec=replace(call.codec, style=replace(call.codec.style, plain=False)))


CALLS: JSON = [
    pytest.param(f"/serving-endpoints/{LLAMA}/invocations", {"messages": [USER]}, id="chat"),
    pytest.param(
        "/serving-endpoints/chat/completions", {"model": GPT, "messages": [USER], "stream": True}, id="stream"
    ),
    pytest.param(
        "/serving-endpoints/completions", {"model": MPT, "prompt": ["a", "b"], "echo": True}, id="completions"
    ),
    pytest.param("/serving-endpoints/embeddings", {"model": BGE, "input": "a"}, id="embeddings"),
    pytest.param("/serving-endpoints/responses", {"model": GPT, "input": "a"}, id="responses"),
    pytest.param("/serving-endpoints/responses", {"model": GPT, "input": "a", "stream": True}, id="responses stream"),
    pytest.param("/serving-endpoints/ab/served-models/b/invocations", {"messages": [USER]}, id="a named entity"),
]


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_cached_call_renders_like_newly_parsed_one(path: str, body: JSON) -> None:
    first, request = read(path, body)
    assert first.repeatable
    again, later = read(path, body, key=bytes(range(16)))
    assert say(first, later) == say(again, later)
    assert say(first, later) != say(first, request)


def test_call_with_drawn_entity_is_not_repeatable() -> None:
    calls = [read("/serving-endpoints/ab/invocations", {"messages": [USER]}, bytes([i] * 16))[0] for i in range(20)]
    assert not any(call.repeatable for call in calls)
    assert {call.codec.served for call in calls if isinstance(call.codec, ChatCodec)} == {"a", "b"}


@pytest.mark.parametrize("name", [LLAMA, CLAUDE, GPT, GEMINI, OSS, "odd", "usual"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "fields", [{}, {"max_tokens": 3}, {"logprobs": True}, {"stop": ["e"]}], ids=["plain", "cut", "logprobs", "stop"]
)
def test_fast_rendering_equals_general_rendering(name: str, stream: bool, fields: JSON) -> None:
    call, request = read(f"/serving-endpoints/{name}/invocations", {"messages": [USER], "stream": stream, **fields})
    assert say(call, request) == say(the_long_way(call), request)


@pytest.mark.parametrize("counting", ["every", "last", "closing", "on-request", "none", "claude"])
@pytest.mark.parametrize("include_usage", [False, True])
@pytest.mark.parametrize("name", [LLAMA, "usual"])
def test_fast_rendering_reports_same_usage(name: str, counting: str, include_usage: bool) -> None:
    call, request = read(f"/serving-endpoints/{name}/invocations", {"messages": [USER], "stream": True})
    assert isinstance(call.codec, ChatCodec)
    style = replace(call.codec.style, usage_style=counting)
    call = replace(call, codec=replace(call.codec, style=style, include_usage=include_usage))
    assert say(call, request) == say(the_long_way(call), request)


@pytest.mark.parametrize("tokens", [(), ("",), ("a", "", "b"), ("a", "")], ids=["none", "no text", "a gap", "a cut"])
def test_fast_rendering_skips_tokens_without_text(tokens: tuple[str, ...]) -> None:
    call, request = read(f"/serving-endpoints/{LLAMA}/invocations", {"messages": [USER], "stream": True})
    due = [float(number) for number, _ in enumerate(tokens)]
    span = Segment("text", 0, len(tokens))
    choice = Choice(Tokens(tokens, (0,) * len(tokens)), due=due, finish_reason="stop", segments=(span,))
    plan = Plan(key=bytes(16), created=5.0, choices=(choice,), usage=Usage(9, len(tokens)))
    short, long = (list(one.codec.stream(plan, request).events) for one in (call, the_long_way(call)))
    assert short == long


@pytest.mark.parametrize("name", [LLAMA, CLAUDE, GPT, OSS])
@pytest.mark.parametrize("thought", [0, 3])
def test_encode_usage_equals_json_of_build_usage(name: str, thought: int) -> None:
    style = make_service({}, ()).profiles[name].style
    usage = Usage(11, 7, thought)
    shape = build_usage(usage, style)
    assert encode_usage(usage, style) == json.dumps(shape, separators=(",", ":")).encode()
    assert shape.get("reasoning_tokens", 0) == thought
