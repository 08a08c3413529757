"""Format diagnostics of a scenario with the lines of the file that they are about, for terminals.

``emulator check`` and all commands that load a scenario print mistakes so.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from emulator.core.redaction.names import is_secret_name
from emulator.core.text import escape
from emulator.scenario.errors import Diagnostic
from emulator.scenario.source import read_file

_WIDTH = 110  # characters of a line that are shown
_KEY = re.compile(r"[\w.-]+(?=[\"']?\s*:)")
_MARKED = re.compile(r"\"[^\"]*\"|'[^']*'|[\w.*/-]+|\S")
_HIDDEN = "…"


def format_rows(rows: Iterable[Diagnostic]) -> str:
    """Format rows as text, each with its code and its code frame."""
    return "\n".join(line for row in rows for line in format_row(row))


def format_row(row: Diagnostic) -> Iterator[str]:
    """Yield the line of a diagnostic, then its code frame if the file can be read."""
    name = row.code if row.severity == "error" else f"{row.severity} {row.code}"
    yield f"{row} [{name}]"
    yield from _draw_frame(row, _read_lines(row.file)) if row.line else ()


@lru_cache(maxsize=1)
def _read_lines(file: str) -> Sequence[str]:
    try:
        return read_file(Path(file)).decode("utf-8", "replace").split("\n")
    except (OSError, ValueError):
        return ()


def _draw_frame(row: Diagnostic, lines: Sequence[str]) -> Iterator[str]:
    """Yield the line before the reported one, that line, and carets; lines that may hold a credential are hidden."""
    if not 0 < row.line <= len(lines) or row.path.startswith("keys"):
        return
    width = len(str(row.line))
    for number in range(max(1, row.line - 1), row.line + 1):
        yield f"  {number:>{width}} │ {_show(lines[number - 1])}".rstrip()
    line = lines[row.line - 1]
    start = max(row.column - 1, 0)
    if _show(line) == _HIDDEN or start >= _WIDTH:
        return
    marked = _MARKED.match(line, start)
    length = min(len(marked[0]) if marked else 1, _WIDTH - start)
    yield f"  {'':>{width}} │ {' ' * start}{'^' * length}"


def _show(line: str) -> str:
    if any(is_secret_name("variable", key.rsplit(".", 1)[-1]) for key in _KEY.findall(line)):
        return _HIDDEN
    line = escape(line.rstrip("\r").replace("\t", " "))
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + _HIDDEN
