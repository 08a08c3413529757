"""``emulator sweep``: run a test command once for each fault that its calls can meet."""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from emulator.client import EmulatorError
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.scenario.parsed import ScenarioError
from emulator.settings import SettingsError
from emulator.sweep.cells import Cell
from emulator.sweep.command import Command
from emulator.sweep.earlier_report import (
    SweepReport,
    hash_files,
    join_reports,
    list_changed,
    list_watched,
    parse_report,
    read_at,
)
from emulator.sweep.plan import SURVIVED, Key, SweepPlan
from emulator.sweep.preload import PreloadedCommand, PreloadError, UnsuitableError
from emulator.sweep.report import write_json, write_junit, write_markdown, write_page, write_sarif, write_scenarios
from emulator.sweep.run import Baseline, Row, Sweep, SweepError, SweepOptions
from emulator.sweep.swept_tests import SWEEP_VARIABLE

_SHOWN = 3  # names of changed files
_BAR = 24  # characters
_LONG = 10.0  # seconds of a run; imports are a small part of a longer one


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write, and what to take over from earlier sweeps.

    Fields:
        json: file of the outcomes as JSON; if it exists, its outcomes are taken over.
        failures: folder of one scenario for each failure.
        since: revision of Git.
        watch: files that the command uses, besides those that it names.
        earlier: reports whose outcomes are taken over.
    """

    json: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    html: Path | None = None
    failures: Path | None = None
    since: str | None = None
    watch: Sequence[Path] = ()
    earlier: Sequence[Path] = ()

    @property
    def written(self) -> list[Path]:
        files = (self.json, self.junit, self.sarif, self.html, self.failures)
        return [*(file for file in files if file is not None), *self.earlier]


@dataclass(slots=True)
class _Session:
    """State of a running sweep: outcomes so far, those of earlier sweeps, and the files to write."""

    words: Sequence[str]
    outputs: Outputs
    before: SweepReport
    files: str
    began: float
    rows: dict[Key, Row] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    wanted: Sequence[Key] = ()

    def find_earlier(self, cell: Cell, scenario: str) -> Row | None:
        return self.before.find(cell.key, scenario, cell.call.digest)

    def add(self, row: Row, made: int, left: int) -> None:
        """Keep a row, show the progress, and write the JSON, so that nothing ends with a process that is killed."""
        self.rows[row.key] = row
        if made and not row.like:
            self.write_json()
        if sys.stderr.isatty():
            failed = sum(1 for one in self.rows.values() if one.outcome != SURVIVED)
            print(f"\r{format_bar(made, left, failed, time.monotonic() - self.began)}\x1b[K", end="", file=sys.stderr)

    def write_json(self) -> None:
        if self.outputs.json is None:
            return
        rows = {**self.before.rows, **self.rows}  # of other shards too
        found = {key: rows[key] for key in self.wanted if key in rows}
        report = SweepReport(found, self.calls, self.words, self.files, len(found) == len(self.wanted))
        _write(self.outputs.json, write_json(report))

    def write(self) -> None:
        """Write the report of what ran."""
        if sys.stderr.isatty():
            print(file=sys.stderr)
        self.write_json()
        found, command = [self.rows[key] for key in self.wanted if key in self.rows], shlex.join(self.words)
        print(write_markdown(found), end="")
        for file, write in ((self.outputs.junit, write_junit), (self.outputs.sarif, write_sarif)):
            if file is not None:
                _write(file, write(found))
        if self.outputs.html is not None:
            _write(self.outputs.html, write_page(found, command))
        if self.outputs.failures is not None:
            write_scenarios(found, command, self.outputs.failures)


def _write(file: Path, text: str) -> None:
    """Replace a file as a whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, file)


def format_bar(made: int, left: int, failed: int, seconds: float) -> str:
    """Return a line of progress; the time left is by the mean of the runs that were made."""
    done = _BAR * made // max(1, made + left)
    rest = seconds / max(1, made) * left
    return f"[{'#' * done}{'-' * (_BAR - done)}] {made} of {made + left} runs, {failed} failed, {rest:.0f} s left"


def parse_shard(text: str) -> tuple[int, int]:
    """Parse ``1/4``.

    Raises:
        SettingsError: it is no part of a whole.
    """
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise SettingsError(f"--shard: expected I/N with I from 1 to N, such as 1/4, not {text}")
    return int(number), int(of)


