"""Build the response headers of TGI's router.

Source: text-generation-inference, ``router/src/server.rs``.
"""

from emulator.core.http import Headers
from emulator.core.plan import Plan
from emulator.protocols.choice_events import last_due
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.settings import TgiSettings

CORS: Headers = (
    ("vary", "origin, access-control-request-method, access-control-request-headers"),
    ("access-control-allow-origin", "*"),
)
JSON_HEADERS: Headers = (("content-type", "application/json"), *CORS)
TEXT_HEADERS: Headers = (("content-type", "text/plain; charset=utf-8"), *CORS)


def response_headers(plan: Plan, settings: TgiSettings, prompt: int, characters: int) -> Headers:
    """Build the headers of a non-streaming response; queueing and validation take 0 ms.

    Args:
        prompt: number of tokens of the prompt.
        characters: number of characters of the prompt.
    """
    count = plan.choices[0].count if plan.choices else 0
    prompt, generated = report_counts(plan, prompt, count)
    milliseconds = str(int(plan.due * 1000)) if plan.due else "0"
    computed = ("x-compute-time", milliseconds if settings.old else _format_seconds(plan.due))
    each = str(int(plan.due * 1000 / max(1, generated)))
    head, *rest = _list_headers(settings, characters, milliseconds, each)
    counts = () if settings.old else _list_counts(prompt, generated)
    return (("content-type", "application/json"), head, computed, *rest, *counts, *CORS)


def joint_headers(plan: Plan, settings: TgiSettings, prompt: int, characters: int) -> Headers:
    """Build the headers of a response to several prompts: sums over the prompts, without the time of computation.

    Source: text-generation-inference, ``router/src/server.rs:1024-1121`` (completions).
    """
    choices = plan.choices
    prompt, generated = report_counts(plan, prompt, sum([choice.count for choice in choices]))
    times = [int(last_due(choice, plan.due) * 1000) for choice in choices]
    each = sum([int(time / max(1, choice.count)) for time, choice in zip(times, choices, strict=True)])
    listed = _list_headers(settings, characters, str(sum(times)), str(each))
    return (("content-type", "application/json"), *listed, *_list_counts(prompt, generated), *CORS)


def _list_headers(settings: TgiSettings, characters: int, milliseconds: str, each: str) -> Headers:
    return (
        ("x-compute-type", settings.compute_type),
        ("x-compute-characters", str(characters)),
        ("x-total-time", milliseconds),
        ("x-validation-time", "0"),
        ("x-queue-time", "0"),
        ("x-inference-time", milliseconds),
        ("x-time-per-token", each),
    )


def _list_counts(prompt: int, generated: int) -> Headers:
    return (("x-prompt-tokens", str(prompt)), ("x-generated-tokens", str(generated)))


def _format_seconds(seconds: float) -> str:
    """Format seconds without an exponent or a trailing ``.0``."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") if seconds else "0"


def stream_headers(settings: TgiSettings, characters: int) -> Headers:
    return (
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-compute-type", settings.compute_type),
        ("x-compute-characters", str(characters)),
        ("x-accel-buffering", "no"),
        *CORS,
    )
