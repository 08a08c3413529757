"""The fields that chat and text completions share: their checks in the server's order, and what they do.

Source: model_server, src/llm/apis/openai_completions.cpp, parseCommonPart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from emulator.core.call import Sampling
from emulator.core.json import JSON
from emulator.vendors.openvino.errors import refuse, refuse_body
from emulator.vendors.openvino.front import Accepted
from emulator.vendors.openvino.numbers import UINT32, is_int32, is_number, is_uint32, is_uint64

_ENDLESS = 4000  # tokens of an answer that ignores its end and has no other bound
_RANGES: dict[str, tuple[float, float, str]] = {
    "frequency_penalty": (-2.0, 2.0, "(-2.0, 2.0)"),
    "presence_penalty": (-2.0, 2.0, "(-2.0, 2.0)"),
    "temperature": (0.0, 2.0, "(0.0, 2.0)"),
    "top_p": (0.0, 1.0, "(0.0, 1.0)"),
}
_DEFAULTS: dict[str, float] = {
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "repetition_penalty": 1.0,
    "diversity_penalty": 1.0,
    "length_penalty": 1.0,
    "top_p": 1.0,
    "min_p": 0.0,
}
_BEAM_KNOBS = ("diversity_penalty", "length_penalty")
_SAMPLING_KNOBS = ("top_p", "min_p")
_PENALTIES = ("frequency_penalty", "presence_penalty", "repetition_penalty")


@dataclass(slots=True, eq=False)
class Fields:
    """What the request says, once checked.

    Fields:
        numbers: the float fields that were given.
        max_tokens: ``None``: until the end of the sequence.
    """

    accepted: Accepted
    body: dict[str, JSON]
    numbers: dict[str, float] = field(default_factory=dict)
    include_usage: bool = False
    ignore_eos: bool = False
    max_tokens: int | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    keep_stop: bool = False
    best_of: int = 1
    n: int = 1
    logprobs: bool = False
    echo: bool = False
    plain: bool = False

    def given(self, name: str) -> JSON:
        """The field's value; ``...`` if it is absent, or null where that means absent."""
        value = self.body.get(name, ...)
        return ... if value is None and self.accepted.release.null_is_absent else value

    @property
    def temperature(self) -> float:
        return self.numbers.get("temperature", self.accepted.release.temperature)

    @property
    def samples(self) -> bool:
        return self.best_of == 1 and self.temperature > 0

    @property
    def draws(self) -> bool:
        """More than one token may follow."""
        return self.samples and self.top_k != 1

    @property
    def max_tokens_limit(self) -> int:
        own: JSON = self.accepted.deployment.traits.get("max_tokens_limit")
        return own if is_uint32(own) else self.accepted.release.max_tokens_limit


def read_fields(accepted: Accepted) -> Fields:
    """Check the common fields; the first failure wins.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    read = Fields(accepted, accepted.body or {})
    _read_stream_options(read)
    read.ignore_eos = read_flag(read, "ignore_eos")
    _read_max_tokens(read)
    _read_numbers(read)
    _read_top_k(read)
    _read_seed(read)
    _read_stop(read)
    _read_beams(read)
    _read_speculative(read)
    if accepted.release.full_checks:
        _read_special_tokens(read)
    if accepted.release.modalities:
        _read_modalities(read)
    return read


def read_flag(read: Fields, name: str, default: bool = False) -> bool:
    """A boolean."""
    value = read.given(name)
    if value is ...:
        return default
    if not isinstance(value, bool):
        refuse(f"{name} accepts values true or false")
    return value


def _read_stream_options(read: Fields) -> None:
    options = read.given("stream_options")
    if options is ...:
        return
    if not read.accepted.stream:
        refuse("stream_options provided, but stream not set to true")
    if not isinstance(options, dict):
        refuse("stream_options is not an object")
    usage = options.get("include_usage", False)
    if not isinstance(usage, bool):
        refuse("stream_options.include_usage is not a boolean")
    if set(options) - {"include_usage"}:
        refuse("Found unexpected stream options. Properties accepted in stream_options: include_usage")
    read.include_usage = usage


def read_limit(read: Fields, name: str, *, inclusive: bool = False) -> int | None:
    """A limit of tokens, below the graph's own (or, ``inclusive``, not above it)."""
    value = read.body.get(name, ...) if name == "max_tokens" else read.given(name)  # its null is never absent
    if value is ...:
        return None
    if not is_uint32(value):
        if is_uint64(value):
            refuse(f"{name} value can't be greater than {UINT32 - 1}")
        refuse(f"{name} is not an unsigned integer")
    limit = read.max_tokens_limit
    if limit and (value > limit if inclusive else value >= limit):
        refuse(f"{name} exceeds limit provided in graph config: {limit}")
    count: int = value
    return count


