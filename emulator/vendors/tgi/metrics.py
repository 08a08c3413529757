"""Route ``GET /metrics``.

Source: text-generation-inference, ``router/src/server.rs`` and ``backends/v3/src/backend.rs`` (names), and the
buckets set up in ``router/src/server.rs``. Each request counts as a batch of its own: one prefill for the first token
and one decode step for each further token.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from emulator.core.http import Request, Response
from emulator.encoding.prometheus import format_histogram, format_number, format_value
from emulator.protocols.tgi import count_calls, count_running, count_waiting
from emulator.vendors.tgi.headers import TEXT_HEADERS
from emulator.vendors.tgi.settings import TgiService

_SECONDS: Sequence[float] = tuple(0.0001 * 1.5**power for power in range(35))
_SIZES: Sequence[float] = tuple(range(1, 1025))
_IDLE = ("tgi_request_validation_duration", "tgi_request_queue_duration")
_FAILED = ("internal", "timeout", "content_filter")
_UNTIMED = ("tgi_batch_decode_duration", "tgi_batch_filter_duration")
# error_type of a failure, by the kind the emulator counts.
_FAILURES = {
    "validation": ("invalid_parameter", "context_length"),
    "overloaded": ("overloaded", "rate_limited"),
    "generation": ("timeout", "content_filter"),
    "incomplete": ("internal",),
}
_REFUSED = ("validation", "overloaded")  # usually before they reach a deployment


def _split(limit: int) -> Sequence[float]:
    """Return 100 histogram buckets up to ``limit`` tokens."""
    return tuple(limit / 100 * (step + 1) for step in range(100))


def handle_metrics(request: Request, service: TgiService) -> Response:
    lines = "\n".join((*_format_requests(service), *_format_batches(service)))
    return Response(200, f"{lines}\n".encode(), TEXT_HEADERS)


def _format_requests(service: TgiService) -> Iterator[str]:
    metrics = service.metrics
    durations = metrics.samples("duration")
    failures = {name: sum(metrics.total("failed", error=kind) for kind in kinds) for name, kinds in _FAILURES.items()}
    refused = sum(failures[name] for name in _REFUSED) - count_calls(service, "4xx")
    yield from format_value("tgi_request_count", "counter", count_calls(service, "requests") + max(0.0, refused))
    yield from format_value("tgi_request_success", "counter", count_calls(service, "2xx"))
    yield from _format_series("tgi_request_failure", "err", failures)
    for name in ("tgi_request_duration", "tgi_request_inference_duration"):
        yield from format_histogram(name, _SECONDS, durations)
    for name in _IDLE:
        yield from format_histogram(name, _SECONDS, [0.0] * len(durations))
    yield from format_histogram("tgi_request_mean_time_per_token_duration", _SECONDS, metrics.samples("itl"))
    total = _split(service.settings.max_total_tokens)
    prompt = _split(service.settings.max_input_tokens)
    yield from format_histogram("tgi_request_generated_tokens", total, metrics.samples("completion_tokens"))
    yield from format_histogram("tgi_request_input_length", prompt, metrics.samples("prompt_tokens"))
    yield from format_histogram("tgi_request_max_new_tokens", total, metrics.samples("limit"))
    if not service.settings.old:
        yield from format_histogram("tgi_request_skipped_tokens", total, [0.0] * len(durations))


def _format_batches(service: TgiService) -> Iterator[str]:
    """Yield the metrics of the model server behind the router."""
    metrics = service.metrics
    prefills = count_calls(service, "2xx")
    decodes = max(0.0, metrics.total("completion_tokens") - prefills)
    for name in ("tgi_batch_inference_count", "tgi_batch_inference_success"):
        yield from _format_series(name, "method", {"prefill": prefills, "decode": decodes})
    failed = sum(metrics.total("failed", error=kind) for kind in _FAILED)
    yield from _format_series("tgi_batch_inference_failure", "method", {"prefill": failed, "decode": 0.0})
    joined = metrics.total("joined")
    reason = "wait_exceeded" if service.settings.old else "chunking"
    yield from _format_series("tgi_batch_concat", "reason", {reason: joined})
    running = count_running(service)
    yield from format_value("tgi_queue_size", "gauge", count_waiting(service))
    yield from format_value("tgi_batch_current_size", "gauge", running)
    yield from format_value("tgi_batch_current_max_tokens", "gauge", running * service.settings.max_total_tokens)
    answered = len(metrics.samples("duration"))
    yield from format_histogram("tgi_batch_next_size", _SIZES, [1.0] * answered)
    steps = {"prefill": metrics.samples("ttft"), "decode": metrics.samples("itl")}
    yield from _format_steps("tgi_batch_inference_duration", steps)
    if not service.settings.old:
        yield from _format_steps("tgi_batch_forward_duration", steps)
        yield from format_histogram("tgi_batch_concat_duration", _SECONDS, [0.0] * int(joined), {"method": "decode"})
        yield from format_value("tgi_batch_total_tokens", "gauge", running * service.settings.max_total_tokens)
        for name in _UNTIMED:
            yield from _format_steps(name, {method: [0.0] * len(samples) for method, samples in steps.items()})


def _format_series(name: str, label: str, values: Mapping[str, float]) -> Iterator[str]:
    """Format a counter with several series."""
    yield f"# TYPE {name} counter"
    for value, count in values.items():
        yield f'{name}{{{label}="{value}"}} {format_number(count)}'


def _format_steps(name: str, steps: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Format a histogram by method; the decode steps of one request count as their mean."""
    for number, (method, samples) in enumerate(steps.items()):
        lines = format_histogram(name, _SECONDS, samples, {"method": method})
        yield from islice(lines, 1 if number else 0, None)
