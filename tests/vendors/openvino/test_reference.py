"""Fields of the chat endpoint's page, each with an accepted or refused request."""

import json
from collections.abc import Mapping

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.plan import Plan
from emulator.core.requests import Message
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import BASE, CHAT, SEED, failure
from tests.vendors.openvino.plans import make_choice, make_plan, say

TWO = make_plan(make_choice(("text", "", ["a"])), make_choice(("text", "", ["b"]), finish="length"))
WEIGHED = make_plan(make_choice(("text", "", ["Hi"]), logprobs=[-0.25]))


def look(plan: Plan | None = None, **fields: JSON) -> JSON:
    """Return the parsed call and the response for the reply of the plan."""
    call = SEED.send(CHAT, {**BASE, **fields})
    if not isinstance(call, InferenceCall):
        return {"status": call.status, **json.loads(call.body)}
    said = say("Hi", " you") if plan is None else plan
    if call.stream:
        body = b"".join(data for _, data, _, _ in call.codec.stream(said, make_request(CHAT)).events).decode()
        lines = [line.removeprefix("data: ") for line in body.split("\n\n")[:-1]]
        return {"call": call, "events": [line if line == "[DONE]" else json.loads(line) for line in lines]}
    answer = call.codec.render(said, make_request(CHAT))
    return {"call": call, "status": answer.status, "answer": json.loads(answer.body)}


def refused(reason: str, status: int = 400) -> Mapping[str, object]:
    """Return the expected error of a graph; in a stream it has status 200."""
    return {"status": status, "error": failure(reason)}


def unread(reason: str) -> Mapping[str, object]:
    """Return the expected error of a body that never reaches a graph."""
    return {"status": 412, "error": Piece(reason)}


def parameters(*pairs: tuple[str, float]) -> Mapping[str, object]:
    """Return the expected sampling of a request with these fields at the default temperature."""
    return {"call.request.sampling.parameters": (("temperature", 1.0), *pairs)}


def beams(*pairs: tuple[str, float]) -> Mapping[str, object]:
    return {"call.request.sampling.parameters": (("best_of", 3), *pairs)}


DRAFT: JSON = {"model": "draft"}
NEITHER = "Speculative decoding requires either num_assistant_tokens or assistant_confidence_threshold to be set."
BOTH = "num_assistant_tokens and assistant_confidence_threshold are mutually exclusive and cannot both be set."

