"""Write metrics pages in the Prometheus text format."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

CONTENT_TYPE = "text/plain; charset=utf-8"


def format_labels(labels: Mapping[str, str]) -> str:
    """Format ``{a="b"}``; return an empty string without labels."""
    pairs = ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def format_value(name: str, kind: str, value: float, labels: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the lines of a counter or gauge of one series."""
    yield f"# TYPE {name} {kind}"
    yield f"{name}{format_labels(labels or {})} {format_number(value)}"


def format_histogram(
    name: str, bounds: Sequence[float], samples: Iterable[float], labels: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the lines of a histogram of one series: buckets up to each bound, sum and count."""
    counts = [0] * (len(bounds) + 1)
    total = 0.0
    for sample in samples:
        counts[bisect_left(bounds, sample)] += 1
        total += sample
    yield f"# TYPE {name} histogram"
    seen = 0
    for bound, count in zip([*map(format_number, bounds), "+Inf"], counts, strict=True):
        seen += count
        yield f"{name}_bucket{format_labels({**(labels or {}), 'le': bound})} {seen}"
    yield f"{name}_sum{format_labels(labels or {})} {format_number(total)}"
    yield f"{name}_count{format_labels(labels or {})} {seen}"


def format_number(value: float) -> str:
    """Format a number without a trailing ``.0``."""
    return str(int(value)) if value == int(value) else repr(value)
