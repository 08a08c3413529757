"""Parse the sampling fields that the vLLM and OpenAI routes share, in the order the server checks them.

``generate/fields.py`` parses those of the other routes; ``ranges.py`` has the ranges of both.

Source: MindIE-LLM, ``utils/infer_param.cpp`` and the ``SetupInferParams`` of each route.
"""

from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.requests import Sampling
from emulator.vendors.mindie import ranges
from emulator.vendors.mindie.decoder import (
    Fields,
    format_value,
    is_integer,
    parse_boolean,
    parse_float,
    parse_integer,
    parse_unsigned,
    refusal,
)
from emulator.vendors.mindie.generate.fields import parse_stop
from emulator.vendors.mindie.postprocess import Stops
from emulator.vendors.mindie.settings import MindieSettings

MAX_CHOICES = 128
MAX_BEAM_TOKENS = 128


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class SamplingFields:
    """Validated fields up to ``use_beam_search``; ``None``: absent from the request.

    Fields:
        top_k: 0 means no limit.
        thinking: ``enable_thinking`` of the chat template.
        skip_special_tokens: has no effect.
        beams: beam search is on.
    """

    ignore_eos: bool
    stops: Stops
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    thinking: bool
    repetition_penalty: float | None
    frequency_penalty: float
    presence_penalty: float
    skip_special_tokens: bool | None
    best_of: int | None
    n: int | None
    beams: bool

    @property
    def choices(self) -> int:
        """Return the number of choices to generate; with beams, the number of choices sent."""
        if self.beams:
            return self.n or 1
        return max(self.best_of or 1, self.n or 1)

    def _is_greedy(self) -> bool:
        temperature, top_k, top_p = self.temperature, self.top_k, self.top_p
        return temperature == 0 or top_k == 1 or (temperature is None and top_k is None and top_p is None)

    def build_sampling(self, max_tokens: int, logprobs: int | None = None) -> Sampling:
        """Build the sampling.

        It is greedy at temperature 0, with a ``top_k`` of 1, or if temperature, ``top_k`` and ``top_p`` are all absent.
        A beam search is greedy if it returns one choice.
        """
        temperature, top_k, top_p = self.temperature, self.top_k, self.top_p
        return Sampling(
            max_tokens=max_tokens,
            greedy=self.choices == 1 if self.beams else self._is_greedy(),
            seed=self.seed if self.seed is not None or not self.beams else 0,
            parameters=(
                ("temperature", 1.0 if temperature is None else temperature),
                ("top_k", top_k or 0),
                ("top_p", top_p or 1.0),
                ("repetition_penalty", self.repetition_penalty or 1.0),
                ("frequency_penalty", self.frequency_penalty),
                ("presence_penalty", self.presence_penalty),
            ),
            stop=self.stops.texts,
            keep_stop=self.stops.keep,
            listed_stop=True,  # source: MindIE-LLM, text_generator/utils/stopping_criteria.py
            ignore_eos=self.ignore_eos,
            show_eos=True,
            n=self.choices,
            logprobs=logprobs,
        )


def parse_sampling(
    fields: Fields, settings: MindieSettings, *, chat: bool = False, beams: bool = True, ids_first: bool = True
) -> SamplingFields:
    """Parse everything up to ``use_beam_search``; ``chat``: include the fields of the chat route.

    Args:
        beams: the route supports beam search.
        ids_first: ``stop_token_ids`` are checked before ``include_stop_str_in_output``.
    """
    return SamplingFields(  # in the server's order of checking
        ignore_eos=parse_boolean(fields, "ignore_eos") or False,
        stops=_parse_stops(fields, ids_first=ids_first),
        temperature=parse_float(fields, "temperature", ranges.TEMPERATURE_OR_ZERO),
        top_k=_parse_top_k(fields),
        top_p=parse_float(fields, "top_p", ranges.TOP_P),
        seed=parse_unsigned(fields, "seed", ranges.SEED),
        thinking=chat and _parse_thinking(fields),
        repetition_penalty=parse_float(fields, "repetition_penalty", ranges.REPETITION_TO_TWO),
        frequency_penalty=parse_float(fields, "frequency_penalty", ranges.FREQUENCY) or 0.0,
        presence_penalty=parse_float(fields, "presence_penalty", ranges.PRESENCE) or 0.0,
        skip_special_tokens=parse_boolean(fields, "skip_special_tokens"),
        best_of=_parse_best_of(fields, settings),
        n=_parse_n(fields, settings),
        beams=beams and _parse_beams(fields, settings),
    )


def _parse_stops(fields: Fields, *, ids_first: bool) -> Stops:
    texts = parse_stop(fields, max_items=None)
    if ids_first:
        return Stops(texts=texts, ids=_parse_stop_ids(fields), keep=_parse_keep_stop(fields))
    return Stops(texts=texts, keep=_parse_keep_stop(fields), ids=_parse_stop_ids(fields))


def _parse_keep_stop(fields: Fields) -> bool:
    """Parse ``include_stop_str_in_output``, which is ignored without a stop field."""
    if "stop" not in fields and "stop_token_ids" not in fields:
        return False
    return parse_boolean(fields, "include_stop_str_in_output") or False


def _parse_stop_ids(fields: Fields) -> frozenset[int]:
    """Parse ``stop_token_ids``; integers outside 0 to 2**31 - 1 are skipped."""
    value = fields.get("stop_token_ids")
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise refusal("Parameter stop_token_ids not array", "stop_token_ids")
    if not all(map(is_integer, value)):
        raise refusal("Parameter stop_token_ids not list[int]", "stop_token_ids")
    return frozenset(item for item in value if 0 <= item <= ranges.MAX_INT32)


