"""Every row names a test that is there, and what is left out has a reason."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.vendors.openvino.completeness import LEFT_OUT, TESTS

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_ROWS = [
    (table, row.strip(), line.partition("|")[2].strip())
    for table, lines in TESTS.items()
    for line in lines.strip().splitlines()
    for row in line.partition("|")[0].split(";")
]


def locate(test: str) -> tuple[Path, str]:
    file, _, name = test.partition("::")
    if file.endswith(".py"):
        return _ROOT / file, name
    folder, _, module = file.rpartition("/")
    return _HERE / folder / f"test_{module}.py", f"test_{name}"


@cache
def list_tests(file: Path) -> frozenset[str]:
    found = ast.parse(file.read_text()).body
    return frozenset(node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize(("table", "row", "test"), _ROWS, ids=[f"{table}-{row}" for table, row, _ in _ROWS])
def test_a_row_has_its_test(table: str, row: str, test: str) -> None:
    file, name = locate(test)
    assert name in list_tests(file)


def test_a_row_stands_once() -> None:
    rows = [(table, row) for table, row, _ in _ROWS]
    assert len(set(rows)) == len(rows) > 200


def test_what_is_left_out_has_a_reason() -> None:
    assert all(LEFT_OUT.values())
