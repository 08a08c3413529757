"""``POST /v1/completions``: from the wire to a call, and its answers.

Source: text-generation-inference, ``router/src/lib.rs`` (CompletionRequest) and ``router/src/server.rs``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from typing import Any

from emulator.core.call import CompletionAsk
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.record import record
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.sse import DONE, quote
from emulator.dialects.tgi import check_ready, report_counts, serves
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.codec import name_finish, shape_usage
from emulator.vendors.tgi.chat.parse import read_parameters
from emulator.vendors.tgi.decoder import Field, Mismatch
from emulator.vendors.tgi.errors import CORS
from emulator.vendors.tgi.generate.codec import compute_headers, finish, stream_headers
from emulator.vendors.tgi.generate.parse import validate
from emulator.vendors.tgi.settings import TgiSettings

_PROMPTS = serde.untagged("PromptDeserializer", serde.string, serde.sequence(serde.string))


def _prompt(value: JSON) -> list[str]:
    found = _PROMPTS(value)
    if found == []:
        raise Mismatch("Empty array detected. Do not use an empty array for the prompt.")
    return [found] if isinstance(found, str) else found


COMPLETION_REQUEST = serde.struct(
    "CompletionRequest",
    (
        Field("model", serde.option(serde.string)),
        Field("prompt", _prompt, required=True),
        Field("max_tokens", serde.option(serde.u32)),
        Field("temperature", serde.option(serde.f32)),
        Field("top_p", serde.option(serde.f32)),
        Field("stream", serde.boolean, False),
        Field("seed", serde.option(serde.u64)),
        Field("suffix", serde.option(serde.string)),
        Field("repetition_penalty", serde.option(serde.f32)),
        Field("frequency_penalty", serde.option(serde.f32)),
        Field("stop", serde.option(serde.sequence(serde.string))),
    ),
)


@record(frozen=True, slots=True, kw_only=True)
class Completions:
    """What the codec remembers: most tokens of each answer, and characters of all prompts."""

    limits: tuple[int, ...]
    characters: int
    model: str


def parse_completions(request: WireRequest, service: Service[TgiSettings, None]) -> Call | WireResponse:
    return parse_completions_body(request, service, serde.read(request, COMPLETION_REQUEST))


def parse_completions_body(request: WireRequest, service: Service[TgiSettings, None], body: Mapping[str, Any]) -> Call:
    """A read :data:`COMPLETION_REQUEST`."""
    prompts: Sequence[str] = body["prompt"]
    if body["suffix"] is not None:
        raise _refuse(
            "Suffix is not supported and can be achieved by preprocessing the prompt.", "suffix not supported", "suffix"
        )
    most = service.settings.max_client_batch_size
    if len(prompts) > most:
        text = f"Number of prompts exceeds the maximum allowed batch size of {most}"
        raise _refuse(text, "batch size exceeded", "prompt")
    deployments = tuple(service.deployments.values())
    deployment = check_ready(serves(deployments, body["model"] or ""))
    parameters = read_parameters(body)
    stream = body["stream"]
    found = [validate(service, deployment, prompt, parameters, stream=stream, weighed=False) for prompt in prompts]
    limits = tuple(valid.limit for valid in found)
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(prompts=tuple(prompts), sampling=replace(found[0].sampling, max_tokens=max(limits))),
        codec=COMPLETIONS,
        stream=stream,
        prompt_tokens=tuple(valid.count for valid in found),
        context=Completions(limits=limits, characters=sum(map(len, prompts)), model=serves(deployments).name),
        repeatable=True,
    )


def _refuse(text: str, error_type: str, param: str) -> EmulatedError:
    details = {"streamed": False, "error_type": error_type}
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message=text, param=param, details=details)


class CompletionsCodec:
    """Text completions: one choice per prompt."""

    def render(self, plan: Plan, call: Call, service: Service[TgiSettings, None]) -> WireResponse:
        asked: Completions = call.context
        choices = [
            {
                "index": choice.prompt,
                "text": choice.text(),
                "logprobs": None,
                "finish_reason": name_finish(choice, asked.limits[choice.prompt]),
            }
            for choice in plan.choices
        ]
        counts = sum(call.prompt_tokens), sum(len(choice.ids) for choice in plan.choices)
        usage = shape_usage(*report_counts(plan, *counts))
        body = _shape(plan, asked, service.settings, choices=choices, usage=usage)
        computed = compute_headers(plan, call, service, asked.characters)
        headers = (pair for pair in computed if pair[0] != "x-compute-time")
        return WireResponse(200, dump_json(body), (("content-type", "application/json"), *headers, *CORS))

    def stream(self, plan: Plan, call: Call, service: Service[TgiSettings, None]) -> WireStream:
        asked: Completions = call.context
        return WireStream(_stream(plan, call, service), stream_headers(service, asked.characters))


COMPLETIONS = CompletionsCodec()


def _shape(plan: Plan, asked: Completions, settings: TgiSettings, *, choices: JSON, usage: JSON) -> JSON:
    return {
        "object": "text_completion",
        "id": "",
        "created": int(plan.created),
        "model": asked.model,
        "system_fingerprint": settings.fingerprint,
        "choices": choices,
        "usage": usage,
    }


def _stream(plan: Plan, call: Call, service: Service[TgiSettings, None]) -> Iterator[tuple[float, bytes]]:
    """The choices' chunks as they come due; the last chunk of each carries its token counts."""
    streams = [_stream_choice(plan, choice, call, service.settings) for choice in plan.choices]
    yield from merge(*streams, key=lambda pair: pair[0])
    yield max((choice.due[-1] for choice in plan.choices if choice.tokens), default=plan.due), DONE


def _stream_choice(plan: Plan, choice: Choice, call: Call, settings: TgiSettings) -> Iterator[tuple[float, bytes]]:
    asked: Completions = call.context
    tail = dump_json({"model": asked.model, "system_fingerprint": settings.fingerprint})[1:]
    head = b'data: {"object":"text_completion","id":"","created":%d,"choices":[{"index":%d,"text":' % (
        int(plan.created),
        choice.prompt,
    )
    last = len(choice.tokens) - 1
    for index, token in enumerate(choice.tokens):
        if index < last:
            yield choice.due[index], b'%b%b,"logprobs":null,"finish_reason":""}],%b\n\n' % (head, quote(token), tail)
    if choice.tokens:
        row = {
            "index": choice.prompt,
            "text": choice.tokens[last],
            "logprobs": None,
            "finish_reason": finish(choice, asked.limits[choice.prompt]),
        }
        usage = shape_usage(call.prompt_tokens[choice.prompt], len(choice.ids))
        final = _shape(plan, asked, settings, choices=[row], usage=usage)
        yield choice.due[last], b"data: %b\n\n" % dump_json(final)
