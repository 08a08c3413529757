"""``POST /completions``: parse a request, and render text completions.

Source: Azure Machine Learning reference, Completions.
"""

from collections.abc import Iterator

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.requests import CompletionRequest
from emulator.core.rng import draw_alphanumeric, draw_hex
from emulator.encoding import sse
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import DONE, FINISH, PLAIN, USAGE, TextRun, interleave, last_due, token_events
from emulator.vendors.azure.bodies import CompletionBody, StrictCompletionBody, parse_inputs, validate_tokens
from emulator.vendors.azure.chat.shapes import build_harms, build_prompt_results, count_usage
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.extra_parameters import CompletionExtras, StrictCompletionExtras
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import parse_extras, parse_request
from emulator.vendors.azure.sampling import find_beyond_range, limit_tokens, parse_sampling, validate_penalties

DEFAULT_TOKENS = 256
_KNOWN = frozenset(CompletionBody.model_fields)
_NATIVE = frozenset(CompletionExtras.model_fields)
_FINISH_WITH_USAGE = FINISH | USAGE


def parse_completions(request: Request, service: AzureService) -> InferenceCall:
    """Parse a request with one or several prompts; the longest one limits the tokens of every answer."""
    parsed = parse_request(request, service, "completions")
    settings, deployment, profile = parsed.settings, parsed.deployment, parsed.profile
    wire = validate(StrictCompletionBody if settings.strict_types else CompletionBody, parsed.body)
    if settings.strict_range and (errors := find_beyond_range(wire)):
        raise refusals.breaks_schema(errors)
    extra_fields = parse_extras(parsed, _KNOWN, _NATIVE)
    extras = validate(StrictCompletionExtras if settings.strict_types else CompletionExtras, extra_fields)
    validate_penalties(wire, profile)
    prompts = parse_inputs(wire.prompt)
    validate_tokens(prompts, "prompt", service, deployment)
    prompt_tokens = service.count_prompt(CompletionRequest(prompts=prompts), deployment)
    default = DEFAULT_TOKENS if deployment.default_max_tokens is None else deployment.default_max_tokens
    limit = limit_tokens(wire.max_tokens, default, deployment, settings, max(prompt_tokens))
    return InferenceCall(
        deployment=deployment,
        request=CompletionRequest(prompts=prompts, sampling=parse_sampling(wire, extras, limit, extras.logprobs)),
        codec=CompletionsCodec(profile, usage=not profile.openai or extras.include_usage),
        stream=bool(wire.stream),
        prompt_tokens=prompt_tokens,
        repeatable=True,
    )


@fast_dataclass(frozen=True, slots=True)
class CompletionsCodec:
    """Codec of text completions; ``usage``: a stream ends with token counts."""

    profile: DeploymentProfile
    usage: bool

    def render(self, plan: Plan, request: Request) -> Response:
        if self.profile.openai:
            body = dump_json(_shape_openai(plan, self.profile))
            return Response(200, body, answer_headers(plan, request, self.profile))
        choices = [
            _shape(choice, index, "" if choice.finish_reason == "content_filter" else choice.text())
            for index, choice in enumerate(plan.choices)
        ]
        shape: Object = {**_head(plan, self.profile), "choices": choices, **_tail(plan), "usage": count_usage(plan)}
        return Response(200, dump_json(shape), answer_headers(plan, request, self.profile))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = answer_headers(plan, request, self.profile, stream=True)
        return StreamingResponse(_stream_choices(plan, self.profile, self.usage), headers)


