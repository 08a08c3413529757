"""What the checked fields do to the answer, and the engine's own look at them.

Source: model_server, src/llm/apis/openai_completions.hpp, createGenerationConfig; openvino.genai,
src/cpp/src/generation_config.cpp, validate.
"""

from __future__ import annotations

from typing import NoReturn

from emulator.core.call import Sampling
from emulator.core.json import JSON
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.numbers import is_number
from emulator.vendors.openvino.text.fields import Fields, read_double

_ENDLESS = 4000  # tokens of an answer that ignores its end and has no other bound
_PENALTIES = {"frequency_penalty": 0.0, "presence_penalty": 0.0, "repetition_penalty": 1.0}
_OF_BEAMS = _PENALTIES | {"diversity_penalty": 1.0, "length_penalty": 1.0}
_OF_DRAWS = _PENALTIES | {"top_p": 1.0, "min_p": 0.0}
_DEFAULT_TOP_K = 40  # since the release that checks it


def build_sampling(read: Fields, prompt_tokens: int) -> Sampling:
    """How the answer's tokens are chosen and where they end.

    Beams are not sampled: temperature, ``top_p``, ``top_k`` and ``seed`` change nothing then. Penalties
    change a text that is not sampled, too.
    """
    draws = samples(read) and read.top_k != 1
    knobs = _list_knobs(read, draws)
    return Sampling(
        max_tokens=_bound_tokens(read, prompt_tokens),
        greedy=not draws and not knobs,
        seed=read.seed if draws else None,
        knobs=knobs,
        stop=read.stop,
        keep_stop=read.keep_stop,
        ignore_eos=read.ignore_eos,
        n=read.n,
        logprobs=0 if read.logprobs else None,
        prompt_details=read.echo,
    )


def samples(read: Fields) -> bool:
    """Multinomial sampling; more beams than one, or temperature 0, are not."""
    return read.best_of == 1 and read.numbers.get("temperature", read.release.temperature) > 0


def _list_knobs(read: Fields, draws: bool) -> tuple[tuple[str, JSON], ...]:
    """What the text depends on beside prompt and seed; a field at its default is as one left out."""
    numbers = read.numbers
    knobs: list[tuple[str, JSON]] = []
    defaults = _PENALTIES
    if read.best_of > 1:
        defaults = _OF_BEAMS
        knobs.append(("best_of", read.best_of))
    elif draws:
        defaults = _OF_DRAWS
        knobs.append(("temperature", numbers.get("temperature", read.release.temperature)))
        if read.top_k not in (None, _DEFAULT_TOP_K if read.release.full_checks else -1):
            knobs.append(("top_k", read.top_k))
    for name, default in defaults.items():
        if name in numbers and numbers[name] != default:
            knobs.append((name, numbers[name]))
    return tuple(knobs)


def _bound_tokens(read: Fields, prompt_tokens: int) -> int | None:
    """The tightest of the request's, the deployment's and the model's own bounds."""
    deployment = read.accepted.deployment
    bound = read.max_tokens if read.max_tokens is not None else deployment.default_max_tokens
    if deployment.max_output is not None and (bound is None or bound > deployment.max_output):
        bound = deployment.max_output
    if deployment.context is not None:
        room = max(1, deployment.context - prompt_tokens)
        bound = room if bound is None else min(bound, room)
    return _ENDLESS if bound is None and read.ignore_eos else bound


def check_engine(read: Fields) -> None:
    """The engine's check of the whole configuration, after everything else; the text around the reason is unverified.

    Raises:
        EmulatedError: worded as the calculator does.
    """
    numbers = read.numbers
    if read.top_k == 0 and samples(read):
        _fail("top_k > 0", "top_k must be a strictly positive, but got 0")
    if numbers:
        if numbers.get("top_p") == 0 and samples(read):
            _fail("top_p > 0 && top_p <= 1.0f", "top_p must be a positive float > 0 and < 1, but got 0")
        penalty = numbers.get("repetition_penalty", 1.0)
        if penalty <= 0:
            reason = f"Repetition penalty must be a strictly positive float, but got {penalty:g}"
            _fail("repetition_penalty > 0", reason)
    if read.release.speculative == "lenient" and read.accepted.kind == "speculative":
        _check_draft(read)


def _check_draft(read: Fields) -> None:
    names = ("assistant_confidence_threshold", "num_assistant_tokens")
    if all(is_number(read.body.get(name)) and read_double(read.body[name]) > 0 for name in names):
        reason = f"Parameters `{names[0]}` and `{names[1]}` are mutually exclusive in `GenerationConfig`"
        _fail("!(assistant_confidence_threshold > 0 && num_assistant_tokens > 0)", reason)


def _fail(condition: str, reason: str) -> NoReturn:
    refuse(f"Check '{condition}' failed at src/cpp/src/generation_config.cpp:\n{reason}\n")
