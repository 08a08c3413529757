"""Read the times to fit: from recordings, the journal, results of vLLM's benchmark, guidellm and inference-perf.

Sources: vLLM, ``vllm/benchmarks/serve.py`` (``--save-result --save-detailed``: ``ttfts``, ``itls``, ``input_lens``,
``errors``, ``start_times``; ``--append-result``: one result on each line); guidellm, ``benchmarks.json``
(``benchmarks[].requests.successful[]``, ``schemas/base/request_stats.py``; releases before 0.4 name the times
``start_time`` and ``end_time``); inference-perf, ``per_request_lifecycle_metrics.json`` (``start_time``, ``end_time``,
``info``, in later releases with ``response_metrics``; ``apis/base.py``).
"""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from emulator.core.json import JSON, Object
from emulator.core.os_errors import explain_file
from emulator.recording.content import split_events
from emulator.recording.exchange import ExchangeError, RecordedWrite, load_folder
from emulator.recording.replay import read_response

_MIN_CALLS = 30
_MIN_GAP = 1e-6  # seconds; shorter gaps are events that arrived in one write
_MIN_READ = 1e-4  # inference-perf reads the clock once a line, blank ones too; no service sends 10,000 tokens a second
_ARRIVALS = "a table of arrivals and lengths has no latency; a fit needs the time of the first token"
_MAX_NUMBER = 1e20  # more than the nanoseconds since 1970


class TraceError(ValueError):
    """A trace does not hold what a fit needs; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """Times of one call, in seconds.

    Fields:
        ttft: ``None`` if unknown, as for a whole answer, which only counts as load.
        gaps: between tokens.
        prompt_tokens: 0 if unknown.
        start, end: Unix or relative; equal if unknown.
        is_mean: whether ``gaps`` has only the mean of the gaps.
    """

    ttft: float | None
    gaps: tuple[float, ...] = ()
    prompt_tokens: int = 0
    start: float = 0.0
    end: float = 0.0
    is_mean: bool = False

    @property
    def has_ttft(self) -> bool:
        """Whether TTFT was measured; a time of 0 or less was not."""
        return self.ttft is not None and self.ttft > 0


@dataclass(slots=True)
class Trace:
    """Measured calls of all files."""

    calls: list[MeasuredCall] = field(default_factory=list)

    @property
    def loads(self) -> list[int]:
        """Return for each call how many calls ran when it began, itself included; 0 for a call of unknown times."""
        timed = [call for call in self.calls if call.end > call.start]
        starts, ends = sorted(call.start for call in timed), sorted(call.end for call in timed)
        return [
            bisect_right(starts, call.start) - bisect_right(ends, call.start) if call.end > call.start else 0
            for call in self.calls
        ]


def read_traces(files: Iterable[Path]) -> Trace:
    """Read files in any of the formats, or folders of exchanges.

    Raises:
        TraceError: a file cannot be read, or there are too few times.
    """
    trace = Trace()
    for file in files:
        try:
            trace.calls += _read(file)
        except OSError as error:
            raise TraceError(f"cannot read {file}: {explain_file(error, file)}") from None
        except (ExchangeError, UnicodeDecodeError) as error:
            raise TraceError(f"{file}: {error}") from None
        except RecursionError:
            raise TraceError(f"{file}: JSON nested too deeply") from None
    timed = sum(call.has_ttft for call in trace.calls)
    if timed < _MIN_CALLS:
        raise TraceError(f"{timed} calls have a time to first token; a fit takes at least {_MIN_CALLS}")
    return trace


def _read(file: Path) -> list[MeasuredCall]:
    if file.is_dir() or file.suffix == ".exchange":
        return list(_read_exchanges(file))
    text = file.read_text(encoding="utf-8-sig")
    return [call for value in _parse(text, file) for call in _read_document(value, file)]


def _parse(text: str, file: Path) -> list[JSON]:
    """Parse one JSON document, or one on each line."""
    try:
        return [json.loads(text)]
    except ValueError:
        first = text.partition("\n")[0]
        if "," in first and not first.lstrip().startswith(("{", "[")):
            raise TraceError(f"{file}: {_ARRIVALS}") from None
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        raise TraceError(f"{file}: no JSON") from None


def _read_document(value: JSON, file: Path) -> list[MeasuredCall]:
    if isinstance(value, dict):
        if "ttfts" in value:
            return list(_read_vllm(value))
        if "mean_ttft_ms" in value:
            raise TraceError(f"{file}: only averages; run the benchmark with --save-detailed")
        if "benchmarks" in value:
            return list(_read_guidellm(value))
        if "requests" in value:
            return list(_read_journal(value))
    if isinstance(value, list) and value and isinstance(value[0], dict) and "start_time" in value[0]:
        return list(_read_inference_perf(value))
    if any(_has_arrivals(row) for row in (value if isinstance(value, list) else [value])):
        raise TraceError(f"{file}: {_ARRIVALS}")
    raise TraceError(f"{file}: no recording, journal, or result of vLLM's benchmark, guidellm or inference-perf")


def _has_arrivals(row: JSON) -> bool:
    """Whether a row is of a trace of arrivals: ``timestamp``, ``input_length`` (Mooncake) or vLLM's lengths."""
    return isinstance(row, dict) and ("input_length" in row or "input_lens" in row)


