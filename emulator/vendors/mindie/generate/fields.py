"""Parse ``parameters`` of the TGI-style routes, in the order the server checks them.

Source: MindIE documentation, "text/stream inference" (what is accepted), and MindIE-LLM,
``single_req_tgi_text_infer_interface.cpp`` and ``utils/infer_param.cpp`` (order and texts).
"""

import re

from emulator.core.dataclass import fast_dataclass
from emulator.core.requests import Sampling
from emulator.core.vendor import Tokenizer
from emulator.vendors.mindie import ranges
from emulator.vendors.mindie.decoder import (
    Fields,
    count_units,
    parse_boolean,
    parse_float,
    parse_integer,
    parse_string,
    parse_unsigned,
    refusal,
)

MAX_STOPS = 1024
MAX_STOP_LENGTH = 1024
MAX_STOP_TOTAL = 32768
NO_ADAPTER = "None"
_ADAPTER = re.compile(r"[a-zA-Z0-9_./-]{1,256}")


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Validated ``parameters``; ``None``: absent from the request.

    Fields:
        typical_p, watermark: have no effect.
    """

    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    typical_p: float | None = None
    do_sample: bool | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    watermark: bool | None = None
    adapter_id: str = NO_ADAPTER
    max_new_tokens: int | None = None
    details: bool = False
    decoder_input_details: bool = False
    return_full_text: bool = False
    truncate: int | None = None


NOTHING_SET = Parameters()


def parse_parameters(fields: Fields, *, stream: bool, disaggregated: bool) -> Parameters:
    """Parse and validate ``parameters``; unknown keys are ignored."""
    if not fields:
        return NOTHING_SET
    parameters = Parameters(  # in the server's order of checking
        stop=parse_stop(fields),
        temperature=parse_float(fields, "temperature", ranges.TEMPERATURE),
        top_k=parse_integer(fields, "top_k", ranges.TOP_K),
        top_p=parse_float(fields, "top_p", ranges.TOP_P_OF_TGI),
        typical_p=parse_float(fields, "typical_p", ranges.TYPICAL_P),
        do_sample=parse_boolean(fields, "do_sample"),
        seed=parse_unsigned(fields, "seed", ranges.SEED),
        repetition_penalty=parse_float(fields, "repetition_penalty", ranges.REPETITION),
        watermark=parse_boolean(fields, "watermark"),
        adapter_id=_parse_adapter(fields),
        max_new_tokens=parse_integer(fields, "max_new_tokens", ranges.MAX_NEW_TOKENS),
        details=parse_boolean(fields, "details") or False,
        decoder_input_details=parse_boolean(fields, "decoder_input_details") or False,
        return_full_text=parse_boolean(fields, "return_full_text") or False,
        truncate=parse_integer(fields, "truncate", ranges.TRUNCATE),
    )
    if stream and parameters.decoder_input_details:
        raise refusal("The decoder_input_details must not be true when stream is true.", "decoder_input_details")
    if disaggregated:
        _validate_disaggregated(parameters)
    return parameters


def _validate_disaggregated(parameters: Parameters) -> None:
    """Raise if a parameter is unsupported in a disaggregated service.

    The text for ``adapter_id`` follows the one for ``stop``; unverified.
    """
    if parameters.stop:
        raise refusal("stop is not supported in dmi mode", "stop")
    if parameters.adapter_id != NO_ADAPTER:
        raise refusal("adapter_id is not supported in dmi mode", "adapter_id")


def parse_stop(fields: Fields, max_items: int | None = MAX_STOPS) -> tuple[str, ...]:
    """Parse ``stop``: a string or a list; an empty list counts as absent. ``max_items``: bound of a list."""
    value = fields.get("stop")
    if value is None:
        return ()
    if isinstance(value, str):
        length = count_units(value)
        if not 1 <= length <= MAX_STOP_LENGTH:
            raise refusal(f"Input validation error: length of `stop` must be in [1, 1024], but got {length}", "stop")
        return (value,)
    if not isinstance(value, list):
        raise refusal("Input validation error: param stop must be string or list[string]", "stop")
    lengths = [count_units(item) if isinstance(item, str) else 0 for item in value]
    fits = all(1 <= length <= MAX_STOP_LENGTH for length in lengths) and sum(lengths) <= MAX_STOP_TOTAL
    if not fits or (max_items is not None and len(value) > max_items):
        raise refusal(
            "Input validation error: `stop` must be list[string] if list, "
            "and item length in [1, 1024] with total <= 32768",
            "stop",
        )
    return tuple(value)


def _parse_adapter(fields: Fields) -> str:
    value = parse_string(fields, "adapter_id")
    if value is None:
        return NO_ADAPTER
    if not _ADAPTER.fullmatch(value):
        raise refusal("The format of adapter_id is invalid.", "adapter_id")
    return value


def build_sampling(
    parameters: Parameters, max_tokens: int, tokenizer: Tokenizer, *, logprobs: bool = False
) -> Sampling:
    """Build the sampling: ``do_sample`` decides; if absent, any of temperature, ``top_k`` and ``top_p`` enables it.

    A ``top_k`` of at least the vocabulary size is no limit.
    """
    temperature, top_k, top_p = parameters.temperature, parameters.top_k, parameters.top_p
    sample = parameters.do_sample
    if sample is None:
        sample = temperature is not None or top_k is not None or top_p is not None
    if top_k is None or top_k >= tokenizer.vocabulary_size:
        top_k = 0
    return Sampling(
        max_tokens=max_tokens,
        greedy=not sample or top_k == 1,
        seed=parameters.seed,
        parameters=(
            ("temperature", 1.0 if temperature is None else float(temperature)),
            ("top_k", top_k),
            ("top_p", top_p or 1.0),
            ("repetition_penalty", float(parameters.repetition_penalty or 1.0)),
        ),
        stop=parameters.stop,
        show_eos=True,
        logprobs=0 if logprobs else None,
    )