def _shape_openai(plan: Plan, profile: DeploymentProfile) -> Object:
    """Return a response of Azure OpenAI: keys in alphabetical order, with the results of the content filter."""
    choices: list[Object] = [
        {
            **({"content_filter_results": build_harms(choice)} if profile.filtered else {}),
            "finish_reason": choice.finish_reason,
            "index": index,
            "logprobs": None if choice.logprobs is None else _shape_logprobs(choice, 0, len(choice.tokens)),
            "text": "" if choice.finish_reason == "content_filter" else choice.text(),
        }
        for index, choice in enumerate(plan.choices)
    ]
    prompts = 1 + max((choice.prompt for choice in plan.choices), default=0)
    return {
        "choices": choices,
        "created": int(plan.created),
        **_head(plan, profile),
        "object": "text_completion",
        **({"prompt_filter_results": build_prompt_results(prompts)} if profile.filtered else {}),
        "usage": count_usage(plan),
    }


def _head(plan: Plan, profile: DeploymentProfile) -> Object:
    answer_id = f"cmpl-{draw_alphanumeric(plan.key, 29, 'cmpl')}" if profile.openai else draw_hex(plan.key, "cmpl")
    return {"id": answer_id, "model": profile.model}


def _tail(plan: Plan) -> Object:
    return {"created": int(plan.created), "object": "text_completion"}


def _shape(choice: Choice, index: int, text: str) -> JSON:
    shaped: Object = {"index": index, "finish_reason": choice.finish_reason, "text": text}
    if choice.logprobs is not None:
        shaped["logprobs"] = _shape_logprobs(choice, 0, len(choice.tokens))
    return shaped


def _shape_logprobs(choice: Choice, start: int, end: int) -> JSON:
    """Return logprobs as columns over ``tokens[start:end]``; ``text_offset`` counts characters of the answer."""
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


def _stream_choices(plan: Plan, profile: DeploymentProfile, usage: bool) -> Iterator[Event]:
    before = b'data: %b,"choices":[{"index":' % dump_json(_head(plan, profile))[:-1]
    shared = {**_tail(plan), **({"usage": None} if usage and profile.openai else {})}
    after = b"}],%b" % dump_json(shared)[1:-1]
    end, last = max((last_due(choice, plan.due), index) for index, choice in enumerate(plan.choices))
    counts = b',"usage":%b' % dump_json(count_usage(plan)) if usage and not profile.openai else b""
    yield from interleave(
        [
            _stream_choice(
                choice,
                index,
                last_due(choice, plan.due),
                before,
                after,
                counts if index == last else b"",
                openai=profile.openai,
            )
            for index, choice in enumerate(plan.choices)
        ]
    )
    if usage and profile.openai:
        shape: Object = {**_head(plan, profile), "choices": [], **_tail(plan), "usage": count_usage(plan)}
        yield end, sse.encode_event(shape), 0, USAGE
    yield end, sse.DONE, 0, DONE


def _stream_choice(
    choice: Choice, index: int, end: float, before: bytes, after: bytes, usage: bytes, *, openai: bool
) -> Iterator[Event]:
    opening = b'%b%d,"finish_reason":null,"text":' % (before, index)
    if choice.logprobs is None:
        none = b',"logprobs":null' if openai else b""
        yield from token_events(choice, TextRun("text", 0, len(choice.tokens)), opening, none + after + b"}\n\n")
    else:
        yield from _stream_logprobs(choice, opening, after)
    closing = b'%b%d,"finish_reason":%b,"text":""%b%b%b}\n\n' % (
        before,
        index,
        encode_string(choice.finish_reason),
        b',"logprobs":null' if openai else b"",
        after,
        usage,
    )
    yield end, closing, len(choice.tokens), _FINISH_WITH_USAGE if usage else FINISH


def _stream_logprobs(choice: Choice, opening: bytes, after: bytes) -> Iterator[Event]:
    """Yield one event per token that has a text; tokens without text are part of the next event."""
    start = 0
    for position, token in enumerate(choice.tokens):
        if token:
            logprobs = dump_json(_shape_logprobs(choice, start, position + 1))
            start = position + 1
            data = b'%b%b,"logprobs":%b%b}\n\n' % (opening, encode_string(token), logprobs, after)
            yield choice.due[position], data, start, PLAIN
