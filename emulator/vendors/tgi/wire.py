"""``POST /``, ``/generate`` and ``/generate_stream``: from the wire to a call.

Source: text-generation-inference, ``router/src/lib.rs``, ``router/src/validation.rs`` and
``router/src/server.rs``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emulator.core.call import Call, CompletionAsk, Deployment, Sampling
from emulator.core.json import JSON
from emulator.core.record import record
from emulator.core.vendor import Codec, Service, WireRequest, WireResponse
from emulator.dialects.tgi import check_ready, join_prompt, serves, split_prompt
from emulator.vendors.tgi import serde
from emulator.vendors.tgi.errors import refuse
from emulator.vendors.tgi.grammar import Grammar, grammar_type, read_grammar
from emulator.vendors.tgi.render import GENERATE, GENERATE_ARRAY, Generation
from emulator.vendors.tgi.serde import Field
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
    Field(f.name, serde.u32, OLD_LENGTH) if f.name == "max_new_tokens" else f for f in _PARAMETERS if f.name not in _NEW
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


def parse_root(request: WireRequest, service: Service[TgiSettings]) -> Call | WireResponse:
    """``POST /``: streams if the body says so, else answers with an array of one."""
    settings = service.settings
    return parse_compat(request, service, serde.read(request, _OLD_COMPAT if settings.old else COMPAT))


def parse_compat(request: WireRequest, service: Service[TgiSettings], body: Mapping[str, JSON]) -> Call:
    """A read :data:`COMPAT` request."""
    return _parse(request, service, body, body["stream"], GENERATE_ARRAY, echoes=service.settings.echoes)


def parse_generate(request: WireRequest, service: Service[TgiSettings]) -> Call | WireResponse:
    body = serde.read(request, _OLD_PLAIN if service.settings.old else PLAIN)
    return _parse(request, service, body, False, GENERATE, echoes=False)


def parse_generate_stream(request: WireRequest, service: Service[TgiSettings]) -> Call | WireResponse:
    body = serde.read(request, _OLD_PLAIN if service.settings.old else PLAIN)
    return _parse(request, service, body, True, GENERATE, echoes=False)


def _parse(
    request: WireRequest,
    service: Service[TgiSettings],
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
    service: Service[TgiSettings],
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
    best_of = _check_best_of(parameters, settings, stream=stream)
    _check_sampling(parameters, best_of, settings)
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
        sampling=_shape_sampling(parameters, best_of, limit, stream=stream, weighed=weighed),
        seeded=_samples(parameters),
    )


def _check_best_of(parameters: Mapping[str, Any], settings: TgiSettings, *, stream: bool) -> int:
    best_of = 1 if parameters["best_of"] is None else int(parameters["best_of"])
    if stream:
        if best_of != 1:
            text = "`best_of` != 1 is not supported when streaming tokens"
            raise refuse(text, "best_of", streamed=True, unfinished=True)
        if parameters["decoder_input_details"]:
            text = "`decoder_input_details` == true is not supported when streaming tokens"
            raise refuse(text, "decoder_input_details", streamed=True, unfinished=True)
    if best_of > 1:
        if settings.max_best_of == 1:
            raise refuse("`best_of` != 1 is not allowed for this endpoint", "best_of")
        if best_of > settings.max_best_of:
            raise refuse(f"`best_of` must be > 0 and <= {settings.max_best_of}. Given: {best_of}", "best_of")
    return max(1, best_of)


_NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "typical_p": 1.0}


def _asks_sampling(parameters: Mapping[str, Any]) -> bool:
    return parameters["do_sample"] or any([parameters[field] is not None for field in _NEUTRAL])


def _samples(parameters: Mapping[str, Any]) -> bool:
    """The model server samples only where a field differs from what means no sampling."""
    return parameters["do_sample"] or any([parameters[f] not in (None, value) for f, value in _NEUTRAL.items()])


# Bounds of what rounds to 0, to 1 and to 2 in single precision, which is what the router compares.
_ZERO = 2.0**-150
_ONE = 1.0 - 2.0**-25
_TWO = 2.0 + 2.0**-23
_CHECKS: Sequence[tuple[str, Callable[[Any], bool], str]] = (
    ("temperature", lambda v: v > _ZERO, "must be strictly positive"),
    ("repetition_penalty", lambda v: v > _ZERO, "must be strictly positive"),
    ("frequency_penalty", lambda v: -_TWO <= v <= _TWO, "must be >= -2.0 and <= 2.0"),
    ("top_p", lambda v: _ZERO < v < _ONE, "must be > 0.0 and < 1.0"),
    ("typical_p", lambda v: _ZERO < v < _ONE, "must be > 0.0 and < 1.0"),
    ("top_k", lambda v: v > 0, "must be strictly positive"),
    ("max_new_tokens", lambda v: v != 0, "must be strictly positive"),
)


def _check_sampling(parameters: Mapping[str, Any], best_of: int, settings: TgiSettings) -> None:
    if best_of > 1 and not _asks_sampling(parameters):
        raise refuse("you must use sampling when `best_of` is > 1", "best_of")
    for name, fits, words in _CHECKS:
        value = parameters[name]
        if value is not None and not fits(value):
            raise refuse(f"`{name}` {words}", name)
    stops = len(parameters["stop"])
    if stops > settings.max_stop_sequences:
        raise refuse(f"`stop` supports up to {settings.max_stop_sequences} stop sequences. Given: {stops}", "stop")
    if best_of > 1 and parameters["seed"] is not None:
        raise refuse("`seed` must not be set when `best_of` > 1", "seed")
    top = parameters["top_n_tokens"]
    if top is not None and top > settings.max_top_n_tokens:
        text = f"`top_n_tokens` must be >= 0 and <= {settings.max_top_n_tokens}. Given: {top}"
        raise refuse(text, "top_n_tokens")


def _measure_limit(settings: TgiSettings, deployment: Deployment, count: int, asked: int | None) -> int:
    """Refuse a prompt there is no room for, and say how long the answer may get.

    From 2.0 on the router schedules 1024 tokens at a time, and only the first lot must fit.
    """
    total = deployment.context or settings.max_total_tokens
    most = min(settings.max_input_tokens, total - 1) if total <= settings.max_total_tokens else total - 1
    wanted = max(0, total - count) if asked is None else asked
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


_KNOBS = ("temperature", "repetition_penalty", "frequency_penalty", "top_k", "top_p", "typical_p")


def _shape_sampling(
    parameters: Mapping[str, Any], best_of: int, limit: int, *, stream: bool, weighed: bool | None
) -> Sampling:
    if weighed is None:
        weighed = stream or best_of > 1 or parameters["details"] or parameters["decoder_input_details"]
    return Sampling(
        max_tokens=limit,
        greedy=not _samples(parameters) or parameters["top_k"] == 1,
        seed=parameters["seed"],
        knobs=tuple([(knob, parameters[knob]) for knob in _KNOBS if parameters[knob] is not None]),
        stop=tuple(filter(None, parameters["stop"])),
        keep_stop=True,
        show_eos=True,
        n=best_of,
        logprobs=(parameters["top_n_tokens"] or 0) if weighed else None,
    )
