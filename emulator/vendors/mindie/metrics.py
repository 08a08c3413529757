"""Routes ``GET /metrics`` and ``/metrics-json``: figures of requests, in Prometheus text and as JSON.

Source: MindIE-LLM, ``http_wrapper/prometheus_metrics.cpp`` and ``http_wrapper/http_handler.cpp``. Hardware values
are 0.
"""

from collections.abc import Iterator, Mapping, Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON
from emulator.encoding.prometheus import CONTENT_TYPE, Labels, encode_page, format_histogram, format_values
from emulator.protocols.tgi import count_calls, count_running, count_waiting, find_served
from emulator.vendors.mindie.headers import closing_headers
from emulator.vendors.mindie.info import CACHE_BLOCKS, NODE_ADDRESS, respond
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.server_state import validate_serving

_TTFT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_TPOT = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5)
_E2E = (1, 2.5, 5, 10, 15, 20, 30, 40, 50, 60)
_TOKENS = (10, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 16000, 20000, 32000, 50000, 64000, 128000)
_HISTOGRAMS: Mapping[str, tuple[str, Sequence[float]]] = {
    "time_to_first_token_seconds": ("ttft", _TTFT),
    "time_per_output_token_seconds": ("itl", _TPOT),
    "e2e_request_latency_seconds": ("duration", _E2E),
    "request_prompt_tokens": ("prompt_tokens", _TOKENS),
    "request_generation_tokens": ("completion_tokens", _TOKENS),
}
_REFUSED = ("invalid_parameter", "context_length")  # errors of requests that never reach a deployment
_IDLE = (
    "num_requests_swapped",
    "npu_cache_usage_perc",
    "cpu_cache_usage_perc",
    "npu_prefix_cache_hit_rate",
    "all_radix_match_num",
    "npu_radix_match_hit_num",
)


def handle_metrics(request: Request, service: MindieService) -> Response:
    """Return Prometheus text if ``service_monitor`` is set.

    Raises:
        EmulatedError: it is not set.
    """
    if not service.settings.service_monitor:
        text = "Environment variable MIES_SERVICE_MONITOR_MODE is not set."
        raise EmulatedError(ErrorKind.INTERNAL, message=text, status=500)
    model = find_served(service).name
    body = encode_page(_format_families(service, {"model_name": model}))
    return Response(200, body, closing_headers(request.key, CONTENT_TYPE), close=True)


def _format_families(service: MindieService, labels: Labels) -> Iterator[str]:
    metrics = service.metrics
    succeeded = count_calls(service, "2xx")
    failed = count_calls(service, "requests") - succeeded + sum(metrics.total("failed", error=e) for e in _REFUSED)
    received = succeeded + failed
    durations = metrics.samples("duration")
    busy = sum(durations)
    counters = {
        "request_received_total": received,
        "request_success_total": succeeded,
        "request_failed_total": failed,
        "prompt_tokens_total": metrics.total("prompt_tokens"),
        "generation_tokens_total": metrics.total("completion_tokens"),
        "num_preemptions_total": 0.0,
    }
    for name, value in counters.items():
        yield from format_values("counter", name, [(labels, value)])
    gauges = {
        "num_requests_running": count_running(service),
        "num_requests_waiting": count_waiting(service),
        "avg_prompt_throughput_toks_per_s": counters["prompt_tokens_total"] / busy if busy else 0.0,
        "avg_generation_throughput_toks_per_s": counters["generation_tokens_total"] / busy if busy else 0.0,
        "failed_request_perc": failed / received if received else 0.0,
        **dict.fromkeys(_IDLE, 0.0),
    }
    for name, value in gauges.items():
        yield from format_values("gauge", name, [(labels, value)])
    for name, (samples, bounds) in _HISTOGRAMS.items():
        yield from format_histogram(name, bounds, [(labels, metrics.samples(samples))])


def handle_metrics_json(request: Request, service: MindieService) -> Response:
    """Return a selection of the metrics as one vector."""
    validate_serving(request, find_served(service))
    metrics = service.metrics
    ttft, itl = metrics.samples("ttft"), metrics.samples("itl")
    values = {
        "TTFT": round(1000 * sum(ttft) / len(ttft)) if ttft else 0,
        "TBT": round(1000 * sum(itl) / len(itl)) if itl else 0,
        "waitingInferRequestNum": count_waiting(service),
        "processingInferRequestNum": count_running(service),
        "remainBlocks": CACHE_BLOCKS,
    }
    rows: list[JSON] = [
        {"metric": [{"__name__": name, "job": "node", "instance": NODE_ADDRESS}], "value": str(value)}
        for name, value in values.items()
    ]
    return respond(request, {"resultType": "vector", "result": rows})
