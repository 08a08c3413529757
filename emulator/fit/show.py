"""Format fitted latency as a ``latency:`` section, and draw measured against fitted times, for ``emulator fit``."""

from collections.abc import Iterator

import numpy as np

from emulator.fit.estimate import Fit, FittedFamily, LatencyFit

_WIDTH, _HEIGHT, _MARGIN = 420, 260, 48  # pixels; a share such as 100 % is left of the axis
_POINTS = 200
_SHOWN = (0.25, 0.5, 0.75, 0.9, 1.0)  # shares of times that have a line


def format_seconds(seconds: float) -> str:
    """Format a time with five digits: ``180.2ms``, ``1.5s``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{_round(seconds * factor)}{unit}"
    return f"{_round(seconds * 1e6)}us"


def _round(number: float) -> str:
    digits = max(0, 5 - len(str(int(number))))
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format_family(family: FittedFamily) -> str:
    values = {
        name: format_seconds(max(0.0, value)) if name in family.times else _round(value)
        for name, value in family.parameters.items()
    }
    if family.name == "empirical":
        shown = ", ".join(f"{name}: {value}" for name, value in values.items())
        return f"{{type: empirical, quantiles: {{{shown}}}}}"
    return f"{{type: {family.name}, {', '.join(f'{name}: {value}' for name, value in values.items())}}}"


def format_section(fit: LatencyFit) -> Iterator[str]:
    """Yield the lines of a ``latency:`` section, with the figures of the fit as comments."""
    yield from _describe("ttft", fit.ttft)
    if fit.itl is not None:
        yield from _describe("itl", fit.itl)
    yield from (f"# {note}" for note in fit.notes)
    yield "latency:"
    yield f"  ttft: {_format_family(fit.ttft.chosen)}"
    if fit.prefill:
        yield f"  prefill: {format_seconds(fit.prefill)}"
    if fit.itl is not None:
        yield f"  itl: {_format_family(fit.itl.chosen)}"
    if fit.capacity:
        yield f"  load: {{capacity: {fit.capacity}, factor: {_round(fit.factor)}}}"


def _describe(name: str, fit: Fit) -> Iterator[str]:
    yield f"# {name}: {fit.chosen.name} of {fit.count}; those held out have Kolmogorov-Smirnov distance {fit.ks:.3f}"
    rows = ", ".join(
        f"p{share * 100:g} {format_seconds(measured)} measured, {format_seconds(fitted)} fitted"
        for share, measured, fitted in fit.quantiles
    )
    yield f"#   held out: {rows}"
    others = ", ".join(f"{other} {bic:.0f}" for other, bic in sorted(fit.rejected.items(), key=lambda row: row[1]))
    if fit.chosen.name == "empirical":
        yield f"#   criterion (BIC) of distributions that are too far off: {others}"
    elif others:
        yield f"#   criterion (BIC): {fit.chosen.name} {fit.chosen.bic:.0f}, {others}"


def draw_picture(fit: LatencyFit) -> str:
    """Return an SVG with the measured (held out) and the fitted distribution of each kind of time."""
    fits = [("time to first token" + (" less prefill" if fit.prefill else ""), fit.ttft)]
    if fit.itl is not None:
        fits.append(("inter-token latency" + (" of a lone call" if fit.capacity else ""), fit.itl))
    width = _WIDTH * len(fits)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{_HEIGHT}" fill="white"/>',
    ]
    for number, (title, one) in enumerate(fits):
        parts += [f'<g transform="translate({number * _WIDTH} 0)">', *_draw(title, one), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _draw(title: str, fit: Fit) -> Iterator[str]:
    values = fit.held_out
    high = float(max(np.quantile(values, 0.995), fit.chosen.ppf(0.995))) or 1.0
    right, bottom = _WIDTH - _MARGIN, _HEIGHT - _MARGIN

    def place(value: float, share: float) -> str:
        x = _MARGIN + min(1.0, value / high) * (right - _MARGIN)
        return f"{x:.1f},{bottom - share * (bottom - _MARGIN):.1f}"

    shares = np.linspace(0.005, 0.995, _POINTS)
    measured = " ".join(place(float(np.quantile(values, share)), float(share)) for share in shares)
    fitted = " ".join(place(fit.chosen.ppf(float(share)), float(share)) for share in shares)
    yield f'<text x="{_MARGIN}" y="20">{title}: {fit.chosen.name}</text>'
    yield f'<path d="M{_MARGIN} {_MARGIN}V{bottom}H{right}" fill="none" stroke="#888"/>'
    yield f'<text x="{right}" y="{bottom + 16}" text-anchor="end">{format_seconds(high)}</text>'
    yield f'<text x="{_MARGIN}" y="{bottom + 16}">0</text>'
    for share in _SHOWN:
        y = bottom - share * (bottom - _MARGIN)
        yield f'<path d="M{_MARGIN} {y:.1f}H{right}" stroke="#ddd"/>'
        yield f'<text x="{_MARGIN - 4}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
    yield f'<polyline points="{measured}" fill="none" stroke="#0a6" stroke-width="2"/>'
    yield f'<polyline points="{fitted}" fill="none" stroke="#c30" stroke-width="1.5" stroke-dasharray="5 3"/>'
    yield f'<text x="{right}" y="{bottom - 24}" text-anchor="end" fill="#0a6">measured</text>'
    yield f'<text x="{right}" y="{bottom - 8}" text-anchor="end" fill="#c30">fitted</text>'
