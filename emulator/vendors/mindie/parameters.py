"""``parameters`` of the TGI-style routes: every rule, in the order the server checks them.

Source: MindIE documentation, "text/stream inference" (what is accepted), and MindIE-LLM,
``single_req_tgi_text_infer_interface.cpp`` and ``utils/infer_param.cpp`` (order and words).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from emulator.core.call import Sampling
from emulator.core.json import JSON
from emulator.vendors.mindie.checks import (
    MAX_FLOAT,
    MAX_INT32,
    MAX_UINT64,
    count_units,
    read_boolean,
    read_float,
    read_integer,
    read_string,
    read_unsigned,
    refuse,
    show,
)

LOWEST = 1e-6  # temperature and top_p are greater than this
MAX_STOPS = 1024
MAX_STOP_LENGTH = 1024
MAX_STOP_TOTAL = 32768
NO_ADAPTER = "None"
_ADAPTER = re.compile(r"[a-zA-Z0-9_./-]{1,256}")
_Fields = Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Validated ``parameters``; ``None`` is what the request does not say."""

    stop: tuple[str, ...]
    temperature: float | None
    top_k: int | None
    top_p: float | None
    do_sample: bool | None
    seed: int | None
    repetition_penalty: float | None
    adapter_id: str
    max_new_tokens: int | None
    details: bool
    decoder_input_details: bool
    return_full_text: bool
    truncate: int | None


def read_parameters(fields: _Fields, *, stream: bool, disaggregated: bool) -> Parameters:
    """Read ``parameters``; unknown keys are ignored."""
    stop = read_stop(fields)
    temperature = read_temperature(fields)
    top_k = read_top_k(fields)
    top_p = _read_top_p(fields)
    read_typical_p(fields)
    do_sample = read_boolean(fields, "do_sample")
    seed = read_seed(fields)
    repetition_penalty = read_repetition_penalty(fields)
    read_boolean(fields, "watermark")
    parameters = Parameters(
        stop=stop,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        do_sample=do_sample,
        seed=seed,
        repetition_penalty=repetition_penalty,
        adapter_id=_read_adapter(fields),
        max_new_tokens=read_max_new_tokens(fields),
        details=read_boolean(fields, "details") or False,
        decoder_input_details=read_boolean(fields, "decoder_input_details") or False,
        return_full_text=read_boolean(fields, "return_full_text") or False,
        truncate=_read_truncate(fields),
    )
    if stream and parameters.decoder_input_details:
        raise refuse("The decoder_input_details must not be true when stream is true.", "decoder_input_details")
    if disaggregated:
        _check_disaggregated(parameters)
    return parameters


def _check_disaggregated(parameters: Parameters) -> None:
    """The wording for ``adapter_id`` follows that for ``stop``; unverified."""
    if parameters.stop:
        raise refuse("stop is not supported in dmi mode", "stop")
    if parameters.adapter_id != NO_ADAPTER:
        raise refuse("adapter_id is not supported in dmi mode", "adapter_id")


def read_stop(fields: _Fields, most: int | None = MAX_STOPS) -> tuple[str, ...]:
    """``stop``: a string or a list; an empty list is none. ``most``: items of a list."""
    value = fields.get("stop")
    if value is None:
        return ()
    if isinstance(value, str):
        length = count_units(value)
        if not 1 <= length <= MAX_STOP_LENGTH:
            raise refuse(f"Input validation error: length of `stop` must be in [1, 1024], but got {length}", "stop")
        return (value,)
    if not isinstance(value, list):
        raise refuse("Input validation error: param stop must be string or list[string]", "stop")
    lengths = [count_units(item) if isinstance(item, str) else 0 for item in value]
    fits = all(1 <= length <= MAX_STOP_LENGTH for length in lengths) and sum(lengths) <= MAX_STOP_TOTAL
    if not fits or (most is not None and len(value) > most):
        raise refuse(
            "Input validation error: `stop` must be list[string] if list, "
            "and item length in [1, 1024] with total <= 32768",
            "stop",
        )
    return tuple(value)


def read_temperature(fields: _Fields, *, zero: bool = False) -> float | None:
    """``zero``: the route takes 0, which means greedy."""
    value = read_float(fields, "temperature")
    if value is None or (zero and value == 0):
        return value
    if not (0.0 if zero else LOWEST) < value <= MAX_FLOAT:
        text = f"Parameter temperature must be in (0.0,3.40282e+38], got {show(fields['temperature'])}."
        raise refuse(text, "temperature")
    return value


