"""Render the emulator's metrics (``/_emulator/metrics``) in Prometheus' text format 0.0.4; merge those of replicas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from emulator import __version__
from emulator.core.cache import read_stats
from emulator.core.dataclass import fast_dataclass
from emulator.core.quota import Level
from emulator.core.storage import StoreHealth
from emulator.core.vendor import Metrics
from emulator.observability.totals import OPERATIONS, BucketCounts, MetricTotals, Series

if TYPE_CHECKING:
    from prometheus_client import Metric

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SCHEMA = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"  # the conventions for GenAI have no stable release
Key = tuple[str, ...]
"""Label values of a sample, in the order of the family's labels."""
Rows = Sequence[tuple[Key, float]]


@fast_dataclass(frozen=True, slots=True)
class Family:
    """Metric family; ``of_session``: also given for one session."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...]
    of_session: bool = True


_SERVED = ("gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "error_type")
BUILD = Family(
    "emulator_build_info", "gauge", "Version, and the schema of the GenAI metrics.", ("version", "schema_url"), False
)
IN_FLIGHT = Family("emulator_in_flight_requests", "gauge", "Requests that are being answered now.", ("vendor",), False)
REQUESTS = Family("emulator_requests_total", "counter", "Finished requests.", ("vendor", "model", "code", "error"))
PROMPT = Family("emulator_prompt_tokens_total", "counter", "Prompt tokens.", ("vendor", "model"))
COMPLETION = Family("emulator_completion_tokens_total", "counter", "Completion tokens sent.", ("vendor", "model"))
FAULTS = Family("emulator_faults_total", "counter", "Faults applied to responses.", ("vendor", "fault"))
RULES = Family("emulator_rule_matches_total", "counter", "Requests that a rule matched.", ("vendor", "rule"))
HITS = Family("emulator_cache_hits_total", "counter", "Lookups that found a cached value.", ("cache",), False)
MISSES = Family("emulator_cache_misses_total", "counter", "Lookups that found no cached value.", ("cache",), False)
QUOTA = Family(
    "emulator_quota_remaining", "gauge", "Units left of a limit; of several shares the least.", ("limit", "unit")
)
STORE = Family("emulator_store_up", "gauge", "1 while the shared store is reachable, else 0.", (), False)
LOSSES = Family(
    "emulator_store_losses_total", "counter", "Times that the connection to the shared store was lost.", (), False
)
SKEW = Family("emulator_store_skew_seconds", "gauge", "Seconds by which this clock is ahead of the store's.", (), False)
DURATION = Family(
    "gen_ai_server_request_duration_seconds", "histogram", "Seconds from admission to the end of the response.", _SERVED
)
TIME_TO_FIRST_TOKEN = Family(
    "gen_ai_server_time_to_first_token_seconds",
    "histogram",
    "Seconds to the first token of streams that succeeded.",
    _SERVED,
)
TIME_PER_OUTPUT_TOKEN = Family(
    "gen_ai_server_time_per_output_token_seconds",
    "histogram",
    "Seconds for each token after the first, of the same streams.",
    _SERVED,
)
FAMILIES = (
    *(BUILD, REQUESTS, IN_FLIGHT, PROMPT, COMPLETION, FAULTS, RULES, QUOTA, HITS, MISSES, STORE, LOSSES, SKEW),
    *(DURATION, TIME_TO_FIRST_TOKEN, TIME_PER_OUTPUT_TOKEN),
)


class MetricsSource(Metrics, Protocol):
    """Metrics of one vendor."""

    def sums(self, session: str | None) -> MetricTotals:
        """Return the totals of finished requests: all since the process started, or those of a session."""


@fast_dataclass(frozen=True, slots=True)
class Page:
    """Snapshot of all metrics: of the whole server, or of one session."""

    vendors: Mapping[str, MetricsSource]
    levels: Sequence[Level]
    session: str | None = None
    store: StoreHealth | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield every family with its samples, like a collector of ``prometheus_client``."""
        sums = {vendor: source.sums(self.session) for vendor, source in self.vendors.items()}
        if self.session is None:
            yield _family(BUILD, [((__version__, SCHEMA), 1)])
            yield _family(IN_FLIGHT, [((vendor,), source.in_flight()) for vendor, source in self.vendors.items()])
            stats = read_stats()
            yield _family(HITS, [((cache,), counted.hits) for cache, counted in stats.items()])
            yield _family(MISSES, [((cache,), counted.misses) for cache, counted in stats.items()])
            if self.store is not None:
                yield _family(STORE, [((), self.store.up)])
                yield _family(LOSSES, [((), self.store.losses)])
                yield _family(SKEW, [((), self.store.skew)])
        yield _family(QUOTA, self._list_quotas())
        for family, rows in _LISTED.items():
            yield _family(family, [((vendor, *key), n) for vendor, each in sums.items() for key, n in rows(each)])
        for family, pick in _TIMED.items():
            yield _histograms(family, _list_times(sums.values(), pick))

    def _list_quotas(self) -> Rows:
        least: dict[Key, float] = {}
        for level in self.levels:
            labels = level.quota.name, level.quota.unit
            least[labels] = min(level.left, least.get(labels, level.left))
        return [*least.items()]


