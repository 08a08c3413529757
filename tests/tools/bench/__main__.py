"""Measure the emulator and bare handlers: ``python -m tests.tools.bench``.

``docs/performance.md`` explains the rows."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.tools.bench.load import NoCompiler, loader
from tests.tools.bench.report import Results, describe_machine, format_json, format_notes, format_table, update_page
from tests.tools.bench.rows import NUMBERS, ROWS, Work, works_of
from tests.tools.bench.run import HERE, emulator, open_store, reference, repeat, take_sample
from tests.tools.bench.servers import Side

_PAGE = HERE / "docs" / "performance.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every row meets its bound, 1 if one does not, 2 if nothing can be measured here."""
    options = parse(__doc__ or "", arguments)
    rows = [row for row in ROWS if row.number in options.rows]
    results = Results()
    try:
        with loader() as program, tempfile.TemporaryDirectory() as folder, open_store(rows) as (rows, store):
            sample = Path(folder) / "sample.json"
            take_sample(sample)

            def sides(work: Work) -> list[Side]:
                ours = [emulator(setup, name, store=store) for name, setup in work.setups.items()]
                return [*ours, *(reference(name, sample) for name in work.bare)]

            for work, figures in repeat(works_of(rows), sides, program, options.reps, options.seconds):
                results.add(work.name, figures)
    except NoCompiler as error:
        print(error, file=sys.stderr)
        return 2
    machine = describe_machine()
    print(*format_table(rows, results, machine["loop"]), "", *format_notes(results), "", sep="\n")
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    if options.json is not None:
        options.json.write_text(format_json(rows, results, machine), encoding="utf-8")
    if options.page:
        page = update_page(_PAGE.read_text(encoding="utf-8"), rows, results, machine["loop"])
        _PAGE.write_text(page, encoding="utf-8")
    return 0 if all(row.holds(results.median(row)) for row in rows) else 1


def parse(description: str, arguments: Sequence[str] | None, *commits: str) -> argparse.Namespace:
    """Parse the options of both commands and apply ``--quick``."""
    parser = argparse.ArgumentParser(description=description)
    for name in commits:
        parser.add_argument(name, help="a commit, a branch or a tag")
    parser.add_argument("--rows", default=",".join(NUMBERS), help="numbers, separated by commas (default all)")
    parser.add_argument("--reps", type=int, default=5, help="repetitions of each side, in turn (default 5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one measurement (default 3)")
    parser.add_argument("--quick", action="store_true", help="one repetition of a second, as a smoke test")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every run")
    if not commits:
        parser.add_argument("--page", action="store_true", help="write the results into docs/performance.md")
    options = parser.parse_args(arguments)
    options.rows = options.rows.split(",")
    if unknown := [number for number in options.rows if number not in NUMBERS]:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(NUMBERS)}")
    if options.quick:
        options.reps, options.seconds = 1, 1.0
    return options


if __name__ == "__main__":
    sys.exit(main())
