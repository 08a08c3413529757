"""Validate a prompt and its parameters as TGI's router does before generation, and limit the response's tokens.

The parsers of all generating routes call it: ``chat/``, ``generate/``, ``completions.py``. From 2.0 on the router
schedules a response in chunks of at most ``PREFILL_CHUNK`` tokens.

Source: text-generation-inference, ``router/src/validation.rs``.
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.requests import CompletionRequest, Deployment, Sampling
from emulator.protocols.tgi import join_prompt, split_prompt
from emulator.vendors.tgi.errors import refusal
from emulator.vendors.tgi.generate.fields import Parameters
from emulator.vendors.tgi.grammar import Grammar, parse_grammar
from emulator.vendors.tgi.images import has_vision, take_pictures
from emulator.vendors.tgi.sampling import build_sampling, is_sampled, validate_best_of, validate_sampling
from emulator.vendors.tgi.settings import TgiService, TgiSettings

PREFILL_CHUNK = 1024  # tokens per scheduling step of the router
_OLD_LENGTH = 20  # default of max_new_tokens in 0.9.4


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Prompt after validation: its text, its tokens, and the number of its images.

    Fields:
        count: number of tokens.
        ids: token ids, if the response shows them.
        media: number of images.
    """

    text: str
    count: int
    ids: tuple[int, ...] = ()
    media: int = 0


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """Validated request.

    Fields:
        limit: maximum tokens of the response.
        sampled: decoding samples, else it is greedy.
    """

    prompt: Prompt
    limit: int
    sampling: Sampling
    sampled: bool
    grammar: Grammar | None


def validate_started(deployment: Deployment) -> Deployment:
    """Return the deployment if its router answers, which needs no model server.

    Raises:
        EmulatedError: it is loading; the router starts when the model is loaded.
    """
    if deployment.state == "loading":
        raise EmulatedError(ErrorKind.NOT_READY, details={"state": deployment.state})
    return deployment


def _validate_model_server(deployment: Deployment) -> None:
    """Raise if the model server behind the router is gone: stopped or retired.

    Source: text-generation-inference, ``backends/v3/src/client/mod.rs`` (ClientError); the words behind the first colon
    are those of issue 1207 there, for a server that was killed.
    """
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY, details={"state": deployment.state, "gone": True})


def parse_request(
    service: TgiService,
    deployment: Deployment,
    inputs: str | Prompt,
    parameters: Parameters,
    *,
    stream: bool,
    logprobs: bool,
) -> ParsedRequest:
    """Run all checks of the router, in its order.

    Args:
        inputs: text as sent, or a conversation already counted.
        logprobs: the response has log-probabilities.
    """
    settings = service.settings
    best_of = validate_best_of(parameters, settings, stream=stream)
    validate_sampling(parameters, best_of, settings)
    prompt = _parse_prompt(service, deployment, inputs, parameters) if isinstance(inputs, str) else inputs
    limit = measure_limit(settings, deployment, prompt.count, parameters.max_new_tokens, parameters.truncate)
    sampled = is_sampled(parameters)
    grammar = parse_grammar(parameters.grammar, settings)
    _validate_model_server(deployment)
    return ParsedRequest(
        prompt=prompt,
        limit=limit,
        grammar=grammar,
        sampling=build_sampling(parameters, best_of, limit, sampled=sampled, logprobs=logprobs),
        sampled=sampled,
    )


def _parse_prompt(service: TgiService, deployment: Deployment, inputs: str, parameters: Parameters) -> Prompt:
    """Parse the prompt; ``truncate`` removes tokens at its start."""
    settings = service.settings
    if not inputs:
        raise refusal("`inputs` cannot be empty", "inputs")
    truncate = parameters.truncate
    if truncate is not None and not 0 < truncate <= settings.max_input_tokens:
        limit = settings.max_input_tokens
        raise refusal(f"`truncate` must be strictly positive and less than {limit}. Given: {truncate}", "truncate")
    inputs, media = take_pictures(inputs) if has_vision(deployment) else (inputs, 0)
    (count,) = service.count_prompt(CompletionRequest(prompts=(inputs,), media=media), deployment)
    shown = parameters.decoder_input_details and settings.enable_prefill_logprobs
    if not shown and (truncate is None or truncate >= count):
        return Prompt(text=inputs, count=count, media=media)
    rows = split_prompt(service.tokenizer(deployment), inputs)
    text, ids = join_prompt(rows[-(truncate or len(rows)) :])
    return Prompt(text=text, count=min(count, truncate or count), ids=ids if shown else (), media=media)


def measure_input(settings: TgiSettings, deployment: Deployment) -> tuple[int, int]:
    """Return the maximum tokens of a prompt, and of prompt and response together."""
    total = deployment.context or settings.max_total_tokens
    limit = min(settings.max_input_tokens, total - 1) if total <= settings.max_total_tokens else total - 1
    return limit, total


def measure_limit(
    settings: TgiSettings, deployment: Deployment, count: int, asked: int | None, truncate: int | None = None
) -> int:
    """Raise if the prompt is too long; return the maximum tokens of the response.

    From 2.0 on the router schedules 1024 tokens at a time, and only the first chunk has to fit. A response that reaches
    the end of a chunk becomes part of the prompt of the next, which has the size of the first: the response grows by
    whole chunks until it has the tokens asked for, or until a chunk does not fit.

    Source: text-generation-inference, ``router/src/validation.rs:136-178`` (validate_input) and
    ``router/src/infer/mod.rs:148-187`` (generate_stream).

    Args:
        truncate: maximum tokens of the prompt, each time it is read.
    """
    prompt_limit, total = measure_input(settings, deployment)
    wanted = asked or deployment.default_max_tokens
    if settings.old:
        wanted = wanted or _OLD_LENGTH
        _validate_lengths(count, wanted, prompt_limit, total)
        limit = min(wanted, total - count)
    else:
        limit = _measure_chunks(count, wanted, prompt_limit, total, truncate)
    return max(1, min(limit, deployment.max_output or limit))


def _measure_chunks(count: int, wanted: int | None, prompt_limit: int, total: int, truncate: int | None) -> int:
    """Return the tokens of all chunks of a response; the first one raises if it does not fit."""
    goal = max(0, total - count) if wanted is None else wanted
    first = min(goal, PREFILL_CHUNK)
    _validate_lengths(count, first, prompt_limit, total)
    generated = first
    while generated < goal:
        length = min(count + generated, truncate or total)
        chunk = min(total - length if wanted is None else wanted, PREFILL_CHUNK)
        if chunk <= 0 or length + chunk > total or length > prompt_limit:
            break
        generated += chunk
    return generated


def _validate_lengths(count: int, first: int, prompt_limit: int, total: int) -> None:
    if count + first > total:
        text = (
            f"`inputs` tokens + `max_new_tokens` must be <= {total}. "
            f"Given: {count} `inputs` tokens and {first} `max_new_tokens`"
        )
        raise refusal(text, "max_new_tokens")
    if count > prompt_limit:
        raise refusal(f"`inputs` must have less than {prompt_limit} tokens. Given: {count}", "inputs")
