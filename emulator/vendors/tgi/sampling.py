"""Validate the sampling fields in the router's order, and build the sampling.

Stop sequences are checked here; ``emulator/generation/stop_sequences.py`` cuts the text at them.
Source: text-generation-inference, ``router/src/validation.rs``.
"""

from collections.abc import Mapping, Sequence
from math import inf

from emulator.core.json import JSON
from emulator.core.requests import Sampling
from emulator.protocols.ranges import Range, above, below
from emulator.vendors.tgi.errors import refusal
from emulator.vendors.tgi.generate.fields import Parameters
from emulator.vendors.tgi.settings import TgiSettings


def validate_best_of(parameters: Parameters, settings: TgiSettings, *, stream: bool) -> int:
    """Return the number of choices to generate; raise if it is invalid. A stream has exactly one."""
    best_of = 1 if parameters.best_of is None else parameters.best_of
    if stream:
        if best_of != 1:
            text = "`best_of` != 1 is not supported when streaming tokens"
            raise refusal(text, "best_of", streamed=True, early=True)
        if parameters.decoder_input_details:
            text = "`decoder_input_details` == true is not supported when streaming tokens"
            raise refusal(text, "decoder_input_details", streamed=True, early=True)
    if best_of > 1:
        if settings.max_best_of == 1:
            raise refusal("`best_of` != 1 is not allowed for this endpoint", "best_of", early=True)
        if best_of > settings.max_best_of:
            text = f"`best_of` must be > 0 and <= {settings.max_best_of}. Given: {best_of}"
            raise refusal(text, "best_of", early=True)
    return max(1, best_of)


def _has_sampling(p: Parameters) -> bool:
    return p.do_sample or any([value is not None for value in (p.temperature, p.top_k, p.top_p, p.typical_p)])


def is_sampled(p: Parameters) -> bool:
    """Return whether the model server samples: a field has a value other than that of greedy decoding."""
    unit = (None, 1.0)
    return (
        p.do_sample
        or p.temperature not in unit
        or p.top_k not in (None, 0)
        or p.top_p not in unit
        or p.typical_p not in unit
    )


# Bounds of the values that round to 0, 1 and 2 in single precision, as the router compares them.
_ABOVE_ZERO = above(2.0**-150)
_BELOW_ONE = below(1.0 - 2.0**-25)
_TWO = 2.0 + 2.0**-23
_RANGES: Mapping[str, Range] = {
    "temperature": Range(_ABOVE_ZERO, inf, "must be strictly positive"),
    "repetition_penalty": Range(_ABOVE_ZERO, inf, "must be strictly positive"),
    "frequency_penalty": Range(-_TWO, _TWO, "must be >= -2.0 and <= 2.0"),
    "top_p": Range(_ABOVE_ZERO, _BELOW_ONE, "must be > 0.0 and < 1.0"),
    "typical_p": Range(_ABOVE_ZERO, _BELOW_ONE, "must be > 0.0 and < 1.0"),
    "top_k": Range(1, inf, "must be strictly positive"),
    "max_new_tokens": Range(1, inf, "must be strictly positive"),
}


def validate_sampling(parameters: Parameters, best_of: int, settings: TgiSettings) -> None:
    if best_of > 1 and not _has_sampling(parameters):
        raise refusal("you must use sampling when `best_of` is > 1", "best_of")
    for name, bounds in _RANGES.items():
        value = getattr(parameters, name)
        if value is not None and not bounds.has(value):
            raise refusal(f"`{name}` {bounds.text}", name)
    stops = len(parameters.stop)
    if stops > settings.max_stop_sequences:
        raise refusal(f"`stop` supports up to {settings.max_stop_sequences} stop sequences. Given: {stops}", "stop")
    if best_of > 1 and parameters.seed is not None:
        raise refusal("`seed` must not be set when `best_of` > 1", "seed")
    top = parameters.top_n_tokens
    if top is not None and top > settings.max_top_n_tokens:
        text = f"`top_n_tokens` must be >= 0 and <= {settings.max_top_n_tokens}. Given: {top}"
        raise refusal(text, "top_n_tokens")


def build_sampling(parameters: Parameters, best_of: int, limit: int, *, sampled: bool, logprobs: bool) -> Sampling:
    """Build the sampling of at most ``limit`` tokens; ``logprobs``: the response has log-probabilities."""
    return Sampling(
        max_tokens=limit,
        greedy=not sampled or parameters.top_k == 1,
        seed=parameters.seed,
        parameters=_list_parameters(parameters),
        stop=tuple(filter(None, parameters.stop)),
        keep_stop=True,
        listed_stop=True,
        show_eos=True,
        n=best_of,
        logprobs=(parameters.top_n_tokens or 0) if logprobs else None,
    )


def _list_parameters(p: Parameters) -> tuple[tuple[str, JSON], ...]:
    parameters: Sequence[tuple[str, JSON]] = (
        ("temperature", p.temperature),
        ("repetition_penalty", p.repetition_penalty),
        ("frequency_penalty", p.frequency_penalty),
        ("top_k", p.top_k),
        ("top_p", p.top_p),
        ("typical_p", p.typical_p),
    )
    return tuple([parameter for parameter in parameters if parameter[1] is not None])