def run_sweep(words: Sequence[str], options: SweepOptions, outputs: Outputs, *, preloads: bool) -> int:
    """Print the table; return 1 if a cell was not survived, 2 if it cannot sweep or breaks off, 130 after Ctrl-C."""
    from emulator import start

    for file in options.base:
        if not file.is_file():
            raise SettingsError(f"--scenario: there is no file {file}")
    folder = Path()
    watched = list_watched(words, outputs.watch, folder)
    files = hash_files(watched, folder, outputs.written)
    before = _read_earlier(words, outputs, watched, files)
    session = _Session(words, outputs, before, files, time.monotonic())
    try:
        with start() as server:
            shares = preloads and options.has_runs
            variables = [name for vendor in options.vendors for name in server.env(vendor)] if shares else None
            _sweep(Sweep(server, options, Command(words), session.add), session, variables)
    except (SweepError, PreloadError) as error:
        if session.rows:
            session.write()
        what = "the sweep has ended early" if session.rows else "no sweep"
        print("\n".join(map(escape, f"{what}: {error}".splitlines())), file=sys.stderr)
        return 2
    except FileNotFoundError as error:
        raise SettingsError(f"cannot run {words[0]}: {error.strerror}") from None
    except (ScenarioError, EmulatorError) as error:
        raise SettingsError(f"--scenario: {error}") from None
    except KeyboardInterrupt:
        session.write()
        return 130
    session.write()
    return int(any(row.outcome != SURVIVED for row in session.rows.values()))


def _sweep(sweep: Sweep, session: _Session, variables: Sequence[str] | None) -> None:
    """Sweep; ``variables``: names of the variables that differ between runs, if libraries are to be preloaded."""
    baseline: Baseline = sweep.run_baseline()
    with ExitStack() as closing:
        if variables is not None and baseline.seconds < _LONG:
            baseline = _preload(sweep, session.words, baseline, variables, closing)
        if not sweep.try_two_at_once(baseline):
            print("sweep: two runs at once fail without a fault; one runs at a time", file=sys.stderr)
        _run_cells(sweep, session, baseline)


def _preload(
    sweep: Sweep, words: Sequence[str], baseline: Baseline, variables: Sequence[str], closing: ExitStack
) -> Baseline:
    """Preload the libraries of the command; print why not, or which not."""
    try:
        runner = PreloadedCommand(words, [*variables, SWEEP_VARIABLE])
        closing.callback(runner.end)
        baseline = sweep.preload(baseline, runner)
    except UnsuitableError:
        return baseline
    except PreloadError as error:
        print(f"sweep: nothing is preloaded: {escape(str(error))}", file=sys.stderr)
        return baseline
    if runner.kept_out:
        names = ", ".join(f"{name} ({escape(why)})" for name, why in runner.kept_out.items())
        print(f"sweep: not preloaded: {names}", file=sys.stderr)
    return baseline


def _run_cells(sweep: Sweep, session: _Session, baseline: Baseline) -> None:
    session.calls = {call.name: call.digest for call in baseline.classes}
    plan: SweepPlan = sweep.plan(baseline)
    session.wanted = [cell.key for cell in plan.cells]
    session.began = time.monotonic()
    sweep.run(baseline, plan, session.find_earlier)


def _read_earlier(words: Sequence[str], outputs: Outputs, watched: Sequence[Path], files: str) -> SweepReport:
    """Return the outcomes to take over: those of a sweep that was ended early, of ``--from``, or since a revision."""
    if outputs.since is not None:
        return _read_since(outputs, watched)
    found: list[SweepReport] = []
    for file in (*outputs.earlier, *([outputs.json] if outputs.json is not None and outputs.json.exists() else [])):
        report = _parse(file)
        is_same = (report.files, tuple(report.command)) == (files, tuple(words))
        if is_same and (file in outputs.earlier or not report.is_complete):
            found.append(report)
        elif file in outputs.earlier:
            print(f"sweep: {file} is of another command or of other files; its outcomes are not used", file=sys.stderr)
    return join_reports(found)


def _read_since(outputs: Outputs, watched: Sequence[Path]) -> SweepReport:
    revision, file = outputs.since or "", outputs.json
    if file is None:
        raise SettingsError("--since needs --json FILE, the report of the sweep at that revision")
    try:
        changed = list_changed(revision, watched, Path(), outputs.written)
    except ValueError as error:
        raise SettingsError(f"--since: {error}") from None
    if changed:
        names = ", ".join(changed[:_SHOWN]) + (", …" if len(changed) > _SHOWN else "")
        print(f"sweep: {len(changed)} files changed since {revision} ({names}); all cells are run", file=sys.stderr)
        return SweepReport()
    text = read_at(revision, file, Path())
    if text is None and not file.exists():
        print(f"sweep: there is no {file} of {revision}; all cells are run", file=sys.stderr)
        return SweepReport()
    return _parse(file, text)


def _parse(file: Path, text: bytes | None = None) -> SweepReport:
    """Parse a report, by default as the file has it."""
    try:
        return parse_report(file.read_bytes() if text is None else text, str(file))
    except OSError as error:
        raise SettingsError(f"cannot read {file}: {explain_file(error, file)}") from None
    except ValueError as error:
        raise SettingsError(str(error)) from None
