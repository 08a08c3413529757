"""Format the results as a table, as notes and as JSON, and write the table into a page."""

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from math import inf
from pathlib import Path
from statistics import median

from emulator.serve.server import has_uvloop
from tests.tools.bench.load import Figures
from tests.tools.bench.rows import OURS, ROWS, Row

UNMEASURED = "not measured yet"
_BUSY = 0.9  # of a processor; above it the load generator may be the bottleneck
_HEAD = "| # | measure | against"
_COLUMNS = "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |"


@dataclass(slots=True)
class Results:
    """Repetitions by work, each with the figures by side."""

    runs: dict[str, list[Mapping[str, Figures]]] = field(default_factory=dict)

    def add(self, work: str, sides: Mapping[str, Figures]) -> None:
        self.runs.setdefault(work, []).append(sides)

    def read(self, row: Row) -> list[float]:
        """Return the row's value of each repetition."""
        return [row.read(sides) for sides in self.runs.get(row.work, []) if row.side in sides]

    def median(self, row: Row) -> float:
        return median(self.read(row))

    def find_load(self, work: str) -> float:
        """Return the largest processor usage of the load generator."""
        return max((side.get("load_cpu", 0.0) for sides in self.runs[work] for side in sides.values()), default=0.0)

    def count_failed(self) -> Mapping[tuple[str, str], int]:
        """Return the number of failed responses by work and side, without zeros."""
        failed: dict[tuple[str, str], int] = {}
        for work, runs in self.runs.items():
            for sides in runs:
                for side, figures in sides.items():
                    if count := int(figures.get("failed", 0)):
                        failed[work, side] = failed.get((work, side), 0) + count
        return failed


def describe_machine() -> dict[str, str]:
    """Return the hardware and the versions of a run."""
    model = [line for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if line.startswith("model name")]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return {
        "processor": model[0].partition(":")[2].strip() if model else platform.machine(),
        "processors": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "loop": f"uvloop {version('uvloop')}" if has_uvloop() else "asyncio",
        **{name: version(name) for name in ("aiohttp", "pydantic", "orjson", "numpy")},
        "commit": commit.stdout.strip(),
    }


def format_table(rows: Sequence[Row], results: Results, loop: str) -> Iterator[str]:
    """Yield the lines of a Markdown table; rows without a result are left out."""
    yield f"{_HEAD}, on {loop} | ceiling | median | lowest to highest | must | aim | holds |"
    yield _COLUMNS
    for row in rows:
        if values := results.read(row):
            yield format_row(row, values)


def format_row(row: Row, values: Sequence[float] = ()) -> str:
    """Format one line of the table; without values the row is marked as not measured yet."""
    middle, spread, verdict = UNMEASURED, "", ""
    if values:
        figure = median(values)
        middle = f"{format_figure(figure)} {row.unit}".rstrip()
        spread = f"{format_figure(min(values))} to {format_figure(max(values))}"
        verdict = "" if row.must is None else "yes" if row.holds(figure) else "**no**"
    sign = "≥" if row.at_least else "≤"
    bounds = ["" if bound is None else f"{sign} {format_figure(bound)}" for bound in (row.must, row.aim)]
    return f"| {' | '.join((row.number, row.name, row.against, row.ceiling, middle, spread, *bounds, verdict))} |"


def update_page(text: str, rows: Sequence[Row], results: Results, loop: str) -> str:
    """Return a page with the new results in its table; rows without a result keep their line."""
    lines = text.splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if line.startswith(_HEAD))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    kept = {_name_line(line): line.rstrip("\n") for line in lines[start + 2 : end]}
    kept |= {_name_row(row): format_row(row, values) for row in rows if (values := results.read(row))}
    table = [*format_table((), results, loop), *(kept.get(_name_row(row), format_row(row)) for row in ROWS)]
    return "".join([*lines[:start], *(f"{line}\n" for line in table), *lines[end:]])


def _name_row(row: Row) -> tuple[str, ...]:
    return row.number, row.name


def _name_line(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.split("|")[1:3])


def format_notes(results: Results) -> Iterator[str]:
    """Yield the notes on the load generator's processor usage and on failed responses."""
    usage = {work: results.find_load(work) for work in results.runs}
    yield f"The load generator used {max(usage.values(), default=0.0):.0%} of its processor at most."
    for work, share in usage.items():
        if share > _BUSY:
            yield f"In {work!r} the load generator may be the bottleneck: {share:.0%}."
    for (work, side), count in results.count_failed().items():
        yield f"In {work!r}, {count} responses of {side!r} failed."


def format_json(rows: Sequence[Row], results: Results, machine: Mapping[str, str]) -> str:
    """Format all figures as JSON."""
    table = [
        {
            **{"row": row.number, "name": row.name, "work": row.work, "side": row.side, "figure": row.figure},
            **{"against": row.against, "unit": row.unit, "median": median(values), "values": values},
            **{"at_least": row.at_least, "must": row.must, "aim": row.aim, "holds": row.holds(median(values))},
            "ceiling": row.ceiling,
        }
        for row in rows
        if (values := results.read(row))
    ]
    return json.dumps({"machine": machine, "rows": table, "runs": results.runs, "side": OURS}, indent=1)


def format_figure(value: float) -> str:
    """Format a number with two or three significant digits."""
    if value == inf:
        return "no answer"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"