_LISTED: Mapping[Family, Callable[[MetricTotals], Rows]] = {
    REQUESTS: lambda sums: _list_requests(sums),
    PROMPT: lambda sums: _by_model(sums, lambda series: series.prompt_tokens),
    COMPLETION: lambda sums: _by_model(sums, lambda series: series.sent_tokens),
    FAULTS: lambda sums: [((fault,), count) for fault, count in sums.faults.items()],
    RULES: lambda sums: [((rule,), count) for rule, count in sums.rules.items()],
}
_TIMED: Mapping[Family, Callable[[Series], BucketCounts]] = {
    DURATION: lambda series: series.duration,
    TIME_TO_FIRST_TOKEN: lambda series: series.first_token,
    TIME_PER_OUTPUT_TOKEN: lambda series: series.per_token,
}


def _list_requests(sums: MetricTotals) -> Rows:
    counts: Counter[tuple[str, ...]] = Counter()
    for (_, _, model, code, error), series in sums.series.items():
        counts[model, str(code), error] += series.count
    return [*counts.items()]


def _by_model(sums: MetricTotals, pick: Callable[[Series], int]) -> Rows:
    counts: Counter[tuple[str, ...]] = Counter()
    for (_, _, model, _, _), series in sums.series.items():
        counts[(model,)] += pick(series)
    return [(model, count) for model, count in counts.items() if count]


def _list_times(sums: Iterable[MetricTotals], pick: Callable[[Series], BucketCounts]) -> Mapping[Key, BucketCounts]:
    """Return the histograms of requests to a model, of any status, by labels."""
    found: dict[Key, BucketCounts] = {}
    for each in sums:
        for (operation, provider, model, _, error), series in each.series.items():
            histogram = pick(series)
            if operation is not None and any(histogram.counts):
                labels = OPERATIONS.get(operation, operation), provider, model, error
                found[labels] = found[labels].merge(histogram) if labels in found else histogram
    return found


def _family(family: Family, rows: Rows) -> Metric:
    """Build a counter or gauge with a sample for each row."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    make = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = make(family.name, family.text, labels=family.labels)
    for labels, value in rows:
        metric.add_metric(labels, value)
    return _without_empty(metric)


def _histograms(family: Family, rows: Mapping[Key, BucketCounts]) -> Metric:
    from prometheus_client.metrics_core import HistogramMetricFamily

    metric = HistogramMetricFamily(family.name, family.text, labels=family.labels)
    for labels, histogram in rows.items():
        counts = accumulate(histogram.counts)
        bounds = [*map(repr, histogram.bounds), "+Inf"]
        metric.add_metric(labels, [*zip(bounds, counts, strict=True)], histogram.total)
    return _without_empty(metric)


def _without_empty(metric: Metric) -> Metric:
    """Remove labels with an empty value: for Prometheus they are equal to absent ones."""
    metric.samples = [
        sample._replace(labels={name: value for name, value in sample.labels.items() if value})
        for sample in metric.samples
    ]
    return metric


def render_metrics(page: Page) -> str:
    """Return the metrics as Prometheus text."""
    from prometheus_client import generate_latest  # slow to import, and seldom needed

    return generate_latest(page).decode()


_SAMPLE = re.compile(r"([^{\s]+)(?:\{(.*)\})? (\S+)")
_INFO = "_info"  # suffix of gauges that are equal in every replica


@fast_dataclass(slots=True)
class _Family:
    """Parsed family: its ``# HELP`` and ``# TYPE`` lines, and values by name and labels."""

    lines: list[str] = field(default_factory=list)
    samples: dict[str, float] = field(default_factory=dict)


def add_metrics(texts: Mapping[str, str]) -> str:
    """Return one page with the samples of all replicas added up."""
    families: dict[str, _Family] = {}
    for text in texts.values():
        for family, name, labels, value in _read(text, families):
            key = f"{name}{{{labels}}}" if labels else name
            before = 0.0 if name.endswith(_INFO) else family.samples.get(key, 0.0)
            family.samples[key] = before + value
    return _write(families)


def merge_metrics(texts: Mapping[str, str]) -> str:
    """Return one page with the samples of every replica, labelled ``replica``."""
    families: dict[str, _Family] = {}
    for replica, text in texts.items():
        for family, name, labels, value in _read(text, families):
            label = f'replica="{replica}"'
            family.samples[f"{name}{{{label},{labels}}}" if labels else f"{name}{{{label}}}"] = value
    return _write(families)


def _read(text: str, families: dict[str, _Family]) -> Iterator[tuple[_Family, str, str, float]]:
    """Yield family, name, labels and value of each sample; add new families to ``families``."""
    family = _Family()
    for line in text.splitlines():
        if line.startswith("# "):
            _, _, name, *_ = line.split(" ", 3)
            known = family = families.setdefault(name, _Family())
            if len(known.lines) < 2 and line not in known.lines:
                known.lines.append(line)
        elif (found := _SAMPLE.fullmatch(line)) is not None:
            yield family, found[1], found[2] or "", float(found[3])


def _write(families: Mapping[str, _Family]) -> str:
    lines: list[str] = []
    for family in families.values():
        lines += family.lines
        lines += [f"{key} {_format_value(value)}" for key, value in family.samples.items()]
    return "\n".join([*lines, ""])


def _format_value(value: float) -> str:
    """Format a value, whole numbers without a decimal point."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else repr(value)