def _objects(value: JSON) -> Iterator[Object]:
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _number(value: JSON) -> float | None:
    """Return a number that may be a time or a length; ``None`` for anything else, also NaN and what no clock shows."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not -_MAX_NUMBER < value < _MAX_NUMBER:
        return None
    return float(value)


def _numbers(value: JSON) -> list[float]:
    return [number for item in (value if isinstance(value, list) else ()) if (number := _number(item)) is not None]


def _column(value: JSON, row: int) -> JSON:
    """Return a row of a column of vLLM's result; ``None`` if the column is shorter."""
    return value[row] if isinstance(value, list) and row < len(value) else None


def _gaps(times: Iterable[float], shortest: float = _MIN_GAP) -> tuple[float, ...]:
    return tuple(gap for one, two in pairwise(times) if (gap := two - one) > shortest)


def _share_gaps(times: Iterable[float]) -> tuple[float, ...]:
    """Return the gaps between tokens; tokens that arrived in one write share the gap before it.

    The gaps then add up to the time from the first write to the last.
    """
    counts = Counter(times)
    return tuple((two - one) / counts[two] for one, two in pairwise(sorted(counts)) for _ in range(counts[two]))


def _read_exchanges(path: Path) -> Iterator[MeasuredCall]:
    """Yield the successful calls of a recording; a whole answer has no time of its first token."""
    for exchange in load_folder(path):
        if exchange.status != 200 or exchange.ending != "whole":
            continue
        response = read_response(exchange)
        spoken = [event for event, content in enumerate(response.events) if content.text]
        times = _list_event_times(exchange.writes)
        offsets = [times[event] for event in spoken if event < len(times)] if exchange.is_streamed else []
        prompt, end = response.counts.get("prompt_tokens", 0), exchange.time + exchange.ended
        if offsets:
            yield MeasuredCall(offsets[0], _share_gaps(offsets), prompt, exchange.time, end)
        elif response.counts.get("completion_tokens"):
            yield MeasuredCall(None, (), prompt, exchange.time, end)


def _list_event_times(writes: Iterable[RecordedWrite]) -> list[float]:
    """Return when each event of a stream was complete."""
    ends, offsets, size, data = [], [], 0, b""
    for write in writes:
        size += len(write.data)
        data += write.data
        ends.append(size)
        offsets.append(write.offset)
    times, at = [], 0
    for event in split_events(data):
        at += len(event)
        times.append(offsets[min(bisect_left(ends, at), len(offsets) - 1)])
    return times


def _read_journal(value: Object) -> Iterator[MeasuredCall]:
    """Yield the successful calls of the journal; ``detail=true`` gives the times of its writes, too."""
    for entry in _objects(value.get("requests")):
        ttft, start = _number(entry.get("ttft")), _number(entry.get("time")) or 0.0
        prompt, end = int(_number(entry.get("prompt_tokens")) or 0), start + (_number(entry.get("duration")) or 0.0)
        if entry.get("status") != 200 or ttft is None:
            continue
        if entry.get("stream") is False:
            yield MeasuredCall(None, (), prompt, start, end)
            continue
        response = entry.get("response")
        writes = response.get("writes") if isinstance(response, dict) else None
        times = [pair[1] for item in (writes if isinstance(writes, list) else ()) if len(pair := _numbers(item)) == 2]
        yield MeasuredCall(ttft, _gaps(times), prompt, start, end)


def _read_vllm(value: Object) -> Iterator[MeasuredCall]:
    """Yield the calls of vLLM's result; one that failed has a time of 0, and its error if that was kept."""
    ttfts = value.get("ttfts")
    for row, time in enumerate(ttfts if isinstance(ttfts, list) else ()):
        ttft, gaps = _number(time), _numbers(_column(value.get("itls"), row))
        if ttft is None or ttft <= 0 or _column(value.get("errors"), row):
            continue
        start = _number(_column(value.get("start_times"), row))
        end = 0.0 if start is None else start + ttft + sum(gaps)
        prompt = int(_number(_column(value.get("input_lens"), row)) or 0)
        yield MeasuredCall(ttft, tuple(gap for gap in gaps if gap > _MIN_GAP), prompt, start or 0.0, end)


def _read_guidellm(value: Object) -> Iterator[MeasuredCall]:
    for benchmark in _objects(value.get("benchmarks")):
        requests = benchmark.get("requests")
        for row in _objects(requests.get("successful") if isinstance(requests, dict) else None):
            ttft, itl = _number(row.get("time_to_first_token_ms")), _number(row.get("inter_token_latency_ms"))
            start, end = (
                _number(row.get(f"request_{name}")) or _number(row.get(name)) or 0.0
                for name in ("start_time", "end_time")
            )
            gaps = (itl / 1000,) if itl is not None and itl > 0 else ()
            prompt = int(_number(row.get("prompt_tokens")) or 0)
            yield MeasuredCall(None if ttft is None else ttft / 1000, gaps, prompt, start, end, is_mean=True)


def _read_inference_perf(value: list[JSON] | JSON) -> Iterator[MeasuredCall]:
    for row in _objects(value):
        info = row.get("info")
        about: Object = info if isinstance(info, dict) else {}
        response = about.get("response_metrics")
        metrics = response if isinstance(response, dict) else about
        times = _numbers(metrics.get("output_token_times"))
        start, end = _number(row.get("start_time")), _number(row.get("end_time"))
        if row.get("error") or start is None or end is None:
            continue
        prompt = int(_number(about.get("input_tokens")) or 0)
        ttft = times[0] - start if times else None
        yield MeasuredCall(ttft, _gaps(times, _MIN_READ), prompt, start, end)
