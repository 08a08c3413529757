"""How tokens are chosen: the router's checks of the fields that say so, in its order.

Source: text-generation-inference, ``router/src/validation.rs``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emulator.core.call import Sampling
from emulator.vendors.tgi.errors import refuse
from emulator.vendors.tgi.settings import TgiSettings


def check_best_of(parameters: Mapping[str, Any], settings: TgiSettings, *, stream: bool) -> int:
    """How many answers to make; a stream has but one."""
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


def samples(parameters: Mapping[str, Any]) -> bool:
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


def check_sampling(parameters: Mapping[str, Any], best_of: int, settings: TgiSettings) -> None:
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


_KNOBS = ("temperature", "repetition_penalty", "frequency_penalty", "top_k", "top_p", "typical_p")


def shape_sampling(
    parameters: Mapping[str, Any], best_of: int, limit: int, *, stream: bool, weighed: bool | None
) -> Sampling:
    if weighed is None:
        weighed = stream or best_of > 1 or parameters["details"] or parameters["decoder_input_details"]
    return Sampling(
        max_tokens=limit,
        greedy=not samples(parameters) or parameters["top_k"] == 1,
        seed=parameters["seed"],
        knobs=tuple([(knob, parameters[knob]) for knob in _KNOBS if parameters[knob] is not None]),
        stop=tuple(filter(None, parameters["stop"])),
        keep_stop=True,
        show_eos=True,
        n=best_of,
        logprobs=(parameters["top_n_tokens"] or 0) if weighed else None,
    )