def _read_max_tokens(read: Fields) -> None:
    release = read.accepted.release
    read.max_tokens = read_limit(read, "max_tokens")
    if read.max_tokens is None and release.max_tokens_limit_is_default and read.max_tokens_limit:
        read.max_tokens = read.max_tokens_limit
    cap = release.ignore_eos_limit
    if read.ignore_eos and cap:
        if read.max_tokens is None:
            read.max_tokens = cap
        elif read.max_tokens > cap:
            refuse(f"when ignore_eos is true max_tokens can not be greater than {cap}")


def _read_numbers(read: Fields) -> None:
    release = read.accepted.release
    for name in (
        "frequency_penalty", "presence_penalty", "repetition_penalty", "diversity_penalty", "length_penalty",
        "temperature", "top_p", "min_p",
    ):  # fmt: skip
        if name not in read.body or (value := read.given(name)) is ...:
            continue
        if (name == "diversity_penalty" and not release.diversity_penalty) or (
            name == "min_p" and not release.full_checks
        ):
            continue
        read.numbers[name] = _check_number(name, value, integers=release.integer_floats)


def _check_number(name: str, value: JSON, *, integers: bool) -> float:
    if not is_number(value) or (not integers and type(value) is int):
        refuse(f"{name} is not a {'valid number' if integers else 'floating point number'}")
    number = read_double(value)
    if name == "min_p" and not 0.0 <= number < 1.0:
        refuse("min_p out of range [0.0, 1.0)")
    if name in _RANGES:
        low, high, words = _RANGES[name]
        if not low <= number <= high:
            refuse(f"{name} out of range{words}")
    return number


def read_double(value: JSON) -> float:
    """A number as a C++ double; a literal too big for one was never JSON to the server's reader."""
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        refuse_body("Cannot parse JSON body")
    return number


def _read_top_k(read: Fields) -> None:
    value = read.given("top_k")
    if value is ...:
        return
    if not is_int32(value):
        refuse("top_k is not an integer")
    if read.accepted.release.full_checks and value != -1 and value < 1:
        refuse("top_k must be -1 (all tokens) or a positive integer")
    read.top_k = value


def _read_seed(read: Fields) -> None:
    release = read.accepted.release
    value = read.given("seed")
    if value is ...:
        read.seed = None if release.random_seed else 0
        return
    if not is_uint32(value):
        if not release.full_checks:
            refuse("seed is not an unsigned integer")
        refuse("seed out of range [0, 4294967295]" if type(value) is int else "seed is not an integer")
    read.seed = value


def _read_stop(read: Fields) -> None:
    value = read.given("stop")
    limit = read.accepted.release.stop_limit
    if isinstance(value, str):
        read.stop = (value,)
    elif isinstance(value, list):
        if limit and len(value) > limit:
            refuse(f"stop array must have no more than {limit} strings")
        if not all(isinstance(text, str) for text in value):
            refuse("stop array contains non string element")
        read.stop = tuple(value)
    elif value is not ...:
        refuse("stop is not a string or array of strings")
    read.keep_stop = read_flag(read, "include_stop_str_in_output", default=read.accepted.stream)
    if read.accepted.stream and not read.keep_stop:
        refuse("include_stop_str_in_output cannot be set to false if streaming is used")


def _read_beams(read: Fields) -> None:
    limit = read.accepted.deployment.traits.get("best_of_limit", read.accepted.settings.best_of_limit)
    read.best_of = _read_count(read, "best_of")
    if read.best_of >= limit and read.given("best_of") is not ...:
        refuse(f"best_of exceeds limit provided in graph config: {limit}")
    if read.accepted.stream and read.given("best_of") is not ...:
        refuse("best_of cannot be used in streaming mode")
    read.n = _read_count(read, "n")
    if read.n > read.best_of:
        refuse("n value cannot be greater than best_of")


def _read_count(read: Fields, name: str) -> int:
    value = read.given(name)
    if value is ...:
        return 1
    if not is_uint32(value):
        refuse(f"{name} is not an unsigned integer")
    if value == 0:
        refuse(f"{name} value should be greater than 0")
    count: int = value
    return count


def _read_speculative(read: Fields) -> None:
    """The two fields of speculative decoding: needed on its graphs, refused on others; later left to the engine."""
    if read.accepted.release.speculative != "strict":
        return
    tokens, threshold = read.given("num_assistant_tokens"), read.given("assistant_confidence_threshold")
    names = "num_assistant_tokens and assistant_confidence_threshold"
    given = (tokens is not ...) + (threshold is not ...)
    if read.accepted.deployment.kind != "speculative":
        if given:
            refuse(f"{names} are only supported when speculative decoding is enabled.")
        return
    if given == 0:
        either = "num_assistant_tokens or assistant_confidence_threshold"
        refuse(f"Speculative decoding requires either {either} to be set.")
    if given == 2:
        refuse(f"{names} are mutually exclusive and cannot both be set.")
    _check_draft_values(tokens, threshold)


