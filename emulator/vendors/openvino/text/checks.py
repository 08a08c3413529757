"""The fields that chat and text completions share: their checks, in the server's order.

Source: model_server, src/llm/apis/openai_completions.cpp, parseCommonPart; 2026.x: openai_api_handler.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from emulator.core.json import JSON
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.numbers import is_int32, is_int64, is_number, is_uint32
from emulator.vendors.openvino.request import Accepted
from emulator.vendors.openvino.text.fields import Fields, read_double, read_flag, read_limit

# Their null is a wrong type in every release.
_NEVER_NULL = frozenset(("model", "messages", "max_tokens", "prompt", "input"))
_NUMBERS = (
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "diversity_penalty",
    "length_penalty",
    "temperature",
    "top_p",
    "min_p",
)
_RANGES: dict[str, tuple[float, float, str]] = {
    "frequency_penalty": (-2.0, 2.0, "(-2.0, 2.0)"),
    "presence_penalty": (-2.0, 2.0, "(-2.0, 2.0)"),
    "temperature": (0.0, 2.0, "(0.0, 2.0)"),
    "top_p": (0.0, 1.0, "(0.0, 1.0)"),
}
_SPEECH = frozenset(("modalities", "audio", "chunk_frames"))
_ENDLESS = (-inf, inf, "")


def read_fields(accepted: Accepted) -> Fields:
    """Check the common fields; the first failure wins.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    release = accepted.release
    body = accepted.body
    if release.null_is_absent and None in body.values():
        body = {name: value for name, value in body.items() if value is not None or name in _NEVER_NULL}
    read = Fields(accepted, release, body, seed=None if release.random_seed else 0, keep_stop=accepted.stream)
    if "stream_options" in body:
        _read_stream_options(read)
    _read_max_tokens(read)
    for name, reader in _READERS:
        if name in body:
            reader(read, name)
    if release.speculative == "strict":
        _read_speculative(read)
    if release.full_checks and "skip_special_tokens" in body:
        _read_special_tokens(read)
    if release.modalities and not _SPEECH.isdisjoint(body):
        _read_modalities(read)
    return read


def _read_stream_options(read: Fields) -> None:
    options = read.body["stream_options"]
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


def _read_max_tokens(read: Fields) -> None:
    """``ignore_eos`` and ``max_tokens``: each has a say in the other."""
    body = read.body
    if "ignore_eos" in body:
        read.ignore_eos = read_flag(read, "ignore_eos")
    if "max_tokens" in body:
        read.max_tokens = read_limit(read, "max_tokens")
    elif read.release.max_tokens_limit_is_default:
        read.max_tokens = read.max_tokens_limit or None
    cap = read.release.ignore_eos_limit
    if read.ignore_eos and cap:
        if read.max_tokens is None:
            read.max_tokens = cap
        elif read.max_tokens > cap:
            refuse(f"when ignore_eos is true max_tokens can not be greater than {cap}")


def _read_number(read: Fields, name: str) -> None:
    """One that the release does not know is passed over."""
    release = read.release
    if name == "min_p":
        if release.full_checks:
            _read_min_p(read)
        return
    if name == "diversity_penalty" and not release.diversity_penalty:
        return
    value = read.body[name]
    read.numbers[name] = number = value if type(value) is float else _check_number(read, name)
    low, high, words = _RANGES.get(name, _ENDLESS)
    if not low <= number <= high:
        refuse(f"{name} out of range{words}")


def _check_number(read: Fields, name: str) -> float:
    """A float, or a whole number where the release takes one for it."""
    value = read.body[name]
    if type(value) is float:
        return value
    integers = read.release.integer_floats
    if not integers or not is_number(value):
        refuse(f"{name} is not a {'valid number' if integers else 'floating point number'}")
    return read_double(value)


def _read_min_p(read: Fields) -> None:
    read.numbers["min_p"] = number = _check_number(read, "min_p")
    if not 0.0 <= number < 1.0:
        refuse("min_p out of range [0.0, 1.0)")


def _read_top_k(read: Fields, name: str) -> None:
    value = read.body[name]
    if not is_int32(value):
        refuse("top_k is not an integer")
    if read.release.full_checks and value != -1 and value < 1:
        refuse("top_k must be -1 (all tokens) or a positive integer")
    read.top_k = value


