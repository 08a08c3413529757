"""Validate the sampling fields of text graphs, apply the engine's own checks, and build the sampling.

Source: model_server, src/llm/apis/openai_completions.cpp, parseCommonPart, and openai_completions.hpp,
createGenerationConfig; openvino.genai, src/cpp/src/generation_config.cpp, validate.
"""

from collections.abc import Callable, Mapping
from math import inf

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.requests import Deployment, Sampling
from emulator.protocols.ranges import Range
from emulator.vendors.openvino.decoder import is_int32, is_int64, is_number, is_uint32, parse_double, promote
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.profile import DeploymentProfile
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.request import Fields

_MAX_ENDLESS_TOKENS = 4000  # tokens of a response with ignore_eos and no other bound
_ANY = Range(-inf, inf, "")
_NUMBERS: Mapping[str, Range] = {
    "frequency_penalty": Range(-2.0, 2.0, "(-2.0, 2.0)"),
    "presence_penalty": Range(-2.0, 2.0, "(-2.0, 2.0)"),
    "repetition_penalty": _ANY,
    "diversity_penalty": _ANY,
    "length_penalty": _ANY,
    "temperature": Range(0.0, 2.0, "(0.0, 2.0)"),
    "top_p": Range(0.0, 1.0, "(0.0, 1.0)"),
    "min_p": _ANY,
}
_PENALTIES = {"frequency_penalty": 0.0, "presence_penalty": 0.0, "repetition_penalty": 1.0}
_BEAM_DEFAULTS = _PENALTIES | {"diversity_penalty": 1.0, "length_penalty": 1.0}
_SAMPLING_DEFAULTS = _PENALTIES | {"top_p": 1.0, "min_p": 0.0}


def _parse_number(fields: Fields, name: str) -> None:
    """Parse a float field; one that the release does not have is ignored."""
    release = fields.release
    if name == "min_p":
        if release.full_checks:
            _parse_min_p(fields)
        return
    if name == "diversity_penalty" and not release.diversity_penalty:
        return
    value = fields.body[name]
    fields.numbers[name] = number = value if type(value) is float else _validate_number(fields, name)
    bounds = _NUMBERS[name]
    if not bounds.has(number) and not bounds.has(promote(number)):
        raise refusal(f"{name} out of range{bounds.text}")


def _validate_number(fields: Fields, name: str) -> float:
    """Parse a float, or a whole number where the release accepts one."""
    value = fields.body[name]
    if type(value) is float:
        return value
    integers = fields.release.integer_floats
    if not is_number(value) or (not integers and is_int32(value)):  # one beyond 64 bits is a double
        raise refusal(f"{name} is not a {'valid number' if integers else 'floating point number'}")
    return parse_double(value)


def _parse_min_p(fields: Fields) -> None:
    fields.numbers["min_p"] = number = promote(_validate_number(fields, "min_p"))
    if not 0.0 <= number < 1.0:
        raise refusal("min_p out of range [0.0, 1.0)")


def _parse_top_k(fields: Fields, name: str) -> None:
    value = fields.body[name]
    if not is_int32(value):
        raise refusal("top_k is not an integer")
    if fields.release.full_checks and value != -1 and value < 1:
        raise refusal("top_k must be -1 (all tokens) or a positive integer")
    fields.top_k = value


def _parse_seed(fields: Fields, name: str) -> None:
    value = fields.body[name]
    if not is_uint32(value):
        if not fields.release.full_checks:
            raise refusal("seed is not an unsigned integer")
        raise refusal("seed out of range [0, 4294967295]" if is_int64(value) else "seed is not an integer")
    fields.seed = value


CHECKS: tuple[tuple[str, Callable[[Fields, str], None]], ...] = (
    *((name, _parse_number) for name in _NUMBERS),
    ("top_k", _parse_top_k),
    ("seed", _parse_seed),
)
"""Sampling fields and their parsers, in the server's order."""


def build_sampling(fields: Fields, prompt_tokens: int) -> Sampling:
    """Validate the lengths, then the configuration as a whole, and build the sampling.

    Beam search ignores temperature, ``top_p``, ``top_k`` and ``seed``. Penalties
    also affect text that is not sampled.
    """
    validate_length(fields.parsed.profile, fields.parsed.deployment, fields.release, fields.max_tokens, prompt_tokens)
    _validate_engine(fields)
    draws = _is_sampled(fields) and fields.top_k != 1
    parameters = _list_parameters(fields, draws)
    return Sampling(
        max_tokens=bound_tokens(fields.parsed.deployment, fields.max_tokens, prompt_tokens, endless=fields.ignore_eos),
        greedy=not draws and not parameters,
        seed=fields.seed if draws else None,
        parameters=parameters,
        stop=fields.stop,
        keep_stop=fields.keep_stop,
        listed_stop=True,
        ignore_eos=fields.ignore_eos,
        n=fields.n,
        logprobs=0 if fields.logprobs else None,
        prompt_details=fields.echo and fields.logprobs,
    )


