"""``emulator check``: print the mistakes, warnings and notes on scenario files, each as ``file:line:column: …``.

In GitHub Actions they also become annotations.
"""

import sys
from collections.abc import Sequence
from functools import cached_property, partial
from os.path import isfile
from pathlib import Path
from typing import TextIO

from emulator.cli.files import list_files, require_readable
from emulator.cli.workflow import break_commands, break_json, in_workflow, without_commands
from emulator.core.json import JSON, dump_json
from emulator.core.text import escape
from emulator.runtime.validation import Finding, has_keys, validate_scenario
from emulator.scenario.code_frame import format_rows
from emulator.scenario.errors import Diagnostic
from emulator.scenario.load import load_scenario
from emulator.settings import SettingsError
from emulator.vendors import VENDORS

_SEVERITIES = ("error", "warning", "note")
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}  # GitHub's


def check(paths: Sequence[Path], *, strict: bool, join: bool, as_json: bool) -> int:
    """Print every mistake, warning and note; return 1 on a mistake, or with ``strict`` on a warning.

    Args:
        join: the files make one scenario; else each file is its own.
    """
    keys_of_files = _KeysOfFiles(paths)
    findings = [
        finding
        for sources in _list_scenarios(paths, join=join)
        for finding in validate_scenario(
            partial(load_scenario, sources),
            VENDORS,
            [str(source) for source in sources],
            may_have_keys=partial(keys_of_files, sources),
        )
    ]
    if as_json:
        print(break_json(dump_json([_as_json(finding) for finding in findings]).decode()))
    else:
        with without_commands():
            for _, row in findings:
                print(format_rows([row]))
    if in_workflow():
        _annotate(findings, sys.stderr if as_json else sys.stdout)
    errors, warnings, notes = (sum(each == severity for each, _ in findings) for severity in _SEVERITIES)
    if not as_json:
        counts = f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"
        print(f"{counts}, {_count(notes, 'note')}" if notes else counts, file=sys.stderr)
    return int(errors > 0 or (strict and warnings > 0))


class _KeysOfFiles:
    """Whether one of several files that are given by name has keys: they may be parts of one scenario."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [path for path in paths if isfile(path)]  # false for a path that cannot be read

    def __call__(self, sources: Sequence[Path]) -> bool:
        """Return whether a file beside ``sources`` has keys; a file of a folder is a scenario of its own."""
        return sources[0] in self._files and self._is_found

    @cached_property
    def _is_found(self) -> bool:
        return any(has_keys(partial(load_scenario, [path])) for path in self._files)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _list_scenarios(paths: Sequence[Path], *, join: bool) -> list[list[Path]]:
    """Return the files of each scenario."""
    if not join:
        return [[path] for path in dict.fromkeys(list_files(paths))]
    require_readable(paths)
    folder = next((path for path in paths if path.is_dir()), None)
    if folder is not None:
        raise SettingsError(f"--join takes files; in the folder {folder} each file is a scenario of its own")
    return [list(paths)]


def _as_json(finding: Finding) -> JSON:
    severity, row = finding
    return {"severity": severity, **row.as_json()}


def _annotate(findings: Sequence[Finding], stream: TextIO) -> None:
    """Print workflow commands, which GitHub shows as annotations of a pull request.

    Source: GitHub documentation, "Workflow commands for GitHub Actions"; the escapes are those of actions/toolkit.
    """
    for severity, row in findings:
        message = ": ".join(filter(None, [row.path, row.message])) + _format_hint(row)
        location = f"file={_escape(row.file, property_=True)},line={max(row.line, 1)},col={max(row.column, 1)}"
        print(break_commands(f"::{_COMMANDS[severity]} {location}::{_escape(f'{message} [{row.code}]')}"), file=stream)


def _format_hint(row: Diagnostic) -> str:
    return f"; did you mean {row.suggestion}?" if row.suggestion else ""


def _escape(text: str, *, property_: bool = False) -> str:
    escaped = escape(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return escaped.replace(":", "%3A").replace(",", "%2C") if property_ else escaped
