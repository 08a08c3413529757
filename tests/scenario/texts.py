"""Helpers that write scenarios as text and files."""

from pathlib import Path

import pytest

from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError

HEAD = "version: 1\n"


def rows_of(text: str | bytes) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "a.yaml")
    return [str(row) for row in caught.value.rows]


def write(folder: Path, **files: str) -> list[Path]:
    paths = [folder / name.replace("__", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths
