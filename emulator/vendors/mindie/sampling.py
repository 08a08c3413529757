"""Fields that the vLLM and OpenAI routes share, in the order the server checks them.

Source: MindIE-LLM, ``utils/infer_param.cpp`` and the ``SetupInferParams`` of each route.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from emulator.core.json import JSON
from emulator.vendors.mindie.decoder import (
    MAX_INT32,
    read_boolean,
    read_float,
    read_integer,
    read_unsigned,
    refuse,
    show,
)
from emulator.vendors.mindie.generate.fields import (
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
MAX_REPETITION = 2.0
Fields = Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopIds:
    """Token ids that end an answer, and whether their text stays."""

    ids: frozenset[int] = frozenset()
    keep: bool = False


NO_STOP_IDS = StopIds()


def read_sampling(
    fields: Fields, settings: MindieSettings, *, chat: bool = False
) -> tuple[Mapping[str, JSON], StopIds]:
    """Everything up to ``n``, as the fields of a :class:`Sampling`; ``chat``: its own fields are read in between.

    Temperature 0 is greedy, and so is a request that sets none of temperature, ``top_k`` and ``top_p``.
    """
    found: dict[str, JSON] = {}
    for name, read in _CHAT_READERS if chat else _READERS:
        if fields.get(name) is not None:
            found[name] = read(fields)
    count = _read_choices(fields, settings) if "n" in fields or "best_of" in fields else 1
    get = found.get
    temperature, top_k, top_p = get("temperature"), get("top_k"), get("top_p")
    keep = get("include_stop_str_in_output", False)
    sampling = {
        "greedy": temperature == 0 or top_k == 1 or (temperature is None and top_k is None and top_p is None),
        "seed": get("seed"),
        "knobs": (
            ("temperature", 1.0 if temperature is None else float(temperature)),
            ("top_k", top_k or 0),
            ("top_p", float(top_p or 1.0)),
            ("repetition_penalty", float(get("repetition_penalty") or 1.0)),
            ("frequency_penalty", get("frequency_penalty", 0.0)),
            ("presence_penalty", get("presence_penalty", 0.0)),
        ),
        "stop": get("stop", ()),
        "keep_stop": keep,
        "ignore_eos": get("ignore_eos", False),
        "show_eos": True,
        "n": count,
    }
    ids = get("stop_token_ids")
    return sampling, StopIds(ids=ids or frozenset(), keep=keep) if ids or keep else NO_STOP_IDS


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


def _read_frequency(fields: Fields) -> float:
    return _read_penalty(fields, "frequency_penalty", "Parameter frequency_penalty should be in [-2.0, 2.0], got")


def _read_presence(fields: Fields) -> float:
    return _read_penalty(fields, "presence_penalty", "Parameter presence_penalty not in [-2.0, 2.0], but got")


def _check_thinking(fields: Fields) -> None:
    """``chat_template_kwargs``."""
    options = fields["chat_template_kwargs"]
    if not isinstance(options, dict):
        raise refuse("chat_template_kwargsmust be a JSON object", "chat_template_kwargs")
    read_boolean(options, "enable_thinking")
    budget = read_integer(options, "thinking_budget")
    if budget is not None and not 1 <= budget <= MAX_INT32:
        text = f"Parameter thinking_budget must be in [1,{MAX_INT32}], got {show(budget)}"
        raise refuse(text, "thinking_budget")


_Readers = tuple[tuple[str, Callable[[Fields], JSON]], ...]
# In the server's order of checking.
_BEFORE: _Readers = (
    ("ignore_eos", partial(read_boolean, key="ignore_eos")),
    ("stop", partial(read_stop, most=None)),
    ("stop_token_ids", _read_stop_ids),
    ("include_stop_str_in_output", _keeps_stop),
    ("temperature", partial(read_temperature, zero=True)),
    ("top_k", partial(read_top_k, unlimited=True)),
    ("top_p", read_closed_top_p),
    ("seed", read_seed),
)
_AFTER: _Readers = (
    ("repetition_penalty", partial(read_repetition_penalty, most=MAX_REPETITION)),
    ("frequency_penalty", _read_frequency),
    ("presence_penalty", _read_presence),
    ("skip_special_tokens", partial(read_boolean, key="skip_special_tokens")),
)
_READERS = (*_BEFORE, *_AFTER)
_CHAT_READERS: _Readers = (*_BEFORE, ("chat_template_kwargs", _check_thinking), *_AFTER)


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
