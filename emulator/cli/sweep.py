"""``emulator sweep``: run a test command once for each fault that its calls can meet."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from emulator.core.text import escape
from emulator.settings import SettingsError
from emulator.sweep.report import read_json, write_json, write_junit, write_markdown, write_sarif
from emulator.sweep.run import Key, Options, Row, SweepError, sweep


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; the JSON file is also read, to go on with what it has."""

    json: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None


def run_sweep(options: Options, outputs: Outputs) -> int:
    """Print the table; return 1 if a cell was not survived, 2 if there is nothing to sweep, 130 after Ctrl-C."""
    from emulator import start

    try:
        done = read_json(outputs.json) if outputs.json else {}
    except ValueError as error:
        raise SettingsError(f"--json: {error}") from None
    rows: dict[Key, Row] = {}
    code = 0
    try:
        with start() as server:
            sweep(server, options, done, _collect(rows, time.monotonic()))
    except SweepError as error:
        print(f"no sweep: {escape(str(error))}", file=sys.stderr)
        return 2
    except FileNotFoundError as error:
        raise SettingsError(f"cannot run {options.command[0]}: {error.strerror}") from None
    except KeyboardInterrupt:
        code = 130
    _write(rows, done, outputs)
    return code or int(any(row.outcome != "survived" for row in rows.values()))


def _collect(rows: dict[Key, Row], began: float) -> Callable[[Row, int], None]:
    def add(row: Row, left: int) -> None:
        rows[row.call, row.fault, row.position] = row
        runs = sum(1 for one in rows.values() if not one.like)
        if sys.stderr.isatty():
            seconds = (time.monotonic() - began) / max(1, runs) * left
            print(f"\r{runs} runs, {left} left, {seconds:.0f} s \x1b[K", end="", file=sys.stderr)

    return add


def _write(rows: Mapping[Key, Row], done: Mapping[Key, Row], outputs: Outputs) -> None:
    """Write the report of what ran."""
    if sys.stderr.isatty():
        print(file=sys.stderr)
    found = [*rows.values()]
    print(write_markdown(found), end="")
    kept = [*found, *(row for key, row in done.items() if key not in rows)]
    for file, write in ((outputs.json, write_json), (outputs.junit, write_junit), (outputs.sarif, write_sarif)):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(write(kept), encoding="utf-8")
