"""Run the test command of a sweep once for each cell, in a session of its own, and classify the outcomes.

A cell is a class of calls, a fault and its position; ``cells.py`` lists them. ``cli/sweep.py`` runs the sweep.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore, Lock, Timer
from typing import Protocol

from emulator.client import EmulatorClient
from emulator.client.scenario import Source
from emulator.core.json import Object
from emulator.sweep.calls import CallClass, find_classes, name_classes
from emulator.sweep.cells import UNNOTICEABLE, Cell
from emulator.sweep.command import CommandResult
from emulator.sweep.plan import SURVIVED, Group, Key, SweepPlan, find_next, infer, is_reported, plan_full, plan_merged
from emulator.sweep.preload import PreloadedCommand, PreloadError
from emulator.sweep.probe import Answer, send_again
from emulator.sweep.swept_tests import SWEEP_VARIABLE, FinishedTest, SweptRun, read_tests, renumber

_MIN_HANG = 5.0  # real seconds
_TIMEOUT_FACTOR = 10  # times the fault-free run
_WAITS_AFTER = 1.5  # times the fault-free run, in which a run that meets ``hang`` has made its call
_MAX_WAITING = 8  # processes that wait hold memory
_MAX_BASELINE = 600.0  # real seconds of the fault-free run
_DRAWN = re.compile(r"0x[0-9a-fA-F]+|[0-9a-f]{8,}|\d+(\.\d+)?")
NO_FAULT = "no fault"


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """How to run the command.

    Fields:
        vendors: the command has the environment variables of their clients; of a shared one, the last vendor's.
        jobs: how many runs work at a time; with more than one, runs that hang wait besides.
        hang_after: seconds after which a run counts as hanging; ``None``: derived from the run without faults.
        full: run every cell, at every token.
        shard: number of this part of the sweep, from 1, and how many parts there are.
        base: scenario files that all runs have.
    """

    vendors: Sequence[str]
    jobs: int = 1
    clock: str = "instant"
    hang_after: float | None = None
    max_runs: int | None = None
    full: bool = False
    shard: tuple[int, int] = (1, 1)
    base: Sequence[Path] = ()

    @property
    def has_runs(self) -> bool:
        """Return whether cells may be run at all, and not only taken over."""
        return self.max_runs != 0


def choose_jobs(clock: str) -> int:
    """Return how many runs work at a time: one more than there are processors, as clients wait between attempts.

    Under the real clock their waits are judged, which another run may lengthen.
    """
    return 1 if clock == "real" else (os.cpu_count() or 1) + 1


class Runner(Protocol):
    """Runs the command."""

    def run(self, variables: Mapping[str, str], limit: float) -> CommandResult:
        """Run the command with these variables, for at most ``limit`` seconds."""

    def end(self) -> None:
        """End what runs, and run nothing more."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command.

    ``broken``: sentence of the breach by name of the rule. ``tests``: tests that had a session of their own.
    """

    ended: CommandResult
    seconds: float
    broken: Mapping[str, str] = field(default_factory=dict)
    tests: Sequence[FinishedTest] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """Outcome of a cell.

    Fields:
        broken: rule and sentence of each breach.
        like: the cell whose run shows the outcome; empty: a run of its own.
        said: last lines that the command printed, where it did not survive.
        test: the test that met the fault in a session of its own.
    """

    call: str
    fault: str
    position: str
    outcome: str
    scenario: str
    broken: Sequence[str] = ()
    like: Sequence[str] = ()
    said: str = ""
    test: str = ""

    @property
    def key(self) -> Key:
        return self.call, self.fault, self.position

    @property
    def name(self) -> str:
        return f"{self.fault} {self.position}".strip()

    @property
    def rules(self) -> Sequence[str]:
        """Return the names of the broken rules."""
        return sorted(text.partition(":")[0] for text in self.broken)

    @property
    def breaches(self) -> tuple[str, tuple[str, ...]]:
        """Return the outcome and the broken rules, which are equal for rows of the same failure."""
        return self.outcome, tuple(self.rules)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Result of the run without faults.

    Fields:
        base: as the further runs are made.
        document: the scenario of all runs, if there is one.
        calls: how many calls the run made.
        seconds: real seconds of the command when it is started by itself; a forked run takes fewer.
    """

    base: Run
    document: Object
    classes: Sequence[CallClass]
    calls: int
    seconds: float


