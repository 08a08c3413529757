"""``POST /completions``: text to go on with. Source: Azure Machine Learning reference, Completions."""

from collections.abc import Iterator
from heapq import merge
from operator import itemgetter

from emulator.core.call import CompletionAsk
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.seed import draw_alphanumeric, draw_hex
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.sse import DONE, quote
from emulator.vendors.azure.catalogue import is_openai, model_name
from emulator.vendors.azure.chat.fields import validate
from emulator.vendors.azure.chat.parse import read_sampling
from emulator.vendors.azure.chat.shapes import count_usage
from emulator.vendors.azure.chat.stream import last_due
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.extras import CompletionExtras, StrictCompletionExtras
from emulator.vendors.azure.features import check_penalties, check_range, limit_tokens
from emulator.vendors.azure.fields import CompletionRequest, StrictCompletionRequest, check_tokens, read_texts
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.request import AzureService, admit, read_extras

DEFAULT_TOKENS = 256
_KNOWN = frozenset(CompletionRequest.model_fields)
_NATIVE = frozenset(CompletionExtras.model_fields)


def parse_completions(request: WireRequest, service: AzureService) -> Call:
    """One prompt or several; the longest of them decides how much room is left for each answer."""
    settings = service.settings
    deployment, body = admit(request, service, "completions")
    wire = validate(StrictCompletionRequest if settings.strict_types else CompletionRequest, body)
    if errors := check_range(wire, settings):
        raise refusals.breaks_schema(errors)
    handed_on = read_extras(request, service, body, _KNOWN, _NATIVE, deployment)
    extras = validate(StrictCompletionExtras if settings.strict_types else CompletionExtras, handed_on)
    check_penalties(wire, deployment)
    prompts = read_texts(wire.prompt)
    check_tokens(prompts, "prompt", service, deployment)
    prompt_tokens = service.count_prompt(CompletionAsk(prompts=prompts), deployment)
    default = DEFAULT_TOKENS if deployment.default_max_tokens is None else deployment.default_max_tokens
    limit = limit_tokens(wire.max_tokens, default, deployment, max(prompt_tokens), settings)
    openai = is_openai(deployment, settings)
    options = extras.stream_options
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(prompts=prompts, sampling=read_sampling(wire, extras, limit, extras.logprobs)),
        codec=COMPLETIONS,
        stream=bool(wire.stream),
        prompt_tokens=prompt_tokens,
        repeatable=True,
        context={"usage": not openai or bool(options and options.include_usage), "openai": openai},
    )


class CompletionCodec:
    """Streamed and in one piece the same keys."""

    def render(self, plan: Plan, call: Call, service: AzureService) -> WireResponse:
        choices = [
            _shape(choice, index, "" if choice.finish_reason == "content_filter" else choice.text())
            for index, choice in enumerate(plan.choices)
        ]
        body = {**_head(plan, call), "choices": choices, **_tail(plan), "usage": count_usage(plan)}
        return WireResponse(200, dump_json(body), answer_headers(plan, call, service))

    def stream(self, plan: Plan, call: Call, service: AzureService) -> WireStream:
        return WireStream(_events(plan, call), answer_headers(plan, call, service, stream=True))


COMPLETIONS = CompletionCodec()


def _head(plan: Plan, call: Call) -> JSON:
    openai = call.context["openai"]
    answer_id = f"cmpl-{draw_alphanumeric(plan.key, 29, 'cmpl')}" if openai else draw_hex(plan.key, "cmpl")
    return {"id": answer_id, "model": model_name(call.deployment)}


def _tail(plan: Plan) -> JSON:
    return {"created": int(plan.created), "object": "text_completion"}


def _shape(choice: Choice, index: int, text: str) -> JSON:
    shaped = {"index": index, "finish_reason": choice.finish_reason, "text": text}
    if choice.logprobs is not None:
        shaped["logprobs"] = _shape_logprobs(choice, 0, len(choice.tokens))
    return shaped


def _shape_logprobs(choice: Choice, start: int, end: int) -> JSON:
    """Columns over ``tokens[start:end]``; ``text_offset`` counts characters of the answer."""
    entries = (choice.logprobs or ())[start:end]
    offset = len("".join(choice.tokens[:start]))
    offsets = []
    for entry in entries:
        offsets.append(offset)
        offset += len(entry.token)
    return {
        "tokens": [entry.token for entry in entries],
        "token_logprobs": [entry.logprob for entry in entries],
        "top_logprobs": [dict(entry.top) for entry in entries],
        "text_offset": offsets,
    }


def _events(plan: Plan, call: Call) -> Iterator[tuple[float, bytes]]:
    before = b'data: %b,"choices":[{"index":' % dump_json(_head(plan, call))[:-1]
    after = b"}],%b" % dump_json(_tail(plan))[1:-1]
    usage = b',"usage":%b' % dump_json(count_usage(plan)) if call.context["usage"] else b""
    end = max((last_due(choice, plan), index) for index, choice in enumerate(plan.choices))
    streams = [
        _say(choice, index, plan, before, after, usage if index == end[1] else b"")
        for index, choice in enumerate(plan.choices)
    ]
    yield from streams[0] if len(streams) == 1 else merge(*streams, key=itemgetter(0))
    yield end[0], DONE


def _say(
    choice: Choice, index: int, plan: Plan, before: bytes, after: bytes, usage: bytes
) -> Iterator[tuple[float, bytes]]:
    opening = b'%b%d,"finish_reason":null,"text":' % (before, index)
    closing = after + b"}\n\n"
    shown = 0
    for position, token in enumerate(choice.tokens):
        if not token:
            continue
        if choice.logprobs is None:
            yield choice.due[position], opening + quote(token) + closing
        else:
            logprobs = dump_json(_shape_logprobs(choice, shown, position + 1))
            shown = position + 1
            yield choice.due[position], b'%b%b,"logprobs":%b%b' % (opening, quote(token), logprobs, closing)
    reason = quote(choice.finish_reason)
    yield last_due(choice, plan), b'%b%d,"finish_reason":%b,"text":""%b%b}\n\n' % (before, index, reason, after, usage)
