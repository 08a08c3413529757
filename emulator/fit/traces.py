"""Read the times to fit: from recordings, the journal, results of vLLM's benchmark, guidellm and inference-perf.

Sources: vLLM, ``benchmarks/benchmark_serving.py`` (``--save-result --save-detailed``: ``ttfts``, ``itls``,
``input_lens``, ``output_lens``); guidellm, ``benchmarks.json`` (``benchmarks[].requests.successful[]``);
inference-perf, ``per_request_lifecycle_metrics.json`` (``start_time``, ``end_time``, ``info``).
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from emulator.core.json import JSON, Object
from emulator.core.os_errors import explain_file
from emulator.recording.exchange import ExchangeError, load_folder
from emulator.recording.replay import read_response

_MIN_CALLS = 30
_MIN_GAP = 1e-6  # seconds; shorter gaps are events that arrived in one write
_MAX_NUMBER = 1e20  # more than the nanoseconds since 1970


class TraceError(ValueError):
    """A trace does not hold what a fit needs; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """Times of one call, in seconds.

    Fields:
        ttft: ``None`` if unknown.
        gaps: between tokens.
        prompt_tokens: 0 if unknown.
        start, end: Unix or relative; equal if unknown.
    """

    ttft: float | None
    gaps: tuple[float, ...] = ()
    prompt_tokens: int = 0
    start: float = 0.0
    end: float = 0.0


@dataclass(slots=True)
class Trace:
    """Measured calls of all files."""

    calls: list[MeasuredCall] = field(default_factory=list)

    @property
    def loads(self) -> list[int]:
        """Return for each call how many calls ran when it began, itself included; empty if times are unknown."""
        if not all(call.end > call.start for call in self.calls):
            return []
        starts, ends = sorted(call.start for call in self.calls), sorted(call.end for call in self.calls)
        return [bisect_right(starts, call.start) - bisect_right(ends, call.start) for call in self.calls]


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
    timed = sum(call.ttft is not None for call in trace.calls)
    if timed < _MIN_CALLS:
        raise TraceError(f"{timed} calls have a time to first token; a fit takes at least {_MIN_CALLS}")
    return trace


def _read(file: Path) -> list[MeasuredCall]:
    if file.is_dir() or file.suffix == ".exchange":
        return list(_read_exchanges(file))
    text = file.read_text(encoding="utf-8-sig")
    try:
        value: JSON = json.loads(text)
    except ValueError:
        if "," in text.partition("\n")[0]:
            raise TraceError(
                f"{file}: a table of arrivals and lengths has no latency; a fit needs the time of the first token"
            ) from None
        raise TraceError(f"{file}: no JSON") from None
    return _read_document(value, file)


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
    raise TraceError(f"{file}: no recording, journal, or result of vLLM's benchmark, guidellm or inference-perf")


def _objects(value: JSON) -> Iterator[Object]:
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _number(value: JSON) -> float | None:
    """Return a number that may be a time or a length; ``None`` for anything else, also NaN and what no clock shows."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not -_MAX_NUMBER < value < _MAX_NUMBER:
        return None
    return float(value)


def _numbers(value: JSON) -> list[float]:
    return [number for item in (value if isinstance(value, list) else ()) if (number := _number(item)) is not None]


def _gaps(times: Iterable[float]) -> tuple[float, ...]:
    return tuple(gap for one, two in pairwise(times) if (gap := two - one) > _MIN_GAP)


def _read_exchanges(path: Path) -> Iterator[MeasuredCall]:
    """Yield the successful streams of a recording; a whole answer has no time of its first token."""
    for exchange in load_folder(path):
        if exchange.status != 200 or exchange.ending != "whole" or not exchange.is_streamed:
            continue
        response = read_response(exchange)
        spoken = [event for event, content in enumerate(response.events) if content.text]
        times = _list_event_times(exchange.writes)
        offsets = [times[event] for event in spoken if event < len(times)]
        if offsets:
            end = exchange.time + exchange.ended
            prompt = response.counts.get("prompt_tokens", 0)
            yield MeasuredCall(offsets[0], _gaps(offsets), prompt, exchange.time, end)


def _list_event_times(writes: Iterable[object]) -> list[float]:
    """Return when each event of a stream was complete."""
    from emulator.recording.content import split_events
    from emulator.recording.exchange import RecordedWrite

    ends, offsets, size, data = [], [], 0, b""
    for write in writes:
        assert isinstance(write, RecordedWrite)
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
    """Yield the successful streams of the journal; ``detail=true`` gives the times of its writes, too."""
    for entry in _objects(value.get("requests")):
        ttft, start = _number(entry.get("ttft")), _number(entry.get("time")) or 0.0
        if entry.get("status") != 200 or ttft is None or entry.get("stream") is False:
            continue
        response = entry.get("response")
        writes = response.get("writes") if isinstance(response, dict) else None
        times = [pair[1] for item in (writes if isinstance(writes, list) else ()) if len(pair := _numbers(item)) == 2]
        prompt = int(_number(entry.get("prompt_tokens")) or 0)
        yield MeasuredCall(ttft, _gaps(times), prompt, start, start + (_number(entry.get("duration")) or 0.0))


def _read_vllm(value: Object) -> Iterator[MeasuredCall]:
    itls, lengths = value.get("itls"), _numbers(value.get("input_lens"))
    errors = value.get("errors")
    for number, ttft in enumerate(_numbers(value.get("ttfts"))):
        failed = isinstance(errors, list) and number < len(errors) and bool(errors[number])
        gaps = _numbers(itls[number]) if isinstance(itls, list) and number < len(itls) else []
        if ttft > 0 and not failed:
            prompt = int(lengths[number]) if number < len(lengths) else 0
            yield MeasuredCall(ttft, tuple(gap for gap in gaps if gap > _MIN_GAP), prompt)


def _read_guidellm(value: Object) -> Iterator[MeasuredCall]:
    for benchmark in _objects(value.get("benchmarks")):
        requests = benchmark.get("requests")
        for row in _objects(requests.get("successful") if isinstance(requests, dict) else None):
            ttft, itl = _number(row.get("time_to_first_token_ms")), _number(row.get("inter_token_latency_ms"))
            start, end = (_number(row.get(name)) or 0.0 for name in ("start_time", "end_time"))
            if ttft is not None:
                prompt = int(_number(row.get("prompt_tokens")) or 0)
                yield MeasuredCall(ttft / 1000, (itl / 1000,) if itl else (), prompt, start, end)


def _read_inference_perf(value: list[JSON] | JSON) -> Iterator[MeasuredCall]:
    for row in _objects(value):
        info = row.get("info")
        about: Object = info if isinstance(info, dict) else {}
        times = _numbers(about.get("output_token_times"))
        start, end = _number(row.get("start_time")), _number(row.get("end_time"))
        if row.get("error") or not times or start is None or end is None:
            continue
        prompt = int(_number(about.get("input_tokens")) or 0)
        yield MeasuredCall(times[0] - start, _gaps(times), prompt, start, end)
