"""Parse and validate the fields that chat, completions and Responses share, in the server's order.

Source: model_server, src/llm/apis/openai_completions.cpp, parseCommonPart; 2026.x: openai_api_handler.cpp.
"""

from collections.abc import Callable

from emulator.core.json import JSON
from emulator.vendors.openvino.decoder import UINT32, is_number, is_uint32, is_uint64, parse_double
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields, ParsedRequest, parse_flag
from emulator.vendors.openvino.sampling import CHECKS

# Fields that may be null in no release.
_NEVER_NULL = frozenset(("model", "messages", "max_tokens", "prompt", "input"))
_SPEECH = frozenset(("modalities", "audio", "chunk_frames"))
_SPECULATIVE = ("num_assistant_tokens", "assistant_confidence_threshold")


def parse_fields(parsed: ParsedRequest) -> Fields:
    """Parse the common fields; the first invalid one is reported."""
    fields = begin_fields(parsed)
    release, body = fields.release, fields.body
    if "stream_options" in body:
        _parse_stream_options(fields)
    _parse_max_tokens(fields)
    for name, check in _CHECKS:
        if name in body:
            check(fields, name)
    if release.speculative == "strict":
        _validate_speculative(fields)
    if release.full_checks and "skip_special_tokens" in body:
        _parse_special_tokens(fields)
    if release.modalities and not _SPEECH.isdisjoint(body):
        parse_audio_fields(fields)
    return fields


def begin_fields(parsed: ParsedRequest) -> Fields:
    """Return the fields of a body before validation, without those that are null and so count as absent."""
    release, body = parsed.release, parsed.body
    if release.null_is_absent and None in body.values():
        body = {name: value for name, value in body.items() if value is not None or name in _NEVER_NULL}
    return Fields(parsed, release, body, seed=None if release.random_seed else 0, keep_stop=parsed.stream)


def parse_first_fields(fields: Fields) -> None:
    """Parse the fields of 2024.2, which has fewer in another order."""
    body = fields.body
    if "ignore_eos" in body:
        fields.ignore_eos = parse_flag(fields, "ignore_eos")
    value = body.get("max_tokens", 1)
    if not is_uint32(value):
        raise refusal("max_tokens is not an unsigned integer")
    if value == 0:
        raise refusal("max_tokens value should be greater than 0")
    _cap_tokens(fields, value if "max_tokens" in body else None)
    for name, check in _FIRST_CHECKS:
        if name in body:
            check(fields, name)


def _parse_stream_options(fields: Fields) -> None:
    options = fields.body["stream_options"]
    if not fields.parsed.stream:
        raise refusal("stream_options provided, but stream not set to true")
    if not isinstance(options, dict):
        raise refusal("stream_options is not an object")
    usage = options.get("include_usage", False)
    if not isinstance(usage, bool):
        raise refusal("stream_options.include_usage is not a boolean")
    if set(options) - {"include_usage"}:
        raise refusal("Found unexpected stream options. Properties accepted in stream_options: include_usage")
    fields.include_usage = usage


def _parse_max_tokens(fields: Fields) -> None:
    """Parse ``ignore_eos`` and ``max_tokens``; the bound of each depends on the other."""
    body = fields.body
    if "ignore_eos" in body:
        fields.ignore_eos = parse_flag(fields, "ignore_eos")
    if "max_tokens" in body:
        fields.max_tokens = parse_token_limit(fields, "max_tokens")
    elif fields.release.max_tokens_limit_is_default:
        fields.max_tokens = fields.parsed.profile.max_tokens_limit or None
    _cap_tokens(fields, fields.max_tokens)


def _cap_tokens(fields: Fields, asked: int | None) -> None:
    """Cap the tokens of a response that ignores end-of-sequence, as releases before 2025.1 do."""
    cap = fields.release.ignore_eos_limit
    if fields.ignore_eos and cap:
        if asked is not None and asked > cap:
            raise refusal(f"when ignore_eos is true max_tokens can not be greater than {cap}")
        asked = cap if asked is None else asked
    fields.max_tokens = asked


def parse_token_limit(fields: Fields, name: str, *, inclusive: bool = False) -> int | None:
    """Parse a number of tokens, below the graph's limit or, with ``inclusive``, at most equal to it."""
    if name not in fields.body:
        return None
    value = fields.body[name]
    if not is_uint32(value):
        if is_uint64(value):
            raise refusal(f"{name} value can't be greater than {UINT32 - 1}")
        raise refusal(f"{name} is not an unsigned integer")
    limit = fields.parsed.profile.max_tokens_limit
    if limit and (value > limit if inclusive else value >= limit):
        raise refusal(f"{name} exceeds limit provided in graph config: {limit}")
    return value


def parse_max_completion_tokens(fields: Fields) -> None:
    """Parse ``max_completion_tokens``, which overrides ``max_tokens``."""
    release = fields.release
    if not release.max_completion_tokens:
        return
    limit = parse_token_limit(fields, "max_completion_tokens", inclusive=release.since(2025, 1))
    cap = release.ignore_eos_limit
    if fields.ignore_eos and cap and limit is not None and limit > cap:
        raise refusal(f"when ignore_eos is true max_completion_tokens can not be greater than {cap}")
    fields.max_tokens = limit


