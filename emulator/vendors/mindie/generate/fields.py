"""``parameters`` of the TGI-style routes: every rule, in the order the server checks them.

Source: MindIE documentation, "text/stream inference" (what is accepted), and MindIE-LLM,
``single_req_tgi_text_infer_interface.cpp`` and ``utils/infer_param.cpp`` (order and words).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from emulator.core.call import Sampling
from emulator.core.json import JSON
from emulator.core.record import record
from emulator.vendors.mindie.decoder import (
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


@record(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Validated ``parameters``; ``None`` is what the request does not say."""

    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    do_sample: bool | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    adapter_id: str = NO_ADAPTER
    max_new_tokens: int | None = None
    details: bool = False
    decoder_input_details: bool = False
    return_full_text: bool = False
    truncate: int | None = None


NOTHING_SET = Parameters()


def read_parameters(fields: _Fields, *, stream: bool, disaggregated: bool) -> Parameters:
    """Read ``parameters``; unknown keys are ignored."""
    if not fields:
        return NOTHING_SET
    found: dict[str, JSON] = {}
    for name, read in _READERS:
        if fields.get(name) is not None:
            found[name] = read(fields)
    for name in _WITHOUT_EFFECT:
        found.pop(name, None)
    parameters = Parameters(**found)
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


# In the server's order of checking.
_READERS: Sequence[tuple[str, Callable[[_Fields], JSON]]] = (
    ("stop", read_stop),
    ("temperature", read_temperature),
    ("top_k", read_top_k),
    ("top_p", _read_top_p),
    ("typical_p", read_typical_p),
    ("do_sample", partial(read_boolean, key="do_sample")),
    ("seed", read_seed),
    ("repetition_penalty", read_repetition_penalty),
    ("watermark", partial(read_boolean, key="watermark")),
    ("adapter_id", _read_adapter),
    ("max_new_tokens", read_max_new_tokens),
    ("details", partial(read_boolean, key="details")),
    ("decoder_input_details", partial(read_boolean, key="decoder_input_details")),
    ("return_full_text", partial(read_boolean, key="return_full_text")),
    ("truncate", _read_truncate),
)
_WITHOUT_EFFECT = ("typical_p", "watermark")


def shape_sampling(parameters: Parameters, *, max_tokens: int, vocabulary: int, logprobs: bool) -> Sampling:
    """How tokens are chosen: ``do_sample`` decides, else any of temperature, ``top_k`` and ``top_p`` means sampling.

    Args:
        vocabulary: a larger ``top_k`` is no limit.
    """
    temperature, top_k, top_p = parameters.temperature, parameters.top_k, parameters.top_p
    sample = parameters.do_sample
    if sample is None:
        sample = temperature is not None or top_k is not None or top_p is not None
    if top_k is None or top_k >= vocabulary:
        top_k = 0
    return Sampling(
        max_tokens=max_tokens,
        greedy=not sample or top_k == 1,
        seed=parameters.seed,
        knobs=(
            ("temperature", 1.0 if temperature is None else float(temperature)),
            ("top_k", top_k),
            ("top_p", top_p or 1.0),
            ("repetition_penalty", float(parameters.repetition_penalty or 1.0)),
        ),
        stop=parameters.stop,
        show_eos=True,
        logprobs=0 if logprobs else None,
    )
