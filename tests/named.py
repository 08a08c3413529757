"""Lists that stand names side by side with tests: ``file::function`` or ``file::function[case]``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent.parent


def find_missing(rows: Mapping[str, str]) -> list[str]:
    """Rows whose test does not exist."""
    return [f"{name}: {test}" for name, test in rows.items() if not _exists(test)]


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    function, bracket, case = name.partition("[")
    text = _read(file)
    return f"def {function}(" in text and (not bracket or f'"{case.removesuffix("]")}"' in text)


@cache
def _read(file: str) -> str:
    path = _ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""
