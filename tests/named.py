"""Lists that stand names side by side with tests: ``file::function`` or ``file::function[case]``."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


def find_missing(rows: Mapping[str, str]) -> list[str]:
    """Rows whose test does not exist."""
    return [f"{name}: {test}" for name, test in rows.items() if not _exists(test)]


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    function, bracket, case = name.partition("[")
    tests = _tests(file) if (ROOT / file).is_file() else {}
    return function in tests and (not bracket or f'"{case.removesuffix("]")}"' in tests[""])


@cache
def _tests(file: str) -> dict[str, str]:
    """Source of each test function of a file, and of the whole file under no name."""
    text = (ROOT / file).read_text(encoding="utf-8")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, functions)}
    return {name: ast.get_source_segment(text, node) or "" for name, node in found.items()} | {"": text}
