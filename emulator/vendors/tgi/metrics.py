"""Route ``GET /metrics``: figures of requests and batches, in Prometheus text.

Source: text-generation-inference, ``router/src/server.rs`` and ``backends/v3/src/backend.rs`` (names), and the
buckets set up in ``router/src/server.rs``. Each request counts as a batch of its own: one prefill for the first token
and one decode step for each further token.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from emulator.core.http import Request, Response
from emulator.encoding.prometheus import Labels, encode_page, format_histogram, format_values
from emulator.protocols.tgi import count_answers, count_calls, count_waiting
from emulator.vendors.tgi.headers import TEXT_HEADERS
from emulator.vendors.tgi.settings import TgiService

T = TypeVar("T")
_SECONDS: Sequence[float] = tuple(0.0001 * 1.5**power for power in range(35))
_SIZES: Sequence[float] = tuple(range(1, 1025))
_FAILED = ("internal", "timeout", "content_filter")
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
    return Response(200, encode_page((*_format_requests(service), *_format_batches(service))), TEXT_HEADERS)


def _format_requests(service: TgiService) -> Iterator[str]:
    metrics, settings = service.metrics, service.settings
    durations = metrics.samples("duration")
    idle = [0.0] * len(durations)
    failures = {name: sum(metrics.total("failed", error=kind) for kind in kinds) for name, kinds in _FAILURES.items()}
    refused = sum(failures[name] for name in _REFUSED) - count_calls(service, "4xx")
    count = count_calls(service, "requests") + max(0.0, refused)
    yield from format_values("counter", "tgi_request_count", [({}, count)])
    yield from format_values("counter", "tgi_request_success", [({}, count_calls(service, "2xx"))])
    yield from format_values("counter", "tgi_request_failure", _label("err", failures))
    total, prompt = _split(settings.max_total_tokens), _split(settings.max_input_tokens)
    histograms: Mapping[str, tuple[Sequence[float], Sequence[float]]] = {
        "tgi_request_duration": (_SECONDS, durations),
        "tgi_request_inference_duration": (_SECONDS, durations),
        "tgi_request_validation_duration": (_SECONDS, idle),
        "tgi_request_queue_duration": (_SECONDS, idle),
        "tgi_request_mean_time_per_token_duration": (_SECONDS, metrics.samples("itl")),
        "tgi_request_generated_tokens": (total, metrics.samples("completion_tokens")),
        "tgi_request_input_length": (prompt, metrics.samples("prompt_tokens")),
        "tgi_request_max_new_tokens": (total, metrics.samples("limit")),
        **({} if settings.old else {"tgi_request_skipped_tokens": (total, idle)}),
    }
    for name, (bounds, samples) in histograms.items():
        yield from format_histogram(name, bounds, [({}, samples)])


def _format_batches(service: TgiService) -> Iterator[str]:
    """Yield the metrics of the model server behind the router; the decode steps of one request count as their mean."""
    metrics, settings = service.metrics, service.settings
    prefills, joined, running = count_calls(service, "2xx"), metrics.total("joined"), count_answers(service)
    batches = _label("method", {"prefill": prefills, "decode": max(0.0, metrics.total("completion_tokens") - prefills)})
    failed = sum(metrics.total("failed", error=kind) for kind in _FAILED)
    yield from format_values("counter", "tgi_batch_inference_count", batches)
    yield from format_values("counter", "tgi_batch_inference_success", batches)
    yield from format_values(
        "counter", "tgi_batch_inference_failure", _label("method", {"prefill": failed, "decode": 0.0})
    )
    yield from format_values(
        "counter", "tgi_batch_concat", [({"reason": "wait_exceeded" if settings.old else "chunking"}, joined)]
    )
    yield from format_values("gauge", "tgi_queue_size", [({}, count_waiting(service))])
    yield from format_values("gauge", "tgi_batch_current_size", [({}, running)])
    yield from format_values("gauge", "tgi_batch_current_max_tokens", [({}, running * settings.max_total_tokens)])
    yield from format_histogram("tgi_batch_next_size", _SIZES, [({}, [1.0] * len(metrics.samples("duration")))])
    steps = _label("method", {"prefill": metrics.samples("ttft"), "decode": metrics.samples("itl")})
    yield from format_histogram("tgi_batch_inference_duration", _SECONDS, steps)
    if settings.old:
        return
    idle = [(labels, [0.0] * len(samples)) for labels, samples in steps]
    yield from format_histogram("tgi_batch_forward_duration", _SECONDS, steps)
    yield from format_histogram("tgi_batch_concat_duration", _SECONDS, [({"method": "decode"}, [0.0] * int(joined))])
    yield from format_values("gauge", "tgi_batch_total_tokens", [({}, running * settings.max_total_tokens)])
    yield from format_histogram("tgi_batch_decode_duration", _SECONDS, idle)
    yield from format_histogram("tgi_batch_filter_duration", _SECONDS, idle)


def _label(name: str, values: Mapping[str, T]) -> list[tuple[Labels, T]]:
    """Return one series per value of a label."""
    return [({name: label}, value) for label, value in values.items()]