OnRow = Callable[[Row, int, int], None]
"""Takes a row, how many runs were made, and how many are left as far as known."""
Earlier = Callable[[Cell, str], Row | None]
"""Returns the outcome of a cell with this scenario from an earlier sweep."""


class SweepError(Exception):
    """The command cannot be swept."""


class Places:
    """Places for ``jobs`` runs that work, and for ``waiting`` runs that use no processor."""

    def __init__(self, jobs: int, waiting: int) -> None:
        self._working = BoundedSemaphore(jobs)
        self._waiting = BoundedSemaphore(waiting)
        self._has_waiting = waiting > 0
        self.most = jobs + waiting

    @contextmanager
    def work(self, leave_after: float | None = None) -> Iterator[None]:
        """Have a place to work; a run that waits from then on leaves it for one to wait, if there is one.

        Args:
            leave_after: seconds after which the run only waits; ``None``: it works to its end.
        """
        self._working.acquire()
        held, lock = [self._working], Lock()

        def leave() -> None:
            with lock:
                if held and self._waiting.acquire(blocking=False):
                    held.pop().release()
                    held.append(self._waiting)

        timer = Timer(leave_after or 0.0, leave)
        timer.daemon = True
        if self._has_waiting and leave_after is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                held.pop().release()


class Sweep:
    """Sweep of one command; it reports the outcome of each cell to ``on_row``."""

    def __init__(self, server: EmulatorClient, options: SweepOptions, runner: Runner, on_row: OnRow) -> None:
        self._server = server
        self._options = options
        self._runner = runner
        self._on_row = on_row
        self._known: dict[Key, Row] = {}
        self._places = Places(max(1, options.jobs), _MAX_WAITING if options.jobs > 1 else 0)
        self.made = 0

    def run_baseline(self) -> Baseline:
        """Run the command without faults.

        Raises:
            SweepError: it hangs, fails, or makes no call.
        """
        vendors = self._options.vendors
        found = self._run_plain(self._options.hang_after or _MAX_BASELINE)
        ended = found.base.ended
        if ended.exit is None:
            raise SweepError("without a fault the command did not end")
        if ended.exit:
            raise SweepError(f"without a fault the command exits with {ended.exit}:\n{ended.last_output}")
        if not found.classes:
            where = f"it finds the URLs in the variables that `emulator env {vendors[-1]}` prints"
            raise SweepError(f"the command made no call to {' or '.join(vendors)} that was answered; {where}")
        return found

    def try_two_at_once(self, baseline: Baseline) -> bool:
        """Return whether the command can run beside itself; if it cannot, as one that uses a port, it runs alone."""
        if self._options.jobs < 2 or not self._options.has_runs:
            return True
        with self._open_pool(2) as pool:
            runs = [pool.submit(self._run_plain, self._limit(baseline)) for _ in range(2)]
            for early in wait(runs, return_when=FIRST_EXCEPTION).done:
                early.result()  # raises what either has raised
            if all(each.result().base.ended.exit == 0 for each in runs):
                return True
        self._places = Places(1, 0)
        return False

    def preload(self, baseline: Baseline, runner: PreloadedCommand) -> Baseline:
        """Have further runs forked from a process with the libraries of the command; return their run without faults.

        Raises:
            PreloadError: they cannot be shared, or that run differs from the one that the command made by itself.
        """
        plain, self._runner = self._runner, runner
        try:
            learned = self._run_forked(baseline)
            runner.preload()
            found = self._run_forked(baseline)
        except BaseException:
            self._runner = plain
            runner.end()
            raise
        return replace(found, seconds=min(baseline.seconds, learned.seconds))  # both had to import everything

    def _run_forked(self, baseline: Baseline) -> Baseline:
        found = self._run_plain(self._limit(baseline))
        ended = found.base.ended
        if ended.exit is None:
            raise PreloadError("a forked run without faults does not end")
        if ended.exit != baseline.base.ended.exit:
            raise PreloadError(f"a forked run without faults exits with {ended.exit}")
        if _describe(found) != _describe(baseline):
            raise PreloadError("the calls of two runs differ")
        return found

    def _limit(self, baseline: Baseline) -> float:
        """Return the seconds after which a run counts as hanging."""
        return self._options.hang_after or max(_MIN_HANG, _TIMEOUT_FACTOR * baseline.seconds)

    def _run_plain(self, limit: float) -> Baseline:
        options = self._options
        with self._session(options.clock, options.base) as client:
            document = client.scenario().document
            base = self._run(client, limit)
            requests = client.requests()
        found, calls = find_classes(requests, document), len(requests)
        for test in base.tests:
            calls += len(test.calls)
            found += find_classes(test.calls, test.document, test.test)
        shared = document if options.base and isinstance(document, dict) else {}
        return Baseline(base, shared, name_classes(found), calls, base.seconds)

    def plan(self, baseline: Baseline) -> SweepPlan:
        """Return all cells, and which of them share a run."""
        if self._options.full:
            return plan_full(baseline.classes, self._probe)
        return plan_merged(baseline.classes, self._probe, waits=self._options.clock == "real")

    def run(self, baseline: Baseline, plan: SweepPlan, earlier: Earlier) -> None:
        """Run this shard of a plan until every outcome is known, or ``max_runs`` is reached."""
        plan = plan.take_shard(*self._options.shard)
        self._take_earlier(baseline, plan, earlier)
        for cell in plan.unchanged:
            scenario = cell.write_scenario(baseline.document)
            self._add(cell, Row(*cell.key, SURVIVED, scenario, (), (NO_FAULT,), test=cell.call.test))
        limit = self._limit(baseline)
        self._infer(baseline, plan)
        while todo := self._find_todo(plan):
            most = self._options.max_runs
            some = todo if most is None else todo[: max(0, most - self.made)]
            self._run_all(baseline, some, limit, len(todo))
            self._infer(baseline, plan)
            if len(some) < len(todo):
                return

    def _take_earlier(self, baseline: Baseline, plan: SweepPlan, earlier: Earlier) -> None:
        for cell in plan.cells:
            row = earlier(cell, cell.write_scenario(baseline.document))
            if row is not None:
                self._add(cell, row)

    def _find_todo(self, plan: SweepPlan) -> list[Group]:
        """Return the groups to run now; those that may hang come first, as they take longest."""
        known = {key: row.breaches for key, row in self._known.items()}
        found = {group[0].key: group for unit in plan.units for group in find_next(unit, known)}
        return sorted(found.values(), key=lambda group: group[0].fault != "hang")

    def _run_all(self, baseline: Baseline, todo: Sequence[Group], limit: float, left: int) -> None:
        with self._open_pool(self._places.most) as pool:
            runs = {pool.submit(self._run_cell, group[0], baseline, limit): group for group in todo}
            for ended in as_completed(runs):
                group, run = runs[ended], ended.result()
                self.made += 1
                left -= 1
                for cell in group:
                    like = () if cell is group[0] else group[0].key
                    self._add(cell, write_row(cell, run, baseline, like), left)

    @contextmanager
    def _open_pool(self, size: int) -> Iterator[ThreadPoolExecutor]:
        """Open threads for runs; an error ends what runs, and so does Ctrl-C, which the command does not see."""
        pool = ThreadPoolExecutor(size)
        try:
            yield pool
        except BaseException:
            self._runner.end()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _run_cell(self, cell: Cell, baseline: Baseline, limit: float) -> Run:
        leave_after = _WAITS_AFTER * baseline.base.seconds if cell.fault == "hang" else None
        rules = [] if cell.call.test else [cell.rule]
        with self._places.work(leave_after), self._session(self._options.clock, self._options.base, rules) as client:
            return self._run(client, limit, cell)

    def _run(self, client: EmulatorClient, limit: float, cell: Cell | None = None) -> Run:
        """Run the command with the variables of a session; ``cell``: what one of its tests meets."""
        began = time.monotonic()
        variables = {name: text for vendor in self._options.vendors for name, text in client.env(vendor).items()}
        with TemporaryDirectory(prefix="emulator-sweep-") as folder:
            joined = SweptRun(url=client.front, session=client.session_name, folder=folder, clock=self._options.clock)
            if cell is not None and cell.call.test:
                joined.test, joined.rule = cell.call.test, cell.rule
            ended = self._runner.run({**variables, SWEEP_VARIABLE: joined.model_dump_json()}, limit)
            tests = read_tests(Path(folder))
        seconds = time.monotonic() - began
        broken = client.verdict().broken
        numbers = {str(call.seq): at for at, call in enumerate(client.requests(), 1)} if broken else {}
        found = {row.rule: renumber(row.sentence, numbers) for row in broken}
        for test in tests:
            found |= {rule: f"{test.test}: {sentence}" for rule, sentence in test.broken.items() if rule not in found}
        return Run(ended, seconds, found, tests)

    def _probe(self, call: CallClass, cells: Sequence[Cell]) -> Answer:
        sources = [call.document] if call.test else self._options.base
        with self._session("instant", sources, [cell.rule for cell in cells]) as client:
            return send_again(client, call)

    @contextmanager
    def _session(self, clock: str, sources: Sequence[Source], rules: Sequence[Object] = ()) -> Iterator[EmulatorClient]:
        with self._server.session(f"sweep.{os.urandom(6).hex()}") as client:
            client.load(*sources, clock=clock, rules=[*rules])
            yield client

    def _infer(self, baseline: Baseline, plan: SweepPlan) -> None:
        """Report the outcomes that follow from others."""
        known = {key: row.breaches for key, row in self._known.items()}
        for unit in plan.units:
            if find_next(unit, known):
                continue
            for group, source in [*infer(unit, known)]:
                for cell in group:
                    self._add(cell, _copy(self._known[source.key], cell, baseline))

    def _add(self, cell: Cell, row: Row, left: int = 0) -> None:
        if cell.key not in self._known:
            self._known[cell.key] = row
            if is_reported(cell):
                self._on_row(row, self.made, left)