def read_top_k(fields: _Fields, *, zero: bool = False, unlimited: bool = False) -> int | None:
    """``zero``: the route takes 0; ``unlimited``: it takes -1, which means no limit."""
    value = read_integer(fields, "top_k")
    if value is None:
        return None
    if value == -1 and unlimited:
        return 0
    if not (0 if zero else 1) <= value <= MAX_INT32:
        text = f"Parameter top_k must be in -1 || (0,{MAX_INT32}], got {show(fields['top_k'])}"
        raise refuse(text, "top_k")
    return value


def _read_top_p(fields: _Fields) -> float | None:
    value = read_float(fields, "top_p")
    if value is not None and not LOWEST < value < 1.0:
        raise refuse_top_p(fields)
    return value


def read_closed_top_p(fields: _Fields) -> float | None:
    """``top_p`` of the routes that take 1."""
    value = read_float(fields, "top_p")
    if value is not None and not 0.0 < value <= 1.0:
        raise refuse_top_p(fields)
    return value


def refuse_top_p(fields: _Fields) -> Exception:
    return refuse(f"Parameter top_p must be in (0.0,1.0], got {show(fields['top_p'])}.", "top_p")


def read_typical_p(fields: _Fields) -> float | None:
    """Checked, and without effect."""
    value = read_float(fields, "typical_p")
    if value is not None and not 0.0 < value <= 1.0:
        raise refuse(f"Parameter typical_p must be in (0.0,1.0], got {show(fields['typical_p'])}.", "typical_p")
    return value


def read_seed(fields: _Fields) -> int | None:
    value = read_unsigned(fields, "seed")
    if value == 0:
        raise refuse(f"seed must be in (0, {MAX_UINT64}], got {show(fields['seed'])}.", "seed")
    return value


def read_repetition_penalty(fields: _Fields, most: float = MAX_FLOAT) -> float | None:
    value = read_float(fields, "repetition_penalty")
    if value is not None and not 0.0 < value <= most:
        bound = "3.40282e+38" if most == MAX_FLOAT else f"{most:g}"
        got = show(fields["repetition_penalty"])
        text = f"Parameter 'repetition_penalty' must be in (0.0, {bound}], got {got}."
        raise refuse(text, "repetition_penalty")
    return value


def _read_adapter(fields: _Fields) -> str:
    value = read_string(fields, "adapter_id")
    if value is None:
        return NO_ADAPTER
    if not _ADAPTER.fullmatch(value):
        raise refuse("The format of adapter_id is invalid.", "adapter_id")
    return value


def read_max_new_tokens(fields: _Fields) -> int | None:
    value = read_integer(fields, "max_new_tokens")
    if value is not None and not 1 <= value <= MAX_INT32:
        text = f"Parameter max_new_tokens must be in (0,{MAX_INT32}], got {show(fields['max_new_tokens'])}."
        raise refuse(text, "max_new_tokens")
    return value


def _read_truncate(fields: _Fields) -> int | None:
    value = read_integer(fields, "truncate")
    if value is not None and not 1 <= value <= MAX_INT32:
        raise refuse(f"truncate must be in (0,{MAX_INT32}], got {show(fields['truncate'])}.", "truncate")
    return value


def shape_sampling(parameters: Parameters, *, max_tokens: int, vocabulary: int, logprobs: bool) -> Sampling:
    """How tokens are chosen: ``do_sample`` decides, else any of temperature, ``top_k`` and ``top_p`` means sampling.

    Args:
        vocabulary: a larger ``top_k`` is no limit.
    """
    chosen = (parameters.temperature, parameters.top_k, parameters.top_p)
    sample = parameters.do_sample if parameters.do_sample is not None else any(c is not None for c in chosen)
    top_k = min(parameters.top_k or 0, vocabulary)
    return Sampling(
        max_tokens=max_tokens,
        greedy=not sample or top_k == 1,
        seed=parameters.seed,
        knobs=(
            ("temperature", 1.0 if parameters.temperature is None else float(parameters.temperature)),
            ("top_k", 0 if top_k == vocabulary else top_k),
            ("top_p", parameters.top_p or 1.0),
            ("repetition_penalty", float(parameters.repetition_penalty or 1.0)),
        ),
        stop=parameters.stop,
        show_eos=True,
        logprobs=0 if logprobs else None,
    )