REQUEST: dict[str, Cases] = {
    "chat request.model": [
        (DRAFT | {"num_assistant_tokens": 3}, {"call.deployment.name": "draft"}),
        ({"model": 2}, unread("model field is not a string")),
        ({"model": "none"}, {"status": 404, "error": "Mediapipe graph definition with requested name is not found"}),
    ],
    "chat request.stop": [
        ({"stop": "."}, {"call.request.sampling.stop": (".",), "call.request.sampling.keep_stop": False}),
        (
            {"stop": ["."], "stream": True},
            {"call.request.sampling.stop": (".",), "call.request.sampling.keep_stop": True},
        ),
        ({"stop": {}}, refused("stop is not a string or array of strings")),
        ({"stop": [*"abcde"]}, refused("stop array must have no more than 4 strings")),
    ],
    "chat request.stream": [
        ({"stream": True}, {"events.0.object": "chat.completion.chunk", "events.-1": "[DONE]"}),
        ({"stream": 2}, unread("stream field is not a boolean")),
    ],
    "chat request.stream_options": [
        ({"stream": True, "stream_options": {"include_usage": True}}, {"events.0.usage": None}),
        ({"stream_options": {}}, refused("stream_options provided, but stream not set to true")),
        (
            {"stream": True, "stream_options": {"option": "A"}},
            refused("Found unexpected stream options. Properties accepted in stream_options: include_usage", 200),
        ),
    ],
    "chat request.stream_options.include_usage": [
        (
            {"stream": True, "stream_options": {"include_usage": True}},
            {"events.-2.choices": [], "events.-2.usage.total_tokens": 7, "events.-1": "[DONE]"},
        ),
        (
            {"stream": True, "stream_options": {"include_usage": 123}},
            refused("stream_options.include_usage is not a boolean", 200),
        ),
    ],
    "chat request.messages": [
        (
            {"messages": [{"role": "user", "content": "hello"}]},
            {"call.request.messages": (Message(role="user", text="hello"),)},
        ),
        ({"messages": "text"}, refused("Messages are not an array")),
        ({"messages": []}, refused("Messages array cannot be empty")),
    ],
    "chat request.max_tokens": [
        ({"max_tokens": 7}, {"call.request.sampling.max_tokens": 7}),
        ({"max_tokens": 0}, refused("max_tokens value should be greater than 0")),
        ({"max_tokens": 4096}, refused("max_tokens exceeds limit provided in graph config: 4096")),
    ],
    "chat request.ignore_eos": [
        ({"ignore_eos": True}, {"call.request.sampling.ignore_eos": True}),
        (
            {"ignore_eos": True, "max_tokens": 4001},
            refused("when ignore_eos is true max_tokens can not be greater than 4000"),
        ),
        ({"ignore_eos": 1}, refused("ignore_eos accepts values true or false")),
    ],
    "chat request.include_stop_str_in_output": [
        ({"stop": ".", "include_stop_str_in_output": True}, {"call.request.sampling.keep_stop": True}),
        (
            {"stream": True, "include_stop_str_in_output": False},
            refused("include_stop_str_in_output cannot be set to false if streaming is used", 200),
        ),
        ({"include_stop_str_in_output": "yes"}, refused("include_stop_str_in_output accepts values true or false")),
    ],
    "chat request.logprobs": [
        ({}, {"call.request.sampling.logprobs": None, "answer.choices.0.logprobs": None}),
        (
            {"plan": WEIGHED, "logprobs": True},
            {"call.request.sampling.logprobs": 0, "answer.choices.0.logprobs.content.0.logprob": -0.25},
        ),
        ({"stream": True, "logprobs": True}, refused("logprobs are not supported in streaming mode.", 200)),
    ],
    "chat request.n": [
        ({"n": 2, "best_of": 3}, {"call.request.sampling.n": 2}),
        ({"n": 2}, refused("n value cannot be greater than best_of")),
        ({"n": 0}, refused("n value should be greater than 0")),
    ],
    "chat request.best_of": [
        ({"best_of": 3}, beams()),
        ({"best_of": 20}, refused("best_of exceeds limit provided in graph config: 20")),
        ({"stream": True, "best_of": 2}, refused("best_of cannot be used in streaming mode", 200)),
    ],
    "chat request.diversity_penalty": [
        ({"best_of": 3, "diversity_penalty": 2.0}, beams(("diversity_penalty", 2.0))),
        ({"diversity_penalty": "x"}, refused("diversity_penalty is not a valid number")),
    ],
    "chat request.length_penalty": [
        ({"best_of": 3, "length_penalty": 2}, beams(("length_penalty", 2.0))),
        ({"length_penalty": "x"}, refused("length_penalty is not a valid number")),
    ],
    "chat request.temperature": [
        ({"temperature": 0.5}, {"call.request.sampling.parameters": (("temperature", 0.5),)}),
        ({"temperature": 0}, {"call.request.sampling.greedy": True}),
        ({"temperature": 2.1}, refused("temperature out of range(0.0, 2.0)")),
    ],
    "chat request.top_p": [
        ({"top_p": 0.5}, parameters(("top_p", 0.5))),
        ({"top_p": 1.1}, refused("top_p out of range(0.0, 1.0)")),
    ],
    "chat request.top_k": [
        ({"top_k": 5}, parameters(("top_k", 5))),
        ({"top_k": -1}, parameters()),
        ({"top_k": 1.0}, refused("top_k is not an integer")),
    ],
    "chat request.repetition_penalty": [
        ({"repetition_penalty": 1.2}, parameters(("repetition_penalty", 1.2))),
        ({"repetition_penalty": "x"}, refused("repetition_penalty is not a valid number")),
    ],
    "chat request.frequency_penalty": [
        ({"frequency_penalty": -2}, parameters(("frequency_penalty", -2.0))),
        ({"frequency_penalty": 2.01}, refused("frequency_penalty out of range(-2.0, 2.0)")),
    ],
    "chat request.presence_penalty": [
        ({"presence_penalty": 0.5}, parameters(("presence_penalty", 0.5))),
        ({"presence_penalty": -3}, refused("presence_penalty out of range(-2.0, 2.0)")),
    ],
    "chat request.seed": [
        ({}, {"call.request.sampling.seed": 0}),
        ({"seed": 3}, {"call.request.sampling.seed": 3}),
        ({"seed": -1}, refused("seed is not an unsigned integer")),
    ],
    "chat request.num_assistant_tokens": [
        (DRAFT | {"num_assistant_tokens": 3}, {"call.deployment.name": "draft"}),
        (DRAFT, refused(NEITHER)),
        (DRAFT | {"num_assistant_tokens": 3, "assistant_confidence_threshold": 0.4}, refused(BOTH)),
        (
            DRAFT | {"num_assistant_tokens": 0},
            refused("num_assistant_tokens must be an unsigned integer greater than 0"),
        ),
    ],
    "chat request.assistant_confidence_threshold": [
        (DRAFT | {"assistant_confidence_threshold": 0.4}, {"call.deployment.name": "draft"}),
        (DRAFT, refused(NEITHER)),
        (DRAFT | {"num_assistant_tokens": 3, "assistant_confidence_threshold": 0.4}, refused(BOTH)),
        (
            DRAFT | {"assistant_confidence_threshold": 0},
            refused("assistant_confidence_threshold must be greater than 0"),
        ),
    ],
}

MESSAGE = {"content": "Hi you", "role": "assistant"}
ANSWER = {
    "choices": [{"finish_reason": "stop", "index": 0, "logprobs": None, "message": MESSAGE}],
    "created": 1716825108,
    "model": "llama3",
    "object": "chat.completion",
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
}
STREAM: JSON = {"stream": True}
TOKEN: JSON = {"token": "Hi", "logprob": -0.25, "bytes": [72, 105], "top_logprobs": []}

