"""``emulator check``: mistakes and warnings as a compiler prints them."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TextIO

from emulator.cli.files import list_files, require_readable
from emulator.cli.names import VENDOR_NAMES
from emulator.core.json import JSON, dump_json
from emulator.scenario.errors import ScenarioError
from emulator.scenario.lint import lint
from emulator.scenario.lint_endpoints import find_unknown_endpoints
from emulator.scenario.lint_limits import Catalogue
from emulator.scenario.load import load_scenario
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.mistakes import Row, place_row
from emulator.scenario.schema import Limit, Scenario, When
from emulator.settings import SettingsError

Severity = Literal["error", "warning"]
Finding = tuple[Severity, Row]


def check(paths: Sequence[Path], *, strict: bool, join: bool, as_json: bool) -> int:
    """Print every finding; 1 if one is an error, or with ``strict`` a warning. Each file is a scenario of its own.

    Args:
        join: the files make one scenario.
    """
    findings = [finding for sources in _list_scenarios(paths, join=join) for finding in _find(sources)]
    if as_json:
        print(dump_json([_as_json(finding) for finding in findings]).decode())
    else:
        for severity, row in findings:
            print(f"{row} [warning]" if severity == "warning" else row)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _annotate(findings, sys.stderr if as_json else sys.stdout)
    errors = sum(severity == "error" for severity, _ in findings)
    warnings = len(findings) - errors
    if not as_json:
        print(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}", file=sys.stderr)
    return int(errors > 0 or (strict and warnings > 0))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _list_scenarios(paths: Sequence[Path], *, join: bool) -> list[list[Path]]:
    """The files of each scenario."""
    if not join:
        return [[path] for path in dict.fromkeys(list_files(paths))]
    require_readable(paths)
    folder = next((path for path in paths if path.is_dir()), None)
    if folder is not None:
        raise SettingsError(f"--join takes files; the folder {folder} is a library, in which each stands by itself")
    return [list(paths)]


def _find(sources: Sequence[Path]) -> list[Finding]:
    """Mistakes in a scenario, and warnings about everything in it that has none."""
    errors: list[Row] = []
    try:
        parts = [load_scenario(sources)]
    except ScenarioError as error:
        errors, parts = list(error.rows), list(error.parts)
    warnings: list[Row] = []
    for part in parts:
        catalogue, more = _ask_vendors(part)
        errors += more
        is_whole = not any(_item(row)[1] == "deployments" for row in errors)
        warnings += lint(part, VENDOR_NAMES, catalogue if is_whole else None)
        warnings += _find_unknown_endpoints(part)
    wrong = {_item(row) for row in errors}
    findings: list[Finding] = [("error", row) for row in errors]
    findings += (("warning", row) for row in warnings if _item(row) not in wrong)
    order = [str(source) for source in sources]
    return sorted(findings, key=lambda found: place_row(found[1], order))


def _item(row: Row) -> tuple[str, str]:
    """What of a file a row is about: a section, or an item of one."""
    return row.file, "".join(re.findall(r"^(?:rules|limits)\[\d+\]|^\w+", row.path)[:1])


def _concerns_vendors(scenario: Scenario) -> bool:
    """Something in it only the vendors can judge; they are slow to import."""
    about: list[When | Limit] = [*(rule.when for rule in scenario.rules), *scenario.limits]
    tokens = any(limit.unit in ("output_tokens", "tokens") for limit in scenario.limits)
    named = any(part.deployment is not None for part in about)
    return bool(scenario.vendors or scenario.deployments) or tokens or named


def _ask_vendors(loaded: LoadedScenario) -> tuple[Catalogue | None, Sequence[Row]]:
    """What each of them serves, ``None`` where it does not matter; and mistakes in their own sections."""
    if not _concerns_vendors(loaded.scenario):
        return None, ()
    from emulator.server.serving import check_vendors, list_deployments, read_settings
    from emulator.vendors import VENDORS

    try:
        served = [VENDORS[name] for name in check_vendors(loaded, VENDORS)]
    except ScenarioError as error:
        return None, error.rows
    catalogue = {
        vendor.name: list_deployments(vendor, read_settings(vendor, loaded.scenario), loaded.scenario)
        for vendor in served
    }
    return catalogue, ()


def _find_unknown_endpoints(loaded: LoadedScenario) -> Iterator[Row]:
    if all(rule.when.endpoint is None for rule in loaded.scenario.rules):
        return
    from emulator.vendors import VENDORS

    routes = {name: [endpoint.path for endpoint in vendor.endpoints] for name, vendor in VENDORS.items()}
    yield from find_unknown_endpoints(loaded, routes)


def _as_json(finding: Finding) -> JSON:
    severity, row = finding
    return {"severity": severity, **row.as_json()}


def _annotate(findings: Sequence[Finding], stream: TextIO) -> None:
    """Workflow commands that show on a pull request.

    Source: GitHub documentation, "Workflow commands for GitHub Actions"; the escapes are those of actions/toolkit.
    """
    for severity, row in findings:
        message = ": ".join(filter(None, [row.path, row.message])) + _hint(row)
        location = f"file={_escape(row.file, property_=True)},line={max(row.line, 1)},col={max(row.column, 1)}"
        print(f"::{severity} {location}::{_escape(message)}", file=stream)


def _hint(row: Row) -> str:
    return f"; did you mean {row.suggestion}?" if row.suggestion else ""


def _escape(text: str, *, property_: bool = False) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C") if property_ else escaped
