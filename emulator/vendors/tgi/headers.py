"""Headers of answers.

Source: text-generation-inference, ``router/src/server.rs``.
"""

from emulator.core.http import Headers
from emulator.core.plan import Plan
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.settings import TgiSettings

CORS: Headers = (
    ("vary", "origin, access-control-request-method, access-control-request-headers"),
    ("access-control-allow-origin", "*"),
)
JSON_HEADERS: Headers = (("content-type", "application/json"), *CORS)
TEXT_HEADERS: Headers = (("content-type", "text/plain; charset=utf-8"), *CORS)


def answer_headers(plan: Plan, settings: TgiSettings, prompt: int, characters: int) -> Headers:
    """Timings and counts of an answer in one piece; waiting and validation take no time here.

    Args:
        prompt: tokens of all prompts.
        characters: of all prompts as sent.
    """
    own = plan.choices[0].count if plan.choices else 0
    prompt, generated = report_counts(plan, prompt, own)
    milliseconds = str(int(plan.due * 1000)) if plan.due else "0"
    timed = (
        ("content-type", "application/json"),
        ("x-compute-type", settings.compute_type),
        ("x-compute-time", milliseconds if settings.old else _show_seconds(plan.due)),
        ("x-compute-characters", str(characters)),
        ("x-total-time", milliseconds),
        ("x-validation-time", "0"),
        ("x-queue-time", "0"),
        ("x-inference-time", milliseconds),
        ("x-time-per-token", str(int(plan.due * 1000 / max(1, generated)))),
    )
    counts = () if settings.old else (("x-prompt-tokens", str(prompt)), ("x-generated-tokens", str(generated)))
    return (*timed, *counts, *CORS)


def _show_seconds(seconds: float) -> str:
    """Without an exponent and without a trailing ``.0``."""
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
