"""Every promise to people who write tests stands beside a test that fails were it broken; see ``tests/hands.py``."""

import ast
from pathlib import Path

import pytest

from tests import hands
from tests.named import find_missing

TABLES = {name: rows for name, rows in vars(hands).items() if name.isupper() and not name.startswith("_")}


@pytest.mark.parametrize("table", TABLES)
def test_every_promise_has_a_test_that_exists(table: str) -> None:
    missing = find_missing(TABLES[table])
    assert not missing, "\n".join(missing)


def test_no_promise_stands_twice() -> None:
    """A dictionary would hide the first of two rows."""
    (tree,) = [ast.parse(Path(hands.__file__).read_text(encoding="utf-8"))]
    for table in (node.value for node in tree.body if isinstance(node, ast.AnnAssign)):
        assert isinstance(table, ast.Dict)
        promises = [ast.literal_eval(key) for key in table.keys if key is not None]
        assert len(promises) == len(set(promises))


def test_no_table_is_left_out() -> None:
    assert {"SESSIONS", "JOURNAL", "VERIFICATION", "CLIENTS", "PLUGIN", "FIRST_STEPS"} == TABLES.keys()
    assert sum(map(len, TABLES.values())) > 190
