"""Says what was measured: a table, and JSON with everything behind it."""

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
from tests.tools.bench.rows import OURS, Row

_BUSY = 0.9  # of a processor; beyond it the load itself may be what is measured


@dataclass(slots=True)
class Results:
    """All repetitions by work: figures by side."""

    runs: dict[str, list[Mapping[str, Figures]]] = field(default_factory=dict)

    def add(self, work: str, sides: Mapping[str, Figures]) -> None:
        self.runs.setdefault(work, []).append(sides)

    def read(self, row: Row) -> list[float]:
        """The row's figure of each repetition."""
        return [row.read(sides) for sides in self.runs.get(row.work, [])]

    def median(self, row: Row) -> float:
        return median(self.read(row))

    def load_of(self, work: str) -> float:
        """Processors that the load used at most."""
        return max((side.get("load_cpu", 0.0) for sides in self.runs[work] for side in sides.values()), default=0.0)


def describe_machine() -> dict[str, str]:
    """Where it was measured, and with what."""
    model = [line for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if line.startswith("model name")]
    told = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return {
        "processor": model[0].partition(":")[2].strip() if model else platform.machine(),
        "processors": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "loop": f"uvloop {version('uvloop')}" if has_uvloop() else "asyncio",
        **{name: version(name) for name in ("aiohttp", "pydantic", "orjson", "numpy")},
        "commit": told.stdout.strip(),
    }


def word_table(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """Lines of Markdown: each row with its figure, the spread of it and its bounds."""
    yield "| # | measure | against | median | lowest to highest | must | aim | holds |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |"
    for row in rows:
        values = results.read(row)
        if not values:
            continue
        figure, unit = median(values), f" {row.unit}" if row.unit else ""
        spread = f"{word(min(values))} to {word(max(values))}"
        sign = "≥" if row.at_least else "≤"
        must = "" if row.must == inf else f"{sign} {word(row.must)}"
        verdict = "" if row.must == inf else "yes" if row.holds(figure) else "**no**"
        cells = (
            row.number,
            row.name,
            row.against,
            word(figure) + unit,
            spread,
            must,
            f"{sign} {word(row.aim)}",
            verdict,
        )
        yield f"| {' | '.join(cells)} |"


def word_notes(results: Results) -> Iterator[str]:
    """How busy the load was: what it reached alone is no figure of a server."""
    busy = {work: results.load_of(work) for work in results.runs}
    yield f"The load used {max(busy.values(), default=0.0):.0%} of its processor at most."
    yield from (f"In {work!r} it was nearly the limit: {share:.0%}." for work, share in busy.items() if share > _BUSY)


def word_json(rows: Sequence[Row], results: Results, machine: Mapping[str, str]) -> str:
    """Everything, for programs."""
    table = [
        {
            **{"row": row.number, "name": row.name, "work": row.work, "figure": row.figure, "against": row.against},
            **{"unit": row.unit, "median": median(values), "values": values, "at_least": row.at_least},
            **{"must": None if row.must == inf else row.must, "aim": row.aim, "holds": row.holds(median(values))},
        }
        for row in rows
        if (values := results.read(row))
    ]
    return json.dumps({"machine": machine, "rows": table, "runs": results.runs, "side": OURS}, indent=1)


def word(value: float) -> str:
    """As many digits as mean something."""
    if value == inf:
        return "no answer"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"