def _is_sampled(fields: Fields) -> bool:
    """Return whether sampling is multinomial: a single beam and a temperature above 0."""
    return fields.best_of == 1 and fields.numbers.get("temperature", fields.release.temperature) > 0


def _list_parameters(fields: Fields, draws: bool) -> tuple[tuple[str, JSON], ...]:
    """Return the parameters that affect the text besides prompt and seed; defaults count as absent."""
    numbers = fields.numbers
    parameters: list[tuple[str, JSON]] = []
    defaults = _PENALTIES
    if fields.best_of > 1:
        defaults = _BEAM_DEFAULTS
        parameters.append(("best_of", fields.best_of))
    elif draws:
        defaults = _SAMPLING_DEFAULTS
        parameters.append(("temperature", numbers.get("temperature", fields.release.temperature)))
        if fields.top_k not in (None, 40 if fields.release.since(2026, 2) else -1):
            parameters.append(("top_k", fields.top_k))
    for name, default in defaults.items():
        if name in numbers and numbers[name] != default:
            parameters.append((name, numbers[name]))
    return tuple(parameters)


def bound_tokens(deployment: Deployment, asked: int | None, prompt: int, *, endless: bool = False) -> int | None:
    """Return the lowest token limit of request, deployment and context, for a prompt of ``prompt`` tokens."""
    bound = deployment.default_max_tokens if asked is None else asked
    if deployment.max_output is not None and (bound is None or bound > deployment.max_output):
        bound = deployment.max_output
    if deployment.context is not None:
        rest = max(1, deployment.context - prompt)
        bound = rest if bound is None or rest < bound else bound
    return _MAX_ENDLESS_TOKENS if bound is None and endless else bound


def validate_length(
    profile: DeploymentProfile, deployment: Deployment, release: Release, asked: int | None, prompt: int
) -> None:
    """Raise if prompt or response exceed the model's length or the pipeline's bounds, if the release checks them.

    Raises:
        EmulatedError: ``CONTEXT_LENGTH``.
    """
    if not release.model_length:
        return
    if 0 < profile.max_prompt_len < prompt:
        raise _length_refusal("Input length exceeds the maximum allowed length")
    if 0 < profile.max_num_batched_tokens < prompt:
        batch = profile.max_num_batched_tokens
        raise _length_refusal(f"Input length exceeds pipeline capabilities: {prompt} > {batch}")
    length = deployment.context
    if length is None:
        return
    if prompt > length:
        raise _length_refusal(f"Number of prompt tokens: {prompt} exceeds model max length: {length}")
    if asked is not None and prompt + asked > length:
        tokens = f"Number of prompt tokens: {prompt} + max tokens value: {asked}"
        raise _length_refusal(f"{tokens} exceeds model max length: {length}")


def _length_refusal(reason: str) -> EmulatedError:
    return EmulatedError(ErrorKind.CONTEXT_LENGTH, details={"reason": reason})


def _validate_engine(fields: Fields) -> None:
    """Apply the engine's checks of the whole configuration; the text around a reason is unverified."""
    numbers = fields.numbers
    if fields.top_k == 0 and _is_sampled(fields):
        raise _engine_refusal("top_k > 0", "top_k must be a strictly positive, but got 0")
    if numbers:
        if numbers.get("top_p") == 0 and _is_sampled(fields):
            reason = "top_p must be a positive float > 0 and < 1, but got 0"
            raise _engine_refusal("top_p > 0 && top_p <= 1.0f", reason)
        penalty = numbers.get("repetition_penalty", 1.0)
        if penalty <= 0:
            reason = f"Repetition penalty must be a strictly positive float, but got {penalty:g}"
            raise _engine_refusal("repetition_penalty > 0", reason)
    if fields.release.speculative == "lenient" and fields.parsed.profile.kind == "speculative":
        _validate_draft(fields)


def _validate_draft(fields: Fields) -> None:
    names = ("assistant_confidence_threshold", "num_assistant_tokens")
    values = [fields.body.get(name) for name in names]
    if all([is_number(value) and parse_double(value) > 0 for value in values]):
        reason = f"Parameters `{names[0]}` and `{names[1]}` are mutually exclusive in `GenerationConfig`"
        raise _engine_refusal("!(assistant_confidence_threshold > 0 && num_assistant_tokens > 0)", reason)


def _engine_refusal(condition: str, reason: str) -> EmulatedError:
    return refusal(f"Check '{condition}' failed at src/cpp/src/generation_config.cpp:\n{reason}\n")
