"""``POST /``, ``/generate`` and ``/generate_stream``: from the wire to a call.

Source: text-generation-inference, ``router/src/lib.rs``, ``router/src/validation.rs`` and
``router/src/server.rs``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.core.call import CompletionAsk, Deployment, Sampling
from emulator.core.json import JSON
from emulator.core.record import record
from emulator.core.vendor import Call, Codec, Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.tgi import check_ready, join_prompt, serves, split_prompt
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.errors import refuse
from emulator.vendors.tgi.generate.codec import GENERATE, GENERATE_ARRAY, Generation
from emulator.vendors.tgi.grammar import Grammar, grammar_type, read_grammar
from emulator.vendors.tgi.sampling import check_best_of, check_sampling, samples, shape_sampling
from emulator.vendors.tgi.settings import TgiSettings

CHUNK = 1024  # tokens the router schedules at a time
OLD_LENGTH = 20  # max_new_tokens of 0.9.4 where the request sets none

_PARAMETERS: Sequence[Field] = (
    Field("best_of", serde.option(serde.usize)),
    Field("temperature", serde.option(serde.f32)),
    Field("repetition_penalty", serde.option(serde.f32)),
    Field("frequency_penalty", serde.option(serde.f32)),
    Field("top_k", serde.option(serde.i32)),
    Field("top_p", serde.option(serde.f32)),
    Field("typical_p", serde.option(serde.f32)),
    Field("do_sample", serde.boolean, False),
    Field("max_new_tokens", serde.option(serde.u32)),
    Field("return_full_text", serde.option(serde.boolean)),
    Field("stop", serde.sequence(serde.string), []),
    Field("truncate", serde.option(serde.usize)),
    Field("watermark", serde.boolean, False),
    Field("details", serde.boolean, False),
    Field("decoder_input_details", serde.boolean, False),
    Field("seed", serde.option(serde.u64)),
    Field("top_n_tokens", serde.option(serde.u32)),
    Field("grammar", serde.option(grammar_type)),
    Field("adapter_id", serde.option(serde.string)),
)
_NEW = ("frequency_penalty", "top_n_tokens", "grammar", "adapter_id")  # fields that came after 0.9.4
_OLD_PARAMETERS = tuple(
    Field(f.name, serde.u32) if f.name == "max_new_tokens" else f for f in _PARAMETERS if f.name not in _NEW
)
EMPTY = {f.name: f.default for f in _PARAMETERS}


def _request(name: str, parameters: Sequence[Field], *, stream: bool, sample: bool) -> serde.Type:
    """A request struct; ``sample``: ``do_sample`` where there are no parameters at all."""
    absent = {**EMPTY, **{f.name: f.default for f in parameters}, "do_sample": sample}
    inner = serde.struct("GenerateParameters", parameters, flat=True, absent=EMPTY)
    fields = [Field("inputs", serde.string, required=True), Field("parameters", inner, absent)]
    if stream:
        fields.append(Field("stream", serde.boolean, False))
    return serde.struct(name, fields, flat=True)


COMPAT = _request("CompatGenerateRequest", _PARAMETERS, stream=True, sample=True)
PLAIN = _request("GenerateRequest", _PARAMETERS, stream=False, sample=True)
_OLD_COMPAT = _request("CompatGenerateRequest", _OLD_PARAMETERS, stream=True, sample=False)
_OLD_PLAIN = _request("GenerateRequest", _OLD_PARAMETERS, stream=False, sample=False)


@record(frozen=True, slots=True, kw_only=True)
class Validated:
    """A request that passed every check.

    Fields:
        prompt: as the model reads it, cut if ``truncate`` says so.
        count: its tokens.
        ids: the tokens themselves, where the answer shows them.
        limit: most tokens of the answer.
        seeded: the answer tells its seed, which a greedy one does not.
    """

    prompt: str
    count: int
    ids: tuple[int, ...]
    limit: int
    sampling: Sampling
    seeded: bool
    grammar: Grammar | None


def parse_root(request: WireRequest, service: Service[TgiSettings, None]) -> Call | WireResponse:
    """``POST /``: streams if the body says so, else answers with an array of one."""
    settings = service.settings
    return parse_compat(request, service, serde.read(request, _OLD_COMPAT if settings.old else COMPAT))


def parse_compat(request: WireRequest, service: Service[TgiSettings, None], body: Mapping[str, JSON]) -> Call:
    """A read :data:`COMPAT` request."""
    return _parse(request, service, body, body["stream"], GENERATE_ARRAY, echoes=service.settings.echoes)


def parse_generate(request: WireRequest, service: Service[TgiSettings, None]) -> Call | WireResponse:
    body = serde.read(request, _OLD_PLAIN if service.settings.old else PLAIN)
    return _parse(request, service, body, False, GENERATE, echoes=False)


def parse_generate_stream(request: WireRequest, service: Service[TgiSettings, None]) -> Call | WireResponse:
    body = serde.read(request, _OLD_PLAIN if service.settings.old else PLAIN)
    return _parse(request, service, body, True, GENERATE, echoes=False)


def _parse(
    request: WireRequest,
    service: Service[TgiSettings, None],
    body: Mapping[str, JSON],
    stream: bool,
    codec: Codec,
    *,
    echoes: bool,
) -> Call:
    parameters: Mapping[str, Any] = body["parameters"]
    inputs: str = body["inputs"]
    deployment = check_ready(serves(tuple(service.deployments.values()), parameters["adapter_id"] or ""))
    valid = validate(service, deployment, inputs, parameters, stream=stream)
    echo = echoes if parameters["return_full_text"] is None else parameters["return_full_text"]
    grammar = valid.grammar
    return Call(
        request=request,
        deployment=deployment,
        ask=CompletionAsk(
            prompts=(valid.prompt,),
            sampling=valid.sampling,
            schema=grammar.schema if grammar else None,
            bare=grammar.bare if grammar else False,
        ),
        codec=codec,
        stream=stream,
        prompt_tokens=(valid.count,),
        context=Generation(
            limit=valid.limit,
            details=parameters["details"] or (parameters["decoder_input_details"] and not stream),
            prefill=valid.ids,
            echo=inputs if echo else "",
            characters=len(inputs),
            seed=parameters["seed"],
            seeded=valid.seeded,
            top=parameters["top_n_tokens"] or 0,
        ),
        repeatable=True,
    )


def validate(
    service: Service[TgiSettings, None],
    deployment: Deployment,
    inputs: str,
    parameters: Mapping[str, Any],
    *,
    stream: bool,
    count: int | None = None,
    weighed: bool | None = None,
) -> Validated:
    """Every check of the router, in its order.

    Args:
        count: tokens of a prompt that is already a template's.
        weighed: the answer tells log-probabilities; ``None``: if it has details.
    """
    settings = service.settings
    best_of = check_best_of(parameters, settings, stream=stream)
    check_sampling(parameters, best_of, settings)
    if not inputs:
        raise refuse("`inputs` cannot be empty", "inputs")
    truncate = parameters["truncate"]
    if truncate is not None and not 0 < truncate <= settings.max_input_tokens:
        most = settings.max_input_tokens
        raise refuse(f"`truncate` must be strictly positive and less than {most}. Given: {truncate}", "truncate")
    if count is None:
        (count,) = service.count_prompt(CompletionAsk(prompts=(inputs,)), deployment)
    shown = parameters["decoder_input_details"] and settings.enable_prefill_logprobs
    prompt: str = inputs
    ids: tuple[int, ...] = ()
    if shown or (truncate is not None and truncate < count):
        rows = split_prompt(service.tokenizer(deployment), inputs)
        prompt, ids = join_prompt(rows[-(truncate or len(rows)) :])
        count = min(count, truncate or count)
    limit = _measure_limit(settings, deployment, count, parameters["max_new_tokens"])
    return Validated(
        prompt=prompt,
        count=count,
        ids=ids if shown else (),
        limit=limit,
        grammar=read_grammar(parameters["grammar"], settings),
        sampling=shape_sampling(parameters, best_of, limit, stream=stream, weighed=weighed),
        seeded=samples(parameters),
    )


def measure_input(settings: TgiSettings, deployment: Deployment) -> tuple[int, int]:
    """Most tokens of a prompt, and of prompt and answer together."""
    total = deployment.context or settings.max_total_tokens
    most = min(settings.max_input_tokens, total - 1) if total <= settings.max_total_tokens else total - 1
    return most, total


def _measure_limit(settings: TgiSettings, deployment: Deployment, count: int, asked: int | None) -> int:
    """Refuse a prompt there is no room for, and say how long the answer may get.

    From 2.0 on the router schedules 1024 tokens at a time, and only the first lot must fit.
    """
    most, total = measure_input(settings, deployment)
    if asked is not None:
        wanted = asked
    elif settings.old:
        wanted = deployment.default_max_tokens or OLD_LENGTH
    else:
        wanted = max(0, min(total - count, deployment.default_max_tokens or total))
    first = wanted if settings.old else min(wanted, CHUNK)
    if count + first > total:
        text = (
            f"`inputs` tokens + `max_new_tokens` must be <= {total}. "
            f"Given: {count} `inputs` tokens and {first} `max_new_tokens`"
        )
        raise refuse(text, "max_new_tokens")
    if count > most:
        raise refuse(f"`inputs` must have less than {most} tokens. Given: {count}", "inputs")
    bounds = [wanted, total - count, *([deployment.max_output] if deployment.max_output else [])]
    return max(1, min(bounds))