def _parse_top_k(fields: Fields) -> int | None:
    """Parse ``top_k``; -1 means no limit, like 0."""
    value = fields.get("top_k")
    return 0 if type(value) is int and value == -1 else parse_integer(fields, "top_k", ranges.TOP_K)


def _parse_thinking(fields: Fields) -> bool:
    """Parse ``chat_template_kwargs``."""
    options = fields.get("chat_template_kwargs")
    if options is None:
        return False
    assert isinstance(options, dict)  # by validate_template
    thinking = parse_boolean(options, "enable_thinking") or False
    parse_integer(options, "thinking_budget", ranges.THINKING_BUDGET)
    return thinking


def _parse_best_of(fields: Fields, settings: MindieSettings) -> int | None:
    value = parse_unsigned(fields, "best_of")
    if value is not None and settings.disaggregated and value != 1:
        text = f"Paramter [best_of] can only be set to 1 in pd disaggregation mode, got {value}."
        raise refusal(text, "best_of")
    if value is not None and not 1 <= value <= MAX_CHOICES:
        raise refusal(f"Parameter [best_of] should be in [1, {MAX_CHOICES}], got {value}.", "best_of")
    return value


def _parse_n(fields: Fields, settings: MindieSettings) -> int | None:
    value = parse_unsigned(fields, "n")
    if value is None:
        return None
    if settings.disaggregated and value != 1:
        raise refusal(f"Parameter [n] can only be set to 1 in pd disaggregation mode, got {value}.", "n")
    if not 1 <= value <= MAX_CHOICES:
        raise refusal(f"Parameter [n] should be in [1, {MAX_CHOICES}], got {value}. ", "n")
    _validate_bound(value, "max_batch_size", settings.max_batch_size, " ")
    _validate_bound(value, "maxPrefillBatchSize", settings.max_prefill_batch_size)
    _validate_bound(value, "maxN", settings.max_n)
    return value


def _validate_bound(value: int, name: str, limit: int, after: str = "") -> None:
    if value > limit:
        text = f"The n parameter ({value}) exceeds '{name}' ({limit}). Please reduce n or increase '{name}' "
        raise refusal(f"{text}in config.json of mindie-service.{after}", "n")


def _parse_beams(fields: Fields, settings: MindieSettings) -> bool:
    beams = parse_boolean(fields, "use_beam_search") or False
    if beams and settings.disaggregated:
        raise refusal("Request param use_beam_search can not be true in pd disaggregation mode.", "use_beam_search")
    return beams


def validate_choices(sampling: SamplingFields, *, stream: bool) -> None:
    """Raise if several choices of a chat lack sampling or beams, or a stream generates more than it sends."""
    best_of, n = sampling.best_of, sampling.n
    if sampling.beams:
        return
    got = f"but best_of is {best_of}, n is {n}."
    if best_of is not None and stream and best_of != n:
        raise refusal(f"best_of must be equal to n in stream mode, {got}", "best_of")
    if best_of is not None and n is not None and best_of < n:
        raise refusal(f"best_of must be greater than or equal to n, {got}", "best_of")
    if sampling.choices > 1 and not sampling.temperature:
        text = "best_of/n can not greater than 1 without using beam search when temperature is 0 or not set, "
        raise refusal(text + got, "best_of")


def validate_completion_choices(sampling: SamplingFields, *, stream: bool) -> None:
    """Raise as :func:`validate_choices` does, with the texts of the completions route."""
    best_of, n = sampling.best_of, sampling.n
    if sampling.beams:
        return
    both = best_of is not None and n is not None
    got = f"but best_of is {_format(best_of)} and n is {_format(n)}."
    if stream and both and best_of != n:
        raise refusal(f"best_of must be equal to n, {got}", "best_of")
    if stream and best_of is not None and n is None:
        raise refusal(f"best_of must be equal to n in stream mode, but best_of is {best_of}, n is None.", "best_of")
    if best_of is not None and n is not None and best_of < n:
        raise refusal(f"Best_of must be greater than or equal to n, {got}", "best_of")
    if sampling.choices > 1 and not sampling.temperature:
        text = "Best_of and n shouldn't be greater than 1 when sampling is disabled, "
        raise refusal(text + got, "best_of")


def _format(value: int | None) -> str:
    return "null" if value is None else str(value)


def validate_features(sampling: SamplingFields, settings: MindieSettings, asked: int, logprobs: int | None) -> None:
    """Raise if fields conflict: beams with long responses, log-probabilities with a disaggregated service."""
    if settings.disaggregated and logprobs is not None:
        raise refusal("logprobs is not supported in dmi mode", "logprobs")
    if sampling.beams and asked > MAX_BEAM_TOKENS:
        text = f"Please set the max_tokens to be not larger than {MAX_BEAM_TOKENS} when the use_beam_search is on."
        raise refusal(text, "max_tokens")


def parse_max_tokens(fields: Fields) -> int | None:
    value = fields.get("max_tokens")
    if value is None:
        return None
    if not is_integer(value):
        raise refusal("Parameter max_tokens not number_integer", "max_tokens")
    if not 1 <= value <= ranges.MAX_INT32:
        raise refusal(f"Parameter max_tokens must be (0,{ranges.MAX_INT32}], got {format_value(value)}", "max_tokens")
    return value


def parse_model(fields: Fields, models: Mapping[str, object], unknown: str) -> str:
    """Parse ``model``, the name of a model or an adapter; ``unknown``: error text for any other name."""
    value = fields.get("model")
    if value is None:
        raise refusal("Request contains not model or model null", "model")
    if not isinstance(value, str):
        raise refusal("Request param model must be string", "model")
    if not value:
        raise refusal("Request param model must be not empty", "model")
    if value not in models:
        raise refusal(unknown, "model")
    return value
