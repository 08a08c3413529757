"""Validate and list the files and folders given to a command, and read the port file of a running emulator."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from emulator.core.os_errors import explain_file
from emulator.scenario.load import find_files
from emulator.scenario.parsed import ScenarioError
from emulator.settings import SettingsError


def require_readable(paths: Sequence[Path]) -> None:
    """Validate that every path can be read.

    Raises:
        SettingsError: a path cannot be read.
    """
    for path in paths:
        try:
            os.stat(path)
        except OSError as error:
            raise SettingsError(f"cannot read {path}: {explain_file(error, path)}") from None
        if not os.access(path, os.R_OK):
            raise SettingsError(f"cannot read {path}: permission denied")


def list_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files, and those of folders, in the given order.

    Raises:
        SettingsError: a path cannot be read, or a folder holds no scenario.
    """
    require_readable(paths)
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        try:
            files = find_files(path)
        except ScenarioError as error:
            raise SettingsError(f"cannot read {error}") from None
        if not files:
            raise SettingsError(f"{path} is a folder without scenarios")
        yield from files


def read_port_file(path: Path) -> dict[str, str]:
    """Return the base URLs by name, as ``--port-file`` has them.

    Raises:
        ValueError: the file is missing or was not written by an emulator.
    """
    try:
        urls = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(url) for name, url in urls.items() if urls["front"]}
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise ValueError(f"no emulator has written {path}{where}") from None
