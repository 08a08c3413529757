"""Compare two commits: ``python -m tests.tools.bench.compare BEFORE AFTER``.

Each commit is cloned into a folder. Both run with the packages that are installed here; load and scenarios are those of
the working tree.
"""

import compileall
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from tests.tools.bench.__main__ import parse
from tests.tools.bench.load import NoCompiler, loader
from tests.tools.bench.report import Results, describe_machine, format_figure, format_notes
from tests.tools.bench.rows import ROWS, Row, Work, works_of
from tests.tools.bench.run import emulator, open_store, repeat
from tests.tools.bench.servers import Side

_HERE = Path(__file__).parent.parent.parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or 2 if nothing can be measured here."""
    options = parse(__doc__ or "", arguments, "before", "after")
    rows = [row for row in ROWS if row.number in options.rows]
    results = Results()
    try:
        with loader() as program, tempfile.TemporaryDirectory() as folder, open_store(rows) as (rows, store):
            commits = [clone(name, Path(folder) / side) for side, name in _sides(options.before, options.after)]

            def sides(work: Work) -> list[Side]:
                return [
                    emulator(setup, f"{commit.name} {name}", folder=commit, store=store)
                    for name, setup in work.setups.items()
                    for commit in commits
                ]

            for work, figures in repeat(works_of(rows), sides, program, options.reps, options.seconds):
                results.add(work.name, figures)
    except (NoCompiler, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    print(*format_comparison(rows, results), "", *format_notes(results), sep="\n")
    if options.json is not None:
        report = {"machine": describe_machine(), "before": options.before, "after": options.after, "runs": results.runs}
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 0


def _sides(before: str, after: str) -> Iterator[tuple[str, str]]:
    yield "before", before
    yield "after", after


def clone(commit: str, folder: Path) -> Path:
    """Clone a commit into a folder and compile it."""
    subprocess.run(["git", "clone", "--quiet", "--shared", str(_HERE), str(folder)], check=True)
    found = subprocess.run(
        ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=_HERE, check=True, capture_output=True, text=True
    )
    subprocess.run(["git", "checkout", "--quiet", found.stdout.strip()], cwd=folder, check=True)
    compileall.compile_dir(folder / "emulator", quiet=2)
    return folder


def format_comparison(rows: Sequence[Row], results: Results) -> Iterator[str]:
    """Yield the lines of a Markdown table: each figure before and after, and the quotient."""
    yield "| # | measure | figure | before | after | after / before | lowest to highest |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: |"
    figures = dict.fromkeys((row.number, row.name, row.work, row.side, row.figure) for row in rows)
    for number, name, work, ours, figure in figures:
        runs = results.runs.get(work, [])
        before, after = ([sides[f"{commit} {ours}"][figure] for sides in runs] for commit in ("before", "after"))
        ratios = [b / a for a, b in zip(before, after, strict=True) if a]
        if ratios:
            spread = f"{format_figure(min(ratios))} to {format_figure(max(ratios))}"
            medians = [format_figure(median(values)) for values in (before, after, ratios)]
            cells = (number, name, figure, *medians, spread)
            yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
