"""Route ``GET /metrics``: Prometheus page of the router.

Source: text-generation-inference, ``router/src/server.rs:1898-2113`` (buckets, descriptions) and
``backends/v3/src/backend.rs`` (batches); metrics-exporter-prometheus 0.15.3 and, for 0.9.4, 0.12.1. A metric appears
with its first value. Each request counts as a batch of its own: one prefill for the first token and one decode step for
each further token. A chat and completions count once by themselves and once for each generation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from operator import mul
from typing import TypeVar

from emulator.core.http import Request, Response
from emulator.encoding.prometheus import (
    Labels,
    WeightedSamples,
    encode_page,
    format_histogram,
    format_summary,
    format_values,
)
from emulator.protocols.tgi import count_answers, count_waiting
from emulator.vendors.tgi.headers import TEXT_HEADERS
from emulator.vendors.tgi.request import PREFILL_CHUNK
from emulator.vendors.tgi.settings import TgiService

T = TypeVar("T")
_SECONDS: Sequence[float] = tuple(accumulate(repeat(1.5, 35), mul, initial=0.0001))[1:]
_SIZES: Sequence[float] = tuple(range(1, 1025))
_QUANTILES = (0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
_GENERATING = ("/", "/generate", "/generate_stream", "/invocations")
_DOUBLED = ("/v1/chat/completions", "/v1/completions", "/vertex")  # counted before and in a generation
_SINGLE = "/chat_tokenize"
# Label `err` of a failure, by the kind the emulator counts.
_FAILURES: Mapping[str, tuple[str, ...]] = {
    "validation": ("invalid_parameter", "context_length"),
    "overloaded": ("overloaded", "rate_limited"),
    "generation": ("timeout", "content_filter", "not_ready", "late_error"),
    "incomplete": ("internal",),
    "dropped": ("client_left",),
}
# Label `err` of refusals before any generation, by their reason; none: the router counts the request alone.
_EARLY: Mapping[str, str] = {
    "template_error": "template",
    "tool_error": "",
    "suffix not supported": "validation",
    "batch size exceeded": "validation",
    "Input validation error": "",
    "best_of": "",
}
_KINDS = {kind: name for name, kinds in _FAILURES.items() for kind in kinds}
_HELP: Mapping[str, str] = {
    "tgi_request_success": "Number of successful requests",
    "tgi_request_duration": "Request duration",
    "tgi_request_validation_duration": "Request validation duration",
    "tgi_request_queue_duration": "Request queue duration",
    "tgi_request_inference_duration": "Request inference duration",
    "tgi_request_mean_time_per_token_duration": "Mean time per token per request",
    "tgi_request_generated_tokens": "Generated tokens per request",
    "tgi_batch_inference_count": "Inference calls per method (prefill or decode)",
    "tgi_request_count": "Total number of requests",
    "tgi_batch_inference_success": "Number of successful inference calls per method (prefill or decode)",
    "tgi_batch_current_size": "Current batch size",
    "tgi_queue_size": "Current queue size",
    "tgi_batch_current_max_tokens": "Maximum tokens for the current batch",
    "tgi_request_max_new_tokens": "Maximum new tokens per request",
    "tgi_batch_inference_duration": "Batch inference duration",
    "tgi_batch_forward_duration": "Batch forward duration per method (prefill or decode)",
    "tgi_request_skipped_tokens": "Speculated tokens per request",
    "tgi_batch_filter_duration": (
        "Time spent filtering batches and sending generated tokens per method (prefill or decode)"
    ),
    "tgi_batch_decode_duration": "Time spent decoding a batch per method (prefill or decode)",
    "tgi_request_input_length": "Input token length per request",
    "tgi_batch_next_size": "Batch size of the next batch",
}


def _split(limit: int) -> Sequence[float]:
    """Return 100 histogram buckets up to ``limit`` tokens."""
    return tuple(limit / 100 * (step + 1) for step in range(100))


def handle_metrics(request: Request, service: TgiService) -> Response:
    families = (*_format_counters(service), *_format_gauges(service), *_format_distributions(service))
    lines = [line for family in families for line in (*family, "")]
    return Response(200, encode_page(lines), TEXT_HEADERS)


def _count_requests(service: TgiService) -> tuple[int, int, Mapping[str, int]]:
    """Return the requests as the router counts them, the successful generations, and the failures by ``err``.

    Source: text-generation-inference, ``router/src/infer/mod.rs:252-256`` (apply_chat_template) and
    ``router/src/server.rs:747-775`` (completions).
    """
    total, lost, failures = int(service.metrics.total("prompts")), 0, dict.fromkeys((*_FAILURES, "template"), 0)
    for (path, error, status, begun, reason), many in service.metrics.outcomes().items():
        kind = _KINDS.get(error)
        if reason in _EARLY:
            total += many
            if _EARLY[reason]:
                failures[_EARLY[reason]] += many
            continue
        if path == _SINGLE and (not error or kind == "validation"):
            total += many
        is_health = error == "not_ready" and status == 503
        if path not in (*_GENERATING, *_DOUBLED) or (kind is None and not begun) or is_health:
            continue
        total += many * ((path in _DOUBLED) + (not begun))
        if kind is not None:
            failures[kind] += many
            lost += many * begun
    prompts = int(service.metrics.total("prompts")) - count_answers(service)
    return total, max(0, prompts - lost), failures


def _count_steps(service: TgiService, begun: int) -> Mapping[str, int]:
    """Return the inference calls by method; ``begun``: successful generations."""
    return {"prefill": begun, "decode": max(0, int(service.metrics.total("completion_tokens")) - begun)}


def _spread(samples: Sequence[float], count: int) -> WeightedSamples:
    """Return samples that stand for ``count``, such as one of each request for all its steps."""
    each, more = divmod(count, max(1, len(samples)))
    return WeightedSamples(samples, [each + (number < more) for number in range(len(samples))])


def _describe(service: TgiService, name: str) -> str:
    """Return the help text of a metric; 0.9.4 has none."""
    return "" if service.settings.old else _HELP.get(name, "")


def _format_counters(service: TgiService) -> Iterator[Iterable[str]]:
    metrics, settings = service.metrics, service.settings
    total, begun, failures = _count_requests(service)
    steps = _count_steps(service, begun)
    failed = failures["generation"] + failures["incomplete"]
    reason = "wait_exceeded" if settings.old else "chunking"
    calls = {"prefill": steps["prefill"] + failed, "decode": steps["decode"]}
    counters: Mapping[str, list[tuple[Labels, int]]] = {
        "tgi_request_count": [({}, total)],
        "tgi_request_success": [({}, begun)],
        "tgi_request_failure": _label("err", failures),
        "tgi_batch_inference_count": _label("method", calls),
        "tgi_batch_inference_success": _label("method", steps),
        "tgi_batch_inference_failure": _label("method", {"prefill": failed}),
        "tgi_batch_concat": [({"reason": reason}, int(metrics.total("joined")))],
    }
    for name, series in counters.items():
        found = [(labels, value) for labels, value in series if value]
        if found:
            yield format_values("counter", name, found, _describe(service, name))


def _format_gauges(service: TgiService) -> Iterator[Iterable[str]]:
    if not service.metrics.total("prompts"):
        return
    running, settings = count_answers(service), service.settings
    gauges: dict[str, float] = {
        "tgi_queue_size": count_waiting(service),
        "tgi_batch_current_size": running,
        "tgi_batch_current_max_tokens": running * settings.max_total_tokens,
    }
    for name, value in gauges.items():
        yield format_values("gauge", name, [({}, value)], _describe(service, name))


def _format_distributions(service: TgiService) -> Iterator[Iterable[str]]:
    metrics, settings = service.metrics, service.settings
    durations = metrics.samples("duration")
    idle = [0.0] * len(durations)
    total, prompt = _split(settings.max_total_tokens), _split(settings.max_input_tokens)
    counts = _count_steps(service, _count_requests(service)[1])
    taken = {"prefill": metrics.samples("ttft"), "decode": metrics.samples("itl")}
    steps = _label("method", {name: _spread(samples, counts[name]) for name, samples in taken.items() if samples})
    still = [(labels, WeightedSamples([0.0] * len(samples), times)) for labels, (samples, times) in steps]
    lengths = metrics.samples("limit")
    if not settings.old:
        lengths = [min(length, PREFILL_CHUNK) for length in lengths]
    found: Mapping[str, tuple[Sequence[float], Sequence[tuple[Labels, Sequence[float] | WeightedSamples]]]] = {
        "tgi_request_duration": (_SECONDS, [({}, durations)]),
        "tgi_request_inference_duration": (_SECONDS, [({}, durations)]),
        "tgi_request_validation_duration": (_SECONDS, [({}, idle)]),
        "tgi_request_queue_duration": (_SECONDS, [({}, idle)]),
        "tgi_request_mean_time_per_token_duration": (_SECONDS, [({}, metrics.samples("itl"))]),
        "tgi_request_generated_tokens": (total, [({}, metrics.samples("completion_tokens"))]),
        "tgi_request_input_length": (prompt, [({}, metrics.samples("prompt_tokens"))]),
        "tgi_request_max_new_tokens": (total, [({}, lengths)]),
        "tgi_batch_next_size": (_SIZES, [({}, [1.0] * len(durations))]),
        "tgi_batch_inference_duration": (_SECONDS, steps),
    }
    if not settings.old:
        joined = [0.0] * int(metrics.total("joined"))
        found = {
            **found,
            "tgi_batch_forward_duration": (_SECONDS, steps),
            "tgi_batch_concat_duration": (_SECONDS, [({"method": "decode"}, joined)]),
            "tgi_batch_decode_duration": (_SECONDS, still),
            "tgi_batch_filter_duration": (_SECONDS, still),
        }
    for name, (bounds, series) in found.items():
        if come := [(labels, samples) for labels, samples in series if samples]:
            yield format_histogram(name, bounds, come, _describe(service, name))
    generated = int(metrics.total("completion_tokens"))
    if generated and not settings.old:
        name = "tgi_request_skipped_tokens"
        yield format_summary(name, dict.fromkeys(_QUANTILES, 0.0), 0.0, generated, _describe(service, name))


def _label(name: str, values: Mapping[str, T]) -> list[tuple[Labels, T]]:
    """Return one series per value of a label."""
    return [({name: label}, value) for label, value in values.items()]
