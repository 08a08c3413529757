"""Metrics of several processes as one Prometheus text, format 0.0.4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"([^{\s]+)(?:\{(.*)\})? (\S+)")
_SAME = "_info"  # how gauges end that say the same everywhere


@dataclass(slots=True)
class _Family:
    """Its ``# HELP`` and ``# TYPE``, and its samples by what stands before the value."""

    lines: list[str] = field(default_factory=list)
    samples: dict[str, float] = field(default_factory=dict)


def add_metrics(texts: Mapping[str, str]) -> str:
    """The sums of all."""
    families: dict[str, _Family] = {}
    for text in texts.values():
        for family, name, labels, value in _read(text, families):
            key = f"{name}{{{labels}}}" if labels else name
            before = 0.0 if name.endswith(_SAME) else family.samples.get(key, 0.0)
            family.samples[key] = before + value
    return _write(families)


def join_metrics(texts: Mapping[str, str]) -> str:
    """The samples of each, with a label ``replica`` more."""
    families: dict[str, _Family] = {}
    for replica, text in texts.items():
        for family, name, labels, value in _read(text, families):
            mine = f'replica="{replica}"'
            family.samples[f"{name}{{{mine},{labels}}}" if labels else f"{name}{{{mine}}}"] = value
    return _write(families)


def _read(text: str, families: dict[str, _Family]) -> Iterator[tuple[_Family, str, str, float]]:
    """Each sample: its family, name, labels and value; families are noted as they come."""
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
        lines += [f"{key} {_show(value)}" for key, value in family.samples.items()]
    return "\n".join([*lines, ""])


def _show(value: float) -> str:
    """Whole numbers without a point, as they are usually written."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else repr(value)
