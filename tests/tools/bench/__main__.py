"""Measure the emulator beside bare handlers.

Run it as ``python -m tests.tools.bench``; ``docs/performance.md`` says how to read it."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.tools.bench.load import NoCompiler, loader
from tests.tools.bench.report import Results, describe_machine, word_json, word_notes, word_table
from tests.tools.bench.rows import NUMBERS, ROWS, Work, works_of
from tests.tools.bench.run import emulator, reference, repeat, take_sample
from tests.tools.bench.servers import Side


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every row keeps to what must be, 1 if one does not, 2 if nothing can be measured here."""
    options = parse(__doc__ or "", arguments)
    rows = [row for row in ROWS if row.number in options.rows]
    results = Results()
    try:
        with loader() as program, tempfile.TemporaryDirectory() as folder:
            sample = Path(folder) / "sample.json"
            take_sample(sample)

            def sides(work: Work) -> list[Side]:
                return [emulator(work), *(reference(name, sample) for name in work.bare)]

            for work, figures in repeat(works_of(rows), sides, program, options.reps, options.seconds):
                results.add(work.name, figures)
    except NoCompiler as error:
        print(error, file=sys.stderr)
        return 2
    machine = describe_machine()
    print(*word_table(rows, results), "", *word_notes(results), "", sep="\n")
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    if options.json is not None:
        options.json.write_text(word_json(rows, results, machine), encoding="utf-8")
    return 0 if all(row.holds(results.median(row)) for row in rows) else 1


def parse(what: str, arguments: Sequence[str] | None, *commits: str) -> argparse.Namespace:
    """The options of both commands; ``quick`` is worked in."""
    parser = argparse.ArgumentParser(description=what)
    for name in commits:
        parser.add_argument(name, help="a commit, a branch or a tag")
    parser.add_argument("--rows", default=",".join(NUMBERS), help="numbers, with commas between (default all)")
    parser.add_argument("--reps", type=int, default=5, help="how often each side is measured, in turn (default 5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one measurement (default 3)")
    parser.add_argument("--quick", action="store_true", help="one repetition of a second, to see that all works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every run")
    options = parser.parse_args(arguments)
    options.rows = options.rows.split(",")
    if unknown := [number for number in options.rows if number not in NUMBERS]:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(NUMBERS)}")
    if options.quick:
        options.reps, options.seconds = 1, 1.0
    return options


if __name__ == "__main__":
    sys.exit(main())
