"""The completions task: prompts, each gone on with.

Sources: Databricks, "Foundation model REST API reference", completion task; databricks-genai-inference for
batches and streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Any

from emulator.core.call import CompletionAsk
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.seed import draw_uuid
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.sse import DONE, quote
from emulator.vendors.databricks.chat.parse import wants_stream
from emulator.vendors.databricks.decoder import BOOLEAN, INTEGER, NUMBER, STRING, STRINGS, TEXTS, Struct, refuse
from emulator.vendors.databricks.reply import Reply, answer_headers, shape_usage
from emulator.vendors.databricks.request import COMMON, TOLERATED, Query, find_by_model
from emulator.vendors.databricks.sampling import (
    check_output_limit,
    check_positive,
    check_range,
    check_sampling,
    count,
    limit_output,
    prompt_too_long,
    read_sampling,
)

_FIELDS = Struct(
    {
        **COMMON,
        **TOLERATED,
        "prompt": TEXTS,
        "max_tokens": INTEGER,
        "stream": BOOLEAN,
        "temperature": NUMBER,
        "top_p": NUMBER,
        "top_k": INTEGER,
        "error_behavior": STRING,
        "n": INTEGER,
        "stop": STRINGS,
        "suffix": STRING,
        "echo": BOOLEAN,
        "use_raw_prompt": BOOLEAN,
        "user": STRING,
    }
)


def parse_completions(request: WireRequest, service: Service[Any, Any]) -> Call:
    """``POST /serving-endpoints/completions``."""
    return read_completions(find_by_model(request, service))


def read_completions(query: Query) -> Call:
    """Validate and read a completions request.

    Raises:
        EmulatedError: what the endpoint refuses.
    """
    if query.deployment.task != "completions":
        # unverified
        raise refuse(f"Bad request: endpoint {query.deployment.name} does not support the completions task")
    query.check("completions", lambda _habits: _FIELDS)
    prompts = _read_prompts(query)
    check_positive(query, "max_tokens")
    check_sampling(query)
    check_range(query, "frequency_penalty", -2, 2)
    check_range(query, "presence_penalty", -2, 2)
    truncate = _read_behavior(query)
    wanted = query.get("max_tokens")
    if not truncate:
        check_output_limit(query, "max_tokens", wanted)
    raw = bool(query.get("use_raw_prompt", False))
    prompts, counts = _fit(query, prompts, raw, truncate)
    limit = limit_output(query, wanted, max(counts))
    return Call(
        request=query.request,
        deployment=query.deployment,
        ask=CompletionAsk(prompts=prompts, raw=raw, sampling=read_sampling(query, limit)),
        codec=_CODEC,
        stream=wants_stream(query),
        prompt_tokens=counts,
        context=Reply.of(query, _read_frame(query)),
        repeatable=query.repeatable,
    )


def _read_prompts(query: Query) -> tuple[str, ...]:
    prompt = query.get("prompt")
    if prompt is None or prompt == []:
        raise refuse("Missing required Completions parameter: 'prompt'", "prompt")
    prompts = (prompt,) if isinstance(prompt, str) else tuple(prompt)
    if not all(isinstance(one, str) for one in prompts):
        raise refuse("Bad request: prompt must be a string or a list of strings", "prompt")
    settings = query.settings
    most = settings.max_streamed_prompts if wants_stream(query) else settings.max_prompts
    if len(prompts) > most:
        streamed = " streamed" if wants_stream(query) else ""
        raise refuse(f"Bad request: at most {most}{streamed} prompts are supported, but got {len(prompts)}", "prompt")
    return prompts


def _read_behavior(query: Query) -> bool:
    """Whether what does not fit the context is cut; only pay-per-token endpoints are asked that."""
    behavior = query.get("error_behavior")
    if behavior is None:
        return False
    if behavior not in ("truncate", "error"):
        text = f'Bad request: error_behavior must be "truncate" or "error", but got "{behavior}"'
        raise refuse(text, "error_behavior")
    if query.deployment.mode != "pay_per_token":
        raise refuse("Bad request: error_behavior is only supported for pay-per-token endpoints", "error_behavior")
    return bool(behavior == "truncate")


def _fit(query: Query, prompts: tuple[str, ...], raw: bool, truncate: bool) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The prompts and their tokens, cut to the context if that is wished.

    Where a prompt is cut is unverified: its beginning stays, with room for one token of answer.
    """
    counts = count(query, CompletionAsk(prompts=prompts, raw=raw))
    context = query.deployment.context
    if context is None:
        return prompts, counts
    if not truncate:
        _check_fit(query, max(counts), context)
        return prompts, counts
    overhead = count(query, CompletionAsk(prompts=("",), raw=raw))[0]
    tokenizer = query.service.tokenizer(query.deployment)
    room = max(0, context - 1 - overhead)
    cut = tuple(
        prompt if number < context else tokenizer.decode(tokenizer.encode(prompt)[:room])
        for prompt, number in zip(prompts, counts, strict=True)
    )
    return cut, tuple(min(number, context - 1) for number in counts)


