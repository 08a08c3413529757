"""Draw the outages of a scenario over its time as SVG, and beneath them what clients did, for ``emulator timeline``."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from operator import attrgetter

from emulator.scenario.outages import Outage

_WIDTH, _LABELS, _ROW, _TOP = 1000, 240, 26, 34  # pixels
_LONGEST = 34  # characters of a label
_PLOT = _WIDTH - _LABELS - 20
_TICKS = 8
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # seconds
_DRAWN = 10  # windows of drawn times that the picture has room for
_COLOURS = {
    "region": "#c62839",
    "brown_out": "#d97a00",
    "slow_recovery": "#c62839",
    "bad_deploy": "#8a3fb0",
    "key_rotation": "#3b6fd4",
    "retirement": "#555b66",
    "answered": "#1f8a4c",
    "failed": "#c62839",
    "cut": "#d97a00",
    "left": "#7b8494",
}


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One call; times in seconds since the start of the scenario.

    Fields:
        lane: what the call addressed; calls of one lane share a row.
        outcome: ``answered``, ``failed``, ``cut`` or ``left`` (by the client).
        text: shown when a reader points at it.
    """

    begin: float
    end: float
    lane: str
    outcome: str
    text: str


def draw_timeline(
    outages: Sequence[Outage], calls: Sequence[ShownCall], started: float, until: float | None = None
) -> str:
    """Return the picture as SVG.

    Args:
        started: start of the scenario, Unix seconds.
        until: end of the picture in seconds since then; absent: of all that it shows.
    """
    ends = [_find_end(outage, started) for outage in outages]
    end = until or max(ends + [call.end for call in calls], default=0.0) or 1.0
    rows = [*_draw_outages(outages, started, end), *_draw_calls([call for call in calls if call.begin <= end], end)]
    height = _TOP + _ROW * len(rows) + 30
    body = "".join(f'<g transform="translate(0 {_TOP + _ROW * place})">{row}</g>\n' for place, row in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="12" fill="#1b2130">\n'
        "<title>Outages over the scenario's time</title>\n"
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f"{''.join(_draw_axis(end, height))}{body}</svg>\n"
    )


def _find_end(outage: Outage, started: float) -> float:
    windows = outage.list_windows(started)[:_DRAWN]
    return 1.1 * max([end + (outage.for_ or 0.0) for _, end in windows], default=0.0)


def _draw_axis(end: float, height: int) -> Iterator[str]:
    step = next((step for step in _STEPS if end / step <= _TICKS), max(_STEPS[-1], end / _TICKS))
    for number in range(int(end / step) + 1):
        x = _place(number * step, end)
        yield f'<line x1="{x}" x2="{x}" y1="{_TOP - 6}" y2="{height - 16}" stroke="#d5d9e0"/>'
        yield f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle" fill="#545e70">{format_time(number * step)}</text>\n'


def format_time(seconds: float) -> str:
    """Format a time since the start: ``90 s``, ``5 min``, ``1:30 h``."""
    if seconds < 120:
        return f"{seconds:g} s"
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.4g} min"
    return f"{int(minutes // 60)}:{int(minutes % 60):02} h"


def _place(time: float, end: float) -> float:
    return round(_LABELS + min(max(time, 0.0), end) / end * _PLOT, 2)


def _label(name: str, note: str = "") -> str:
    """Return the name of a row with a note beneath; a long name is cut; the title of one with a note has it whole."""
    shown = escape(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
    if not note:
        return f'<text x="8" y="16">{shown}</text>'
    whole = f"<title>{escape(f'{name}: {note}')}</title>"
    second = f'<tspan x="8" y="23" fill="#545e70">{escape(note)}</tspan>'
    return f'<text x="8" y="11" font-size="11">{whole}{shown}{second}</text>'


def _bar(begin: float, end: float, total: float, colour: str, text: str, opacity: float = 0.85) -> str:
    x, width = _place(begin, total), max(1.5, _place(end, total) - _place(begin, total))
    return (
        f'<rect x="{x}" y="4" width="{width:.2f}" height="16" fill="{colour}" fill-opacity="{opacity:g}">'
        f"<title>{escape(text)}</title></rect>"
    )


def _draw_outages(outages: Iterable[Outage], started: float, total: float) -> Iterator[str]:
    for outage in outages:
        windows = [window for window in outage.list_windows(started) if window[0] < total]
        bars = "".join(_draw_window(outage, begin, end, total) for begin, end in windows)
        yield _label(f"{outage.name} ({outage.kind})") + bars


def _is_partial(outage: Outage) -> bool:
    return outage.kind in ("brown_out", "bad_deploy") and outage.served is None


def _draw_window(outage: Outage, begin: float, end: float, total: float) -> str:
    colour = _COLOURS[outage.kind]
    times = f"{outage.name}: {format_time(begin)} to {format_time(end)}"
    if outage.kind == "retirement":
        gone = f"{outage.name}: gone from {format_time(end)}"
        return _bar(begin, end, total, colour, f"{times}, warned", 0.35) + _bar(end, total, total, colour, gone)
    bar = _bar(begin, end, total, colour, times, outage.share if _is_partial(outage) else 0.85)
    if outage.for_ is None:
        return bar
    left, right = _place(end, total), _place(end + outage.for_, total)
    text = f"{outage.name}: quotas are back at {format_time(end + outage.for_)}"
    points = f"{left},4 {right},20 {left},20"
    shape = f'<polygon points="{points}" fill="{colour}" fill-opacity="0.35">'
    return f"{bar}{shape}<title>{escape(text)}</title></polygon>"


def _draw_calls(calls: Iterable[ShownCall], total: float) -> Iterator[str]:
    for lane, found in groupby(sorted(calls, key=attrgetter("lane", "begin")), key=attrgetter("lane")):
        some = list(found)
        bad = sum(call.outcome != "answered" for call in some)
        bars = (_bar(call.begin, call.end, total, _COLOURS[call.outcome], call.text, 0.6) for call in some)
        yield _label(lane, f"{len(some)} calls, {bad} not whole") + "".join(bars)
