"""Run a command with each cell in a session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from emulator.client import EmulatorClient
from emulator.core.json import JSON
from emulator.sweep.cells import UNNOTICEABLE, CallClass, Cell, list_cells, list_classes
from emulator.sweep.probe import find_signature

_MIN_HANG = 5.0  # real seconds
_PATIENCE = 10  # times the fault-free run
_UNMERGED = frozenset({"split", "hang"})  # the bytes are those without the fault
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Options:
    """What to run, and how; ``hang_after`` in seconds, ``None``: by the fault-free run."""

    command: Sequence[str]
    vendor: str
    jobs: int = 1
    clock: str = "instant"
    hang_after: float | None = None
    max_runs: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command; ``exit``: ``None`` if it was ended because it hung."""

    exit: int | None
    seconds: float
    broken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """Outcome of a cell; ``like``: the cell whose run it shares, as both give the client the same bytes."""

    call: str
    fault: str
    position: str
    outcome: str
    scenario: str
    broken: Sequence[str] = ()
    like: Sequence[str] = ()


OnRow = Callable[[Row, int], None]
"""Takes a row and the number of runs that are left."""


class SweepError(Exception):
    """The command cannot be swept."""


def sweep(server: EmulatorClient, options: Options, done: Mapping[Key, Row], on_row: OnRow) -> None:
    """Run the command without faults and then for each group of cells; report each row, and how many runs are left.

    Raises:
        SweepError: the command hangs without a fault, or makes no call.
    """
    base, classes = _learn(server, options)
    groups = _merge(server, options, classes)
    waiting = [group for group in groups if not all(cell.key in done for cell in group)]
    for group in groups:
        if group not in waiting:
            for cell in group:
                on_row(done[cell.key], len(waiting))
    left = len(waiting)
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        limit = options.hang_after or max(_MIN_HANG, _PATIENCE * base.seconds)
        some = waiting[: options.max_runs]
        runs = {pool.submit(_run_cell, server, options, group[0], limit): group for group in some}
        try:
            for ended in as_completed(runs):
                left -= 1
                for row in _judge(runs[ended], ended.result(), base):
                    on_row(row, left)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _learn(server: EmulatorClient, options: Options) -> tuple[Run, list[CallClass]]:
    """Run the command without faults; return what it did and the classes of its calls."""
    with server.session(f"sweep.{os.urandom(6).hex()}") as client:
        client.load({"clock": options.clock})
        base = _run(client, options, options.hang_after or 600.0)
        classes = list_classes(client.requests())
    if base.exit is None:
        raise SweepError("without a fault the command did not end")
    if not classes:
        raise SweepError(f"the command made no call to {options.vendor} that was answered")
    if base.exit:
        raise SweepError(f"without a fault the command exits with {base.exit}")
    return base, classes


def _merge(server: EmulatorClient, options: Options, classes: Sequence[CallClass]) -> list[list[Cell]]:
    """Return the cells in groups that give the client the same bytes; those that change no byte are left out."""
    groups: dict[object, list[Cell]] = {}
    for call in classes:
        plain = _probe(server, call, [])
        for cell in list_cells(call):
            found = _probe(server, call, [cell.rule])
            if cell.fault in _UNMERGED:
                groups[cell.key] = [cell]
            elif found != plain:
                groups.setdefault((call.name, found), []).append(cell)
    return [*groups.values()]


def _probe(server: EmulatorClient, call: CallClass, rules: list[JSON]) -> bytes:
    with server.session(f"sweep.{os.urandom(6).hex()}") as client:
        client.load({"clock": "instant", "rules": rules})
        return find_signature(client, call.vendor, call.sample)


def _run_cell(server: EmulatorClient, options: Options, cell: Cell, limit: float) -> Run:
    with server.session(f"sweep.{os.urandom(6).hex()}") as client:
        client.load({"clock": options.clock, "rules": [cell.rule]})
        return _run(client, options, limit)


def _run(client: EmulatorClient, options: Options, limit: float) -> Run:
    began = time.monotonic()
    process = subprocess.Popen(
        options.command,
        env={**os.environ, **client.env(options.vendor)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=os.name == "posix",
    )
    try:
        code: int | None = process.wait(limit)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        if process.poll() is None:
            _end(process)
    return Run(code, time.monotonic() - began, {row.rule: row.sentence for row in client.verdict().broken})


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command with the processes that it started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _judge(group: Sequence[Cell], run: Run, base: Run) -> Iterator[Row]:
    sentences = [text for rule, text in run.broken.items() if rule not in base.broken]
    first = group[0]
    for cell in group:
        like = () if cell is first else first.key
        outcome = _name_outcome(cell, run, base)
        yield Row(*cell.key, outcome, cell.scenario, sentences, like)


def _name_outcome(cell: Cell, run: Run, base: Run) -> str:
    if run.exit is None:
        return "hung"
    if "stops_at_budget" in run.broken:
        return "over budget"
    if run.exit != base.exit:
        return "failed loudly"
    is_silent = any(rule not in base.broken for rule in run.broken) and cell.fault not in UNNOTICEABLE
    return "failed silently" if is_silent else "survived"
