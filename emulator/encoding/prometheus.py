"""Write the metrics pages of vendors in the Prometheus text format.

``observability/metrics.py`` writes the emulator's own page.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

CONTENT_TYPE = "text/plain; charset=utf-8"
Labels = Mapping[str, str]


def format_values(kind: str, name: str, series: Iterable[tuple[Labels, float]], text: str = "") -> Iterator[str]:
    """Yield the lines of a counter or gauge; ``text``: of its ``HELP`` line, without which there is none."""
    yield from _format_head(kind, name, text)
    for labels, value in series:
        yield f"{name}{_format_labels(labels)} {_format_number(value)}"


class WeightedSamples(NamedTuple):
    """Samples of a histogram that stand for several each."""

    samples: Sequence[float]
    counts: Sequence[int]


Samples = Iterable[float] | WeightedSamples


def format_histogram(
    name: str, bounds: Sequence[float], series: Iterable[tuple[Labels, Samples]], text: str = ""
) -> Iterator[str]:
    """Yield the lines of a histogram, from the samples of each series: buckets up to each bound, sum and count."""
    yield from _format_head("histogram", name, text)
    for labels, samples in series:
        counts = [0] * (len(bounds) + 1)
        total = 0.0
        rows = (
            zip(*samples, strict=True)
            if isinstance(samples, WeightedSamples)
            else zip(samples, repeat(1), strict=False)
        )
        for sample, times in rows:
            counts[bisect_left(bounds, sample)] += times
            total += sample * times
        seen = 0
        for bound, count in zip([*map(_format_number, bounds), "+Inf"], counts, strict=True):
            seen += count
            yield f"{name}_bucket{_format_labels({**labels, 'le': bound})} {seen}"
        yield f"{name}_sum{_format_labels(labels)} {_format_number(total)}"
        yield f"{name}_count{_format_labels(labels)} {seen}"


def format_summary(name: str, values: Mapping[float, float], total: float, count: int, text: str = "") -> Iterator[str]:
    """Yield the lines of a summary without labels: the value of each quantile, sum and count."""
    yield from _format_head("summary", name, text)
    for quantile, value in values.items():
        yield f"{name}{_format_labels({'quantile': _format_number(quantile)})} {_format_number(value)}"
    yield f"{name}_sum {_format_number(total)}"
    yield f"{name}_count {count}"


def encode_page(lines: Iterable[str]) -> bytes:
    return "".join([f"{line}\n" for line in lines]).encode()


def _format_head(kind: str, name: str, text: str) -> Iterator[str]:
    if text:
        yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _format_labels(labels: Labels) -> str:
    """Format ``{a="b"}``; return an empty string without labels."""
    pairs = ",".join([f'{name}="{_escape(value)}"' for name, value in labels.items()])
    return f"{{{pairs}}}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _format_number(value: float) -> str:
    """Format a number without a trailing ``.0``."""
    return str(int(value)) if value == int(value) else repr(value)