def _check_draft_values(tokens: JSON, threshold: JSON) -> None:
    if tokens is not ... and (not is_uint32(tokens) or tokens == 0):
        refuse("num_assistant_tokens must be an unsigned integer greater than 0")
    if threshold is not ...:
        if not is_number(threshold):
            refuse("assistant_confidence_threshold must be a positive number")
        if read_double(threshold) <= 0:
            refuse("assistant_confidence_threshold must be greater than 0")


def _read_special_tokens(read: Fields) -> None:
    value = read.given("skip_special_tokens")
    if value is not ... and not isinstance(value, bool):
        refuse("skip_special_tokens is not a bool")
    read.plain = value is False


def _read_modalities(read: Fields) -> None:
    modalities = read.given("modalities")
    if modalities is not ...:
        if not isinstance(modalities, list):
            refuse("modalities is not an array")
        if not all(isinstance(name, str) for name in modalities):
            refuse("modalities array must contain strings")
    _read_audio(read)


def _read_audio(read: Fields) -> None:
    audio = read.given("audio")
    if audio is not ...:
        if not isinstance(audio, dict):
            refuse("audio is not an object")
        if audio.get("format", "wav") not in ("wav", "pcm16"):
            refuse('audio.format must be "wav" or "pcm16"')
    frames = read.given("chunk_frames")
    if frames is not ... and not is_int32(frames):
        refuse("chunk_frames must be a positive integer")
    if frames is not ... and frames < 1:
        refuse("chunk_frames must be >= 1")


def build_sampling(read: Fields, prompt_tokens: int) -> Sampling:
    """What the checked fields do to the answer.

    Beams are not sampled: temperature, ``top_p``, ``top_k`` and ``seed`` change nothing then. Penalties do
    change a text without sampling.
    """
    knobs = _list_knobs(read)
    return Sampling(
        max_tokens=_bound_tokens(read, prompt_tokens),
        greedy=not read.draws and not knobs,
        seed=read.seed if read.draws else None,
        knobs=knobs,
        stop=read.stop,
        keep_stop=read.keep_stop,
        ignore_eos=read.ignore_eos,
        n=read.n,
        logprobs=0 if read.logprobs else None,
        prompt_details=read.echo,
    )


def _list_knobs(read: Fields) -> tuple[tuple[str, JSON], ...]:
    """What the text depends on beside prompt and seed; a field at its default is as one left out."""
    names: tuple[str, ...] = _PENALTIES
    knobs: list[tuple[str, JSON]] = []
    if read.best_of > 1:
        names += _BEAM_KNOBS
        knobs.append(("best_of", read.best_of))
    elif read.draws:
        names += _SAMPLING_KNOBS
        knobs.append(("temperature", read.temperature))
        if read.top_k not in (None, -1, 40 if read.accepted.release.full_checks else -1):
            knobs.append(("top_k", read.top_k))
    numbers = read.numbers
    knobs += [(name, numbers[name]) for name in names if numbers.get(name, _DEFAULTS[name]) != _DEFAULTS[name]]
    return tuple(knobs)


def _bound_tokens(read: Fields, prompt_tokens: int) -> int | None:
    deployment = read.accepted.deployment
    bounds = [read.max_tokens if read.max_tokens is not None else deployment.default_max_tokens, deployment.max_output]
    if deployment.context is not None:
        bounds.append(max(1, deployment.context - prompt_tokens))
    known = [bound for bound in bounds if bound is not None]
    if not known:
        return _ENDLESS if read.ignore_eos else None
    return min(known)


def check_engine(read: Fields) -> None:
    """The engine's own look at the configuration, after everything else.

    Source: openvino.genai, src/cpp/src/generation_config.cpp, validate. The text around the reason is unverified.
    """
    if read.samples and read.top_k == 0:
        _fail("top_k > 0", "top_k must be a strictly positive, but got 0")
    if read.samples and read.numbers.get("top_p") == 0:
        _fail("top_p > 0 && top_p <= 1.0f", "top_p must be a positive float > 0 and < 1, but got 0")
    penalty = read.numbers.get("repetition_penalty", 1.0)
    if penalty <= 0:
        _fail("repetition_penalty > 0", f"Repetition penalty must be a strictly positive float, but got {penalty:g}")
    if read.accepted.release.speculative == "lenient" and read.accepted.deployment.kind == "speculative":
        _check_draft(read)


def _check_draft(read: Fields) -> None:
    names = ("assistant_confidence_threshold", "num_assistant_tokens")
    if all(is_number(read.body.get(name)) and read_double(read.body[name]) > 0 for name in names):
        reason = f"Parameters `{names[0]}` and `{names[1]}` are mutually exclusive in `GenerationConfig`"
        _fail("!(assistant_confidence_threshold > 0 && num_assistant_tokens > 0)", reason)


def _fail(condition: str, reason: str) -> None:
    refuse(f"Check '{condition}' failed at src/cpp/src/generation_config.cpp:\n{reason}\n")