def _parse_stop(fields: Fields, name: str) -> None:
    """Parse ``stop``. The engine keeps a sorted set, and of two that one token completes takes the first.

    Source: openvino.genai, src/cpp/src/sampling/sampler.cpp (match_stop_string).
    """
    value = fields.body[name]
    limit = fields.release.stop_limit
    if isinstance(value, str):
        fields.stop = (value,)
        return
    if not isinstance(value, list):
        raise refusal("stop is not a string or array of strings")
    if limit and len(value) > limit:
        raise refusal(f"stop array must have no more than {limit} strings")
    if not all(isinstance(text, str) for text in value):
        raise refusal("stop array contains non string element")
    fields.stop = tuple(sorted(value))


def _parse_keep_stop(fields: Fields, name: str) -> None:
    fields.keep_stop = parse_flag(fields, name)
    if fields.parsed.stream and not fields.keep_stop:
        raise refusal("include_stop_str_in_output cannot be set to false if streaming is used")


def _parse_best_of(fields: Fields, name: str) -> None:
    limit = fields.parsed.profile.best_of_limit
    fields.best_of = _parse_count(fields, name)
    if not fields.release.since(2025, 0):
        return
    if fields.best_of >= limit:
        raise refusal(f"best_of exceeds limit provided in graph config: {limit}")
    if fields.parsed.stream:
        raise refusal("best_of cannot be used in streaming mode")


def _parse_n(fields: Fields, name: str) -> None:
    fields.n = _parse_count(fields, name)
    if fields.n > 1 and fields.parsed.stream and fields.parsed.request.path.endswith("/responses"):
        raise refusal("n greater than 1 is not supported for Responses API streaming")
    if fields.n > fields.best_of:
        raise refusal("n value cannot be greater than best_of")


def _parse_count(fields: Fields, name: str) -> int:
    value = fields.body[name]
    if not is_uint32(value):
        raise refusal(f"{name} is not an unsigned integer")
    if value == 0:
        raise refusal(f"{name} value should be greater than 0")
    return value


def _validate_speculative(fields: Fields) -> None:
    """Validate the fields of speculative decoding: required on its graphs, refused on others."""
    present = [name for name in _SPECULATIVE if name in fields.body]
    if fields.parsed.profile.kind != "speculative":
        if present:
            raise refusal(f"{' and '.join(_SPECULATIVE)} are only supported when speculative decoding is enabled.")
    elif not present:
        raise refusal(f"Speculative decoding requires either {' or '.join(_SPECULATIVE)} to be set.")
    elif len(present) == 2:
        raise refusal(f"{' and '.join(_SPECULATIVE)} are mutually exclusive and cannot both be set.")
    elif present == ["num_assistant_tokens"]:
        tokens = fields.body["num_assistant_tokens"]
        if not is_uint32(tokens) or tokens == 0:
            raise refusal("num_assistant_tokens must be an unsigned integer greater than 0")
    else:
        _validate_threshold(fields.body["assistant_confidence_threshold"])


def _validate_threshold(value: JSON) -> None:
    if not is_number(value):
        raise refusal("assistant_confidence_threshold must be a positive number")
    if parse_double(value) <= 0:
        raise refusal("assistant_confidence_threshold must be greater than 0")


def _parse_special_tokens(fields: Fields) -> None:
    value = fields.body["skip_special_tokens"]
    if not isinstance(value, bool):
        raise refusal("skip_special_tokens is not a bool")
    fields.plain = not value


def parse_audio_fields(fields: Fields) -> None:
    """Parse ``modalities``, ``audio`` and ``chunk_frames``; they take effect on omni graphs only."""
    modalities = fields.body.get("modalities", [])
    if not isinstance(modalities, list):
        raise refusal("modalities is not an array")
    if not all(isinstance(name, str) for name in modalities):
        raise refusal("modalities array must contain strings")
    audio = fields.body.get("audio", {})
    if not isinstance(audio, dict):
        raise refusal("audio is not an object")
    form = audio.get("format")
    if isinstance(form, str) and form not in ("wav", "pcm16"):
        raise refusal('audio.format must be "wav" or "pcm16"')
    frames = fields.body.get("chunk_frames", 1)
    if not is_uint32(frames):
        raise refusal("chunk_frames must be a positive integer")
    if frames < 1:
        raise refusal("chunk_frames must be >= 1")
    fields.speaks = "audio" in modalities
    fields.writes = "text" in modalities or not fields.speaks
    fields.pcm = form == "pcm16"
    fields.chunk_frames = frames


_CHECKS: tuple[tuple[str, Callable[[Fields, str], None]], ...] = (
    *CHECKS,
    ("stop", _parse_stop),
    ("include_stop_str_in_output", _parse_keep_stop),
    ("best_of", _parse_best_of),
    ("n", _parse_n),
)
_FIRST = (
    *("repetition_penalty", "diversity_penalty", "length_penalty", "temperature", "top_p", "top_k", "seed", "best_of"),
    "n",
)
_FIRST_CHECKS = tuple((name, dict(_CHECKS)[name]) for name in _FIRST)
