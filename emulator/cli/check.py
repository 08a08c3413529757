"""``emulator check``: mistakes and warnings as a compiler prints them."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TextIO

from emulator.cli.names import VENDOR_NAMES
from emulator.core.json import JSON, dump_json
from emulator.scenario.errors import ScenarioError
from emulator.scenario.lint import lint
from emulator.scenario.lint_limits import Catalogue
from emulator.scenario.load import find_files, load_scenario
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.mistakes import Row
from emulator.scenario.schema import Limit, Scenario, When

Severity = Literal["error", "warning"]
Finding = tuple[Severity, Row]


def check(paths: Sequence[Path], *, as_json: bool) -> int:
    """Print every finding in the scenarios; 1 if one of them is an error.

    Files make one scenario; each file of a folder is one of its own.
    """
    findings = list(_find(paths))
    if as_json:
        print(dump_json([_as_json(finding) for finding in findings]).decode())
    else:
        for severity, row in findings:
            print(f"{row} [warning]" if severity == "warning" else row)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _annotate(findings, sys.stderr if as_json else sys.stdout)
    errors = sum(severity == "error" for severity, _ in findings)
    if not as_json:
        print(f"{errors} errors, {len(findings) - errors} warnings", file=sys.stderr)
    return int(errors > 0)


def _find(paths: Sequence[Path]) -> Iterator[Finding]:
    files = [path for path in paths if not path.is_dir()]
    scenarios = [[path] for folder in paths if folder.is_dir() for path in find_files(folder)]
    for sources in [files, *scenarios] if files else scenarios:
        try:
            loaded = load_scenario(sources)
            catalogue = _ask_vendors(loaded) if _concerns_vendors(loaded.scenario) else None
        except ScenarioError as error:
            yield from (("error", row) for row in _complete(error).rows)
        else:
            yield from (("warning", row) for row in lint(loaded, VENDOR_NAMES, catalogue))


def _complete(error: ScenarioError) -> ScenarioError:
    """The mistakes, with those in the vendors' sections."""
    if not any(part.scenario.vendors or part.scenario.deployments for part in error.parts):
        return error
    from emulator.server.serving import complete
    from emulator.vendors import VENDORS

    return complete(error, VENDORS)


def _concerns_vendors(scenario: Scenario) -> bool:
    """Something in it only the vendors can judge; they are slow to import."""
    about: list[When | Limit] = [*(rule.when for rule in scenario.rules), *scenario.limits]
    tokens = any(limit.unit in ("output_tokens", "tokens") for limit in scenario.limits)
    named = any(part.deployment is not None for part in about)
    return bool(scenario.vendors or scenario.deployments) or tokens or named


def _ask_vendors(loaded: LoadedScenario) -> Catalogue:
    """Check the vendors' own sections; what each of them serves.

    Raises:
        ScenarioError: with every mistake.
    """
    from emulator.server.serving import check_vendors, list_deployments, read_settings
    from emulator.vendors import VENDORS

    served = (VENDORS[name] for name in check_vendors(loaded, VENDORS))
    return {
        vendor.name: list_deployments(vendor, read_settings(vendor, loaded.scenario), loaded.scenario)
        for vendor in served
    }


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
