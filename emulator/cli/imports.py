"""``emulator import``: convert recordings and fixtures of other tools to exchanges and rules."""

import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.imports.files import read_files, write_found
from emulator.imports.result import ImportProblem


def import_files(files: Sequence[Path], folder: Path, vendor: str) -> int:
    """Import files; return 0, 1 if they hold nothing that can be carried over, or 2 if one cannot be read.

    What cannot be carried over is listed.
    """
    try:
        found = read_files(files, vendor)
        is_empty = not found.exchanges and not found.rules
        cut_credentials = [] if is_empty else write_found(found, folder)
    except ImportProblem as error:
        print(f"emulator: error: {escape(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"emulator: error: --to: {escape(explain_file(error))}", file=sys.stderr)
        return 2
    for line in found.lost:
        print(f"not carried over: {escape(line)}", file=sys.stderr)
    for line in cut_credentials:
        print(f"a credential was cut: {escape(line)}", file=sys.stderr)
    if is_empty:
        lost = ", for the reasons above" if found.lost else ": the files hold no calls"
        print(f"emulator: error: nothing was carried over{lost}; {escape(str(folder))} is unchanged", file=sys.stderr)
        return 1
    where = escape(str(folder))
    rules = f", {_count(len(found.rules), 'rule')} in {where}/imported.yaml" if found.rules else ""
    lost = _count(len(found.lost), "thing")
    print(f"{_count(len(found.exchanges), 'exchange')} in {where}{rules}; {lost} not carried over")
    return 0


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
