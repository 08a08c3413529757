"""``emulator timeline``: draw the outages of a scenario, and what clients did during them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from emulator.cli.report import explain_failure, open_client
from emulator.cli.timeline_picture import ShownCall, draw_timeline
from emulator.client import EmulatorError
from emulator.control.models import RequestEntry
from emulator.core.clock import EPOCH
from emulator.core.json import as_array, as_object, parse_json
from emulator.core.os_errors import explain_file
from emulator.scenario.code_frame import format_rows
from emulator.scenario.load import load_scenario
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.source import explain, read_file
from emulator.settings import Settings, SettingsError


def draw(
    files: Sequence[Path],
    out: Path | None,
    settings: Settings,
    *,
    journal: Path | None,
    url: str | None,
    session: str,
    until: float | None,
) -> int:
    """Write the picture to a file or to standard output; return 1 for mistakes, or if there is nothing to draw.

    Args:
        journal: file with a response of ``GET /_emulator/requests``.
        url: emulator to request the same from.
        session: calls of this session alone, where there is a journal or an emulator.

    Raises:
        SettingsError: a file cannot be read or written.
    """
    try:
        scenario = load_scenario(files).scenario
    except ScenarioError as error:
        print(format_rows(error.rows), file=sys.stderr)
        return 1
    try:
        started, calls = _read_calls(scenario, journal, url, session, settings)
    except (EmulatorError, OSError, ValueError) as error:
        print(f"no calls: {explain_failure(error)}", file=sys.stderr)
        return 1
    if not scenario.outages and not calls:
        print(f"nothing to draw: {', '.join(map(str, files))} has no outages", file=sys.stderr)
        return 1
    _write(draw_timeline(scenario.outages, calls, started, until), out)
    return 0


def _read_calls(
    scenario: Scenario, journal: Path | None, url: str | None, session: str, settings: Settings
) -> tuple[float, list[ShownCall]]:
    """Return the start of the scenario in Unix seconds, and the calls to draw."""
    begins = _find_start(scenario)
    if journal is not None:
        return _read_journal(journal, begins, session)
    return _fetch(url, session, settings) if url is not None else (EPOCH if begins is None else begins, [])


def _write(picture: str, out: Path | None) -> None:
    if out is None:
        print(picture, end="")
        return
    try:
        out.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--out: cannot write {out}: {explain_file(error)}") from None
    print(out)


def _read_journal(file: Path, begins: float | None, session: str) -> tuple[float, list[ShownCall]]:
    """Return the start of the scenario and the calls of a journal that was saved; the first call may be the start.

    Raises:
        SettingsError: the file cannot be read, or is no journal.
    """
    try:
        rows = as_array(as_object(parse_json(read_file(file)))["requests"])
        known = set(RequestEntry.model_fields)
        entries = [RequestEntry.model_validate({k: v for k, v in as_object(row).items() if k in known}) for row in rows]
    except OSError as error:
        raise SettingsError(f"--journal: cannot read {file}: {explain(error)}") from None
    except (ValueError, TypeError, LookupError, ValidationError):
        raise SettingsError(f"--journal: {file} is not what GET /_emulator/requests gives") from None
    started = min((entry.time for entry in entries), default=EPOCH) if begins is None else begins
    return started, [_show(entry, started) for entry in entries if session in ("", entry.session)]


def _find_start(scenario: Scenario) -> float | None:
    """Return the start of the scenario's clock in Unix seconds; ``None``: the real time at which the run began."""
    clock = scenario.clock
    if isinstance(clock, str):
        return None if clock == "real" else EPOCH
    return clock.start if clock.start is not None or getattr(clock, "kind", "real") == "real" else EPOCH


def _fetch(url: str, session: str, settings: Settings) -> tuple[float, list[ShownCall]]:
    with open_client(url, settings, session) as client:
        clock = client.clock()
        started = clock.now - clock.since_start
        return started, [_show(entry, started) for entry in client.requests()]


def _show(entry: RequestEntry, started: float) -> ShownCall:
    """Convert a journal record to a call of the picture."""
    begin = entry.time - started
    what = entry.error or (f"faults: {', '.join(entry.faults)}" if entry.faults else "")
    rule = f", rule {entry.rule}" if entry.rule else ""
    text = f"#{entry.seq} {entry.status}{f' {what}' if what else ''}{rule}, {entry.duration:.3f} s"
    lane = "/".join(filter(None, [entry.vendor, entry.deployment])) or entry.path
    return ShownCall(begin, begin + entry.duration, lane, _classify(entry), text)


def _classify(entry: RequestEntry) -> str:
    if entry.client_left:
        return "left"
    if not 200 <= entry.status < 400:
        return "failed"
    return "answered" if entry.whole else "cut"
