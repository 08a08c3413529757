"""``GET /metrics``.

Source: text-generation-inference, ``router/src/server.rs`` and ``backends/v3/src/backend.rs`` (names), and the
buckets set up in ``router/src/server.rs``. What happens between router and model server is not emulated, so the
batch metrics stand at what was answered.
"""

from collections.abc import Iterator, Sequence

from emulator.core.vendor import Metrics
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.prometheus import write_histogram, write_number, write_value
from emulator.vendors.tgi.headers import TEXT_HEADERS
from emulator.vendors.tgi.settings import TgiService, TgiSettings

_SECONDS: Sequence[float] = tuple(0.0001 * 1.5**power for power in range(35))
_TOKENS: Sequence[float] = tuple(4096 * (step + 1) / 100 for step in range(100))
_IDLE = ("tgi_request_validation_duration", "tgi_request_queue_duration")
_BATCH = ("tgi_batch_forward_duration", "tgi_batch_decode_duration", "tgi_batch_filter_duration")
# error_type of a failure, by the kind the emulator counts.
_FAILURES = {"validation": ("invalid_request", "invalid_parameter", "context_length"), "overloaded": ("overloaded",)}


def answer_metrics(request: WireRequest, service: TgiService) -> WireResponse:
    lines = "\n".join(_write(service.metrics, service.settings))
    return WireResponse(200, f"{lines}\n".encode(), TEXT_HEADERS)


def _write(metrics: Metrics, settings: TgiSettings) -> Iterator[str]:
    durations = metrics.samples("duration")
    answered = float(len(durations))
    yield from write_value("tgi_request_count", "counter", metrics.total("requests"))
    yield from write_value("tgi_request_success", "counter", answered)
    yield "# TYPE tgi_request_failure counter"
    for name, kinds in _FAILURES.items():
        count = sum(metrics.total("failed", error=kind) for kind in kinds)
        yield f'tgi_request_failure{{err="{name}"}} {write_number(count)}'
    for name in ("tgi_batch_inference_count", "tgi_batch_inference_success"):
        yield f"# TYPE {name} counter"
        yield f'{name}{{method="prefill"}} {write_number(answered)}'
    yield from write_value("tgi_queue_size", "gauge", 0)
    running = float(max(0, metrics.in_flight() - 1))
    yield from write_value("tgi_batch_current_size", "gauge", running)
    yield from write_value("tgi_batch_current_max_tokens", "gauge", running * settings.max_total_tokens)
    for name in ("tgi_request_duration", "tgi_request_inference_duration"):
        yield from write_histogram(name, _SECONDS, durations)
    for name in _IDLE:
        yield from write_histogram(name, _SECONDS, [0.0] * len(durations))
    yield from write_histogram("tgi_request_mean_time_per_token_duration", _SECONDS, metrics.samples("itl"))
    yield from write_histogram("tgi_request_generated_tokens", _TOKENS, metrics.samples("completion_tokens"))
    yield from write_histogram("tgi_request_input_length", _TOKENS, metrics.samples("prompt_tokens"))
    yield from write_histogram("tgi_batch_inference_duration", _SECONDS, durations)
    if not settings.old:
        for name in _BATCH:
            yield from write_histogram(name, _SECONDS, ())
        yield from write_histogram("tgi_request_skipped_tokens", _TOKENS, [0.0] * len(durations))