def _describe(baseline: Baseline) -> object:
    """Return what is equal for two runs without faults in which a command does the same."""
    base, calls = baseline.base, [(call.name, call.digest, call.ordinal) for call in baseline.classes]
    return sorted(base.broken), baseline.calls, calls, sorted(test.test for test in base.tests)


def _copy(row: Row, cell: Cell, baseline: Baseline) -> Row:
    scenario = cell.write_scenario(baseline.document)
    return Row(*cell.key, row.outcome, scenario, row.broken, row.key, row.said, cell.call.test)


def write_row(cell: Cell, run: Run, baseline: Baseline, like: Sequence[str]) -> Row:
    """Return the outcome of a cell by a run; ``like``: the cell that was run, if it is another."""
    broken = [f"{rule}: {sentence}" for rule, sentence in run.broken.items() if rule not in baseline.base.broken]
    outcome = _name_outcome(cell, run, baseline.base, has_breach=bool(broken))
    said = "" if outcome == SURVIVED else run.ended.last_output
    return Row(*cell.key, outcome, cell.write_scenario(baseline.document), broken, like, said, cell.call.test)


def _name_outcome(cell: Cell, run: Run, base: Run, *, has_breach: bool) -> str:
    if run.ended.exit is None:
        return "hung"
    if "stops_at_budget" in run.broken and "stops_at_budget" not in base.broken:
        return "over budget"
    if run.ended.exit != base.ended.exit:
        return "failed loudly"
    if not has_breach or cell.fault in UNNOTICEABLE or not is_reported(cell):
        return SURVIVED
    return "failed loudly" if _list_messages(run.ended) - _list_messages(base.ended) else "failed silently"


def _list_messages(ended: CommandResult) -> set[str]:
    """Return the lines on standard error, without figures that differ from run to run."""
    return {_DRAWN.sub("#", line).strip() for line in ended.err.splitlines() if line.strip()}
