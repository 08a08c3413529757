"""Totals as Prometheus text, format 0.0.4."""

from collections.abc import Callable, Mapping

from emulator import __version__
from emulator.core.vendor import Metrics

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_COUNTERS = (
    ("emulator_requests_total", "Answered requests.", "requests"),
    ("emulator_failed_requests_total", "Requests answered with an error.", "failed"),
    ("emulator_prompt_tokens_total", "Tokens of prompts.", "prompt_tokens"),
    ("emulator_completion_tokens_total", "Tokens of answers.", "completion_tokens"),
)


def render_metrics(vendors: Mapping[str, Metrics]) -> str:
    """Counters and gauges of every vendor."""
    lines = _render("emulator_build_info", "Version.", "gauge", {f'version="{__version__}"': 1})
    for name, text, total in _COUNTERS:
        lines += _render(name, text, "counter", _by_vendor(vendors, lambda m, total=total: m.total(total)))  # type: ignore[misc]
    in_flight = _by_vendor(vendors, lambda metrics: metrics.in_flight())
    return "\n".join([*lines, *_render("emulator_in_flight_requests", "Being answered now.", "gauge", in_flight), ""])


def _by_vendor(vendors: Mapping[str, Metrics], value: Callable[[Metrics], float]) -> Mapping[str, float]:
    return {f'vendor="{name}"': value(metrics) for name, metrics in vendors.items()}


def _render(name: str, text: str, kind: str, values: Mapping[str, float]) -> list[str]:
    samples = [f"{name}{{{labels}}} {value:g}" for labels, value in values.items()]
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *samples]