RESPONSE: dict[str, Cases] = {
    "chat response.choices": [
        ({"plan": TWO}, {"answer.choices": list, "answer.choices.1.message.content": "b"}),
        (STREAM, {"events.0.choices": list}),
    ],
    "chat response.choices.index": [
        ({"plan": TWO}, {"answer.choices.0.index": 0, "answer.choices.1.index": 1}),
        (STREAM, {"events.0.choices.0.index": 0}),
    ],
    "chat response.choices.message": [({}, {"answer.choices.0.message": MESSAGE})],
    "chat response.choices.message.role": [({}, {"answer.choices.0.message.role": "assistant"})],
    "chat response.choices.message.content": [({}, {"answer.choices.0.message.content": "Hi you"})],
    "chat response.choices.delta": [
        (STREAM, {"events.0.choices.0.delta": {"content": "Hi "}, "events.1.choices.0.delta": {"content": "you"}})
    ],
    "chat response.choices.finish_reason": [
        ({"plan": TWO}, {"answer.choices.0.finish_reason": "stop", "answer.choices.1.finish_reason": "length"}),
        (STREAM, {"events.0.choices.0.finish_reason": None, "events.1.choices.0.finish_reason": "stop"}),
    ],
    "chat response.choices.logprobs": [
        ({"plan": WEIGHED, "logprobs": True}, {"answer.choices.0.logprobs": {"content": [TOKEN]}}),
        ({}, {"answer.choices.0.logprobs": None}),
        (STREAM, {"events.0.choices.0.logprobs": None}),
    ],
    "chat response.created": [({}, {"answer.created": 1716825108}), (STREAM, {"events.0.created": 1716825108})],
    "chat response.model": [
        ({}, {"answer.model": "llama3"}),
        (STREAM | {"model": "stock"}, {"events.0.model": "stock"}),
    ],
    "chat response.object": [
        ({}, {"answer.object": "chat.completion"}),
        (STREAM, {"events.0.object": "chat.completion.chunk"}),
    ],
    "chat response.usage": [({}, {"answer.usage": ANSWER["usage"]})],
    # never returned
    **{f"chat response, unsupported.{name}": [({}, {"answer": ANSWER})] for name in ("id", "system_fingerprint")},
    **{
        f"chat response, unsupported.choices.message.{name}": [({}, {"answer.choices.0.message": MESSAGE})]
        for name in ("tool_calls", "function_call")
    },
    # listed twice, and returned by the release
    "chat response, unsupported.usage": [({}, {"answer.usage.completion_tokens": 2})],
    "chat response, unsupported.choices.logprobs.content": [
        ({"plan": WEIGHED, "logprobs": True}, {"answer.choices.0.logprobs.content": [TOKEN]})
    ],
}

ROWS = REQUEST | RESPONSE


@pytest.mark.covers(
    "openvino/fields of 2025.0",
    "model",
    "messages",
    "stream",
    "stream_options",
    "include_usage",
    "max_tokens",
    "ignore_eos",
    "stop",
    "include_stop_str_in_output",
    "logprobs",
    "best_of",
    "n",
    "diversity_penalty",
    "length_penalty",
    "repetition_penalty",
    "temperature",
    "top_p",
    "top_k",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "num_assistant_tokens",
    "assistant_confidence_threshold",
)
@pytest.mark.covers(
    "openvino/decisions", "3 usage", "4 logprobs", "5 created", "8 top_k -1", "10 max_tokens", "11 best_of"
)
@pytest.mark.covers("openvino/traps", "13 limits", "14 include_stop_str_in_output")
@pytest.mark.parametrize("field", ROWS)
def test_field(field: str) -> None:
    for request, seen in ROWS[field]:
        check(look(**request), seen)


TOOL: JSON = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
UNSUPPORTED: Mapping[str, JSON] = {
    "logit_bias": {"5": -100}, "top_logprobs": 5, "response_format": {"type": "json_object"}, "tools": [TOOL],
    "tool_choice": "required", "user": "u", "function_call": "auto", "functions": [TOOL["function"]], "min_p": 0.5,
    "use_beam_search": True, "early_stopping": True, "stop_token_ids": [13], "min_tokens": 5, "prompt_logprobs": 2,
    "detokenize": False, "skip_special_tokens": False, "spaces_between_special_tokens": False,
    "logits_processors": ["p"], "truncate_prompt_tokens": 2,
}  # fmt: skip


@pytest.mark.covers("openvino/fields of 2025.0", "unsupported ones")
@pytest.mark.parametrize("name", [pytest.param(name, id=f"chat request, unsupported.{name}") for name in UNSUPPORTED])
def test_unsupported_field_is_ignored(name: str) -> None:
    assert SEED.call({**BASE, name: UNSUPPORTED[name]}).request == SEED.call(BASE).request
