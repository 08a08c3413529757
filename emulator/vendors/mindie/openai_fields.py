"""Fields that the vLLM and OpenAI routes share, in the order the server checks them.

Source: MindIE-LLM, ``utils/infer_param.cpp`` and the ``SetupInferParams`` of each route.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emulator.core.call import Sampling
from emulator.core.json import JSON
from emulator.vendors.mindie.checks import MAX_INT32, read_boolean, read_float, read_unsigned, refuse, show
from emulator.vendors.mindie.parameters import (
    read_closed_top_p,
    read_repetition_penalty,
    read_seed,
    read_stop,
    read_temperature,
    read_top_k,
)
from emulator.vendors.mindie.settings import MindieSettings

MAX_CHOICES = 128
MAX_PENALTY = 2.0
Fields = Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopIds:
    """Token ids that end an answer, and whether their text stays."""

    ids: frozenset[int] = frozenset()
    keep: bool = False


def read_sampling(
    fields: Fields, settings: MindieSettings, after_seed: Callable[[Fields], None] | None = None
) -> tuple[Sampling, StopIds]:
    """Everything up to ``n``; ``after_seed`` reads what a route has in between.

    Temperature 0 is greedy, and so is a request that sets none of temperature, ``top_k`` and ``top_p``.
    """
    ignore_eos = read_boolean(fields, "ignore_eos") or False
    stop = read_stop(fields, most=None)
    stop_ids = _read_stop_ids(fields)
    keep = _keeps_stop(fields)
    temperature = read_temperature(fields, zero=True)
    top_k = read_top_k(fields, unlimited=True)
    top_p = read_closed_top_p(fields)
    seed = read_seed(fields)
    if after_seed is not None:
        after_seed(fields)
    repetition = read_repetition_penalty(fields, MAX_PENALTY)
    frequency = _read_penalty(fields, "frequency_penalty", "Parameter frequency_penalty should be in [-2.0, 2.0], got")
    presence = _read_penalty(fields, "presence_penalty", "Parameter presence_penalty not in [-2.0, 2.0], but got")
    read_boolean(fields, "skip_special_tokens")
    sampling = Sampling(
        greedy=temperature == 0 or top_k == 1 or all(value is None for value in (temperature, top_k, top_p)),
        seed=seed,
        knobs=(
            ("temperature", 1.0 if temperature is None else float(temperature)),
            ("top_k", top_k or 0),
            ("top_p", float(top_p or 1.0)),
            ("repetition_penalty", float(repetition or 1.0)),
            ("frequency_penalty", frequency),
            ("presence_penalty", presence),
        ),
        stop=stop,
        keep_stop=keep,
        ignore_eos=ignore_eos,
        show_eos=True,
        n=_read_choices(fields, settings),
    )
    return sampling, StopIds(ids=stop_ids, keep=keep)


def _keeps_stop(fields: Fields) -> bool:
    """``include_stop_str_in_output`` is looked at only beside a stop."""
    if "stop" not in fields and "stop_token_ids" not in fields:
        return False
    return read_boolean(fields, "include_stop_str_in_output") or False


def _read_penalty(fields: Fields, key: str, words: str) -> float:
    value = read_float(fields, key)
    if value is not None and not -MAX_PENALTY <= value <= MAX_PENALTY:
        raise refuse(f"{words} {show(fields[key])}.", key)
    return float(value or 0.0)


def _read_stop_ids(fields: Fields) -> frozenset[int]:
    """``stop_token_ids``; what is no 32-bit id is skipped."""
    value = fields.get("stop_token_ids")
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise refuse("Parameter stop_token_ids not array", "stop_token_ids")
    if any(not isinstance(item, int) or isinstance(item, bool) for item in value):
        raise refuse("Parameter stop_token_ids not list[int]", "stop_token_ids")
    return frozenset(item for item in value if 0 <= item <= MAX_INT32)


def _read_choices(fields: Fields, settings: MindieSettings) -> int:
    """How many answers ``best_of`` and ``n`` ask for; the larger of the two is made."""
    best_of = read_unsigned(fields, "best_of")
    if best_of is not None and settings.disaggregated and best_of != 1:
        text = f"Paramter [best_of] can only be set to 1 in pd disaggregation mode, got {best_of}."
        raise refuse(text, "best_of")
    if best_of is not None and not 1 <= best_of <= MAX_CHOICES:
        raise refuse(f"Parameter [best_of] should be in [1, {MAX_CHOICES}], got {best_of}.", "best_of")
    count = read_unsigned(fields, "n")
    if count is not None and settings.disaggregated and count != 1:
        raise refuse(f"Parameter [n] can only be set to 1 in pd disaggregation mode, got {count}.", "n")
    if count is not None and not 1 <= count <= MAX_CHOICES:
        raise refuse(f"Parameter [n] should be in [1, {MAX_CHOICES}], got {count}. ", "n")
    return best_of or count or 1


def read_max_tokens(fields: Fields) -> int | None:
    value = fields.get("max_tokens")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise refuse("Parameter max_tokens not number_integer", "max_tokens")
    if not 1 <= value <= MAX_INT32:
        raise refuse(f"Parameter max_tokens must be (0,{MAX_INT32}], got {show(value)}", "max_tokens")
    return value


def read_model(fields: Fields, models: Mapping[str, object], unknown: str) -> str:
    """``model``, which must name a model or an adapter; ``unknown`` is what any other name gets."""
    value = fields.get("model")
    if value is None:
        raise refuse("Request contains not model or model null", "model")
    if not isinstance(value, str):
        raise refuse("Request param model must be string", "model")
    if not value:
        raise refuse("Request param model must be not empty", "model")
    if value not in models:
        raise refuse(unknown, "model")
    return value