def _read_seed(read: Fields, name: str) -> None:
    value = read.body[name]
    if not is_uint32(value):
        if not read.release.full_checks:
            refuse("seed is not an unsigned integer")
        refuse("seed out of range [0, 4294967295]" if is_int64(value) else "seed is not an integer")
    read.seed = value


def _read_stop(read: Fields, name: str) -> None:
    value = read.body[name]
    limit = read.release.stop_limit
    if isinstance(value, str):
        value = [value]
    elif not isinstance(value, list):
        refuse("stop is not a string or array of strings")
    elif limit and len(value) > limit:
        refuse(f"stop array must have no more than {limit} strings")
    elif not all(isinstance(text, str) for text in value):
        refuse("stop array contains non string element")
    read.stop = tuple(value)


def _read_keep_stop(read: Fields, name: str) -> None:
    read.keep_stop = read_flag(read, name)
    if read.accepted.stream and not read.keep_stop:
        refuse("include_stop_str_in_output cannot be set to false if streaming is used")


def _read_best_of(read: Fields, name: str) -> None:
    limit: JSON = read.accepted.deployment.traits.get("best_of_limit", read.accepted.settings.best_of_limit)
    read.best_of = _read_count(read, name)
    if read.best_of >= limit:
        refuse(f"best_of exceeds limit provided in graph config: {limit}")
    if read.accepted.stream:
        refuse("best_of cannot be used in streaming mode")


def _read_n(read: Fields, name: str) -> None:
    read.n = _read_count(read, name)
    if read.n > read.best_of:
        refuse("n value cannot be greater than best_of")


def _read_count(read: Fields, name: str) -> int:
    value = read.body[name]
    if not is_uint32(value):
        refuse(f"{name} is not an unsigned integer")
    if value == 0:
        refuse(f"{name} value should be greater than 0")
    return value


_SPECULATIVE = ("num_assistant_tokens", "assistant_confidence_threshold")


def _read_speculative(read: Fields) -> None:
    """The two fields of speculative decoding: needed on its graphs, refused on others."""
    names = _SPECULATIVE
    given = [name for name in names if name in read.body]
    if read.accepted.kind != "speculative":
        if given:
            refuse(f"{' and '.join(names)} are only supported when speculative decoding is enabled.")
    elif not given:
        refuse(f"Speculative decoding requires either {' or '.join(names)} to be set.")
    elif len(given) == 2:
        refuse(f"{' and '.join(names)} are mutually exclusive and cannot both be set.")
    elif given == ["num_assistant_tokens"]:
        tokens = read.body["num_assistant_tokens"]
        if not is_uint32(tokens) or tokens == 0:
            refuse("num_assistant_tokens must be an unsigned integer greater than 0")
    else:
        _check_threshold(read.body["assistant_confidence_threshold"])


def _check_threshold(value: JSON) -> None:
    if not is_number(value):
        refuse("assistant_confidence_threshold must be a positive number")
    if read_double(value) <= 0:
        refuse("assistant_confidence_threshold must be greater than 0")


def _read_special_tokens(read: Fields) -> None:
    value = read.body["skip_special_tokens"]
    if not isinstance(value, bool):
        refuse("skip_special_tokens is not a bool")
    read.plain = not value


def _read_modalities(read: Fields) -> None:
    """Of graphs that speak; a text graph checks them, and then has no use for them."""
    modalities = read.body.get("modalities", [])
    if not isinstance(modalities, list):
        refuse("modalities is not an array")
    if not all(isinstance(name, str) for name in modalities):
        refuse("modalities array must contain strings")
    audio = read.body.get("audio", {})
    if not isinstance(audio, dict):
        refuse("audio is not an object")
    if audio.get("format", "wav") not in ("wav", "pcm16"):
        refuse('audio.format must be "wav" or "pcm16"')
    _check_frames(read.body.get("chunk_frames", 1))


def _check_frames(frames: JSON) -> None:
    if not is_int32(frames):
        refuse("chunk_frames must be a positive integer")
    if frames < 1:
        refuse("chunk_frames must be >= 1")


_READERS: tuple[tuple[str, Callable[[Fields, str], None]], ...] = (
    *((name, _read_number) for name in _NUMBERS),
    ("top_k", _read_top_k),
    ("seed", _read_seed),
    ("stop", _read_stop),
    ("include_stop_str_in_output", _read_keep_stop),
    ("best_of", _read_best_of),
    ("n", _read_n),
)