def _check_fit(query: Query, longest: int, context: int) -> None:
    if longest > context:
        raise prompt_too_long(query, longest, "prompt")
    wanted = query.get("max_tokens", 0)
    if longest + wanted > context:
        text = (
            "Bad request: rpc error: code = InvalidArgument desc = prompt token count"
            f" ({longest}) plus max_tokens ({wanted}) cannot exceed {context}."
        )
        raise EmulatedError(ErrorKind.CONTEXT_LENGTH, text, "max_tokens")  # wording unverified


def _read_frame(query: Query) -> JSON:
    """What goes around each completion's text: the prompts to repeat, and the suffix."""
    prompt = query.body["prompt"]
    prompts = [prompt] if isinstance(prompt, str) else prompt
    return (prompts if query.get("echo") else None, query.get("suffix", ""))


class CompletionsCodec:
    """Words completions plans; ``index`` is the position of the prompt, also with several answers to each."""

    def render(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireResponse:
        reply: Reply = call.context
        body = {
            "id": f"cmpl_{draw_uuid(plan.key, 'completion')}",
            "object": "text_completion",
            "created": int(plan.created),
            "model": reply.model,
            "choices": [_shape_choice(choice, reply) for choice in plan.choices],
            "usage": shape_usage(plan.usage, reply),
        }
        return WireResponse(200, dump_json(body), answer_headers(call, service))

    def stream(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireStream:
        return WireStream(_events(plan, call.context), answer_headers(call, service, stream=True))


_CODEC = CompletionsCodec()


def _shape_choice(choice: Choice, reply: Reply) -> JSON:
    echo, suffix = reply.extra
    text = f"{echo[choice.prompt] if echo else ''}{choice.text()}{choice.text('refusal')}{suffix}"
    return {"index": choice.prompt, "text": text, "finish_reason": choice.finish_reason, "logprobs": None}


def _events(plan: Plan, reply: Reply) -> Iterator[tuple[float, bytes]]:
    """A chunk for each piece of text, with usage so far, and a last one that says why it ended."""
    prefix = (
        f'data: {{"id":"cmpl_{draw_uuid(plan.key, "completion")}","object":"text_completion",'
        f'"created":{int(plan.created)},"model":'
    ).encode() + quote(reply.model)
    choices = [_pieces(choice, number, reply) for number, choice in enumerate(plan.choices)]
    counts = [0] * len(choices)
    prompt = plan.usage.prompt_tokens
    left = len(choices)
    last = 0.0
    pieces = choices[0] if left == 1 else merge(*choices, key=lambda piece: (piece[0], piece[2]))
    for last, number, tokens, body in pieces:
        counts[number] = tokens
        left -= body.endswith(_END)
        usage = b""
        if not left and reply.usage_style != "none":
            usage = b',"usage":' + dump_json(shape_usage(plan.usage, reply))
        elif reply.usage_style == "every":
            done = sum(counts)
            usage = b',"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (
                prompt,
                done,
                prompt + done,
            )
        yield last, b'%b,"choices":[%b]%b}\n\n' % (prefix, body, usage)
    yield last, DONE


_OPEN = b'"finish_reason":null,"logprobs":null}'
_END = b'","logprobs":null}'


def _pieces(choice: Choice, number: int, reply: Reply) -> Iterator[tuple[float, int, int, bytes]]:
    echo, suffix = reply.extra
    before = b'{"index":%d,"text":' % choice.prompt
    due = choice.due
    if echo and echo[choice.prompt]:
        yield due[0] if len(due) else 0.0, number, 0, b"%b%b,%b" % (before, quote(echo[choice.prompt]), _OPEN)
    for position, token in enumerate(choice.tokens):
        if token:
            yield due[position], number, position + 1, b"%b%b,%b" % (before, quote(token), _OPEN)
    end = due[-1] if len(due) else 0.0
    if suffix:
        yield end, number, len(choice.tokens), b"%b%b,%b" % (before, quote(suffix), _OPEN)
    finish = b'%b"","finish_reason":"%b%b' % (before, choice.finish_reason.encode(), _END)
    yield end, number, len(choice.tokens), finish
