"""Which test covers which row of a specification, read from the ``covers`` markers of all tests.

A test names a table, as ``group/table``, and rows of it: ``@pytest.mark.covers("azure/errors", "401", "403")``;
``case=`` names one case of a parametrized test. The groups are the vendors, ``language`` (every name of the scenario
language) and ``promises`` (what people who write tests are promised).
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent


class Cover(NamedTuple):
    """One row with the test that covers it; ``case``: the id of one of its cases."""

    table: str
    row: str
    test: str
    case: str | None


@cache
def read_covers() -> tuple[Cover, ...]:
    """Return every marker of every test file, without importing any."""
    return tuple(cover for path in sorted(ROOT.rglob("test_*.py")) for cover in _read_file(path))


def read_tables(group: str) -> Mapping[str, set[str]]:
    """Return the covered rows of a group, by table."""
    tables: dict[str, set[str]] = defaultdict(set)
    for cover in read_covers():
        found, _, table = cover.table.partition("/")
        if found == group:
            tables[table].add(cover.row)
    return tables


def _read_file(path: Path) -> Iterator[Cover]:
    text = path.read_text(encoding="utf-8")
    if "mark.covers(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.covers":
                    case = next((ast.literal_eval(word.value) for word in mark.keywords), None)
                    name = f"{path.relative_to(ROOT.parent).as_posix()}::{node.name}"
                    table, *rows = map(ast.literal_eval, mark.args)
                    yield from (Cover(table, row, name, case) for row in rows)
