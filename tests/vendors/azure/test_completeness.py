"""Every row names a test that is there, and what is left out has a reason."""

import pytest

from tests.completeness import count_rows, read_rows
from tests.named import find_missing
from tests.vendors.azure.completeness import COUNTS, LEFT_OUT, TESTS


@pytest.mark.parametrize("table", TESTS)
def test_every_row_has_its_test(table: str) -> None:
    rows = read_rows({table: TESTS[table]}, "azure")
    missing = find_missing({row: test for (_, row), test in rows.items()})
    assert not missing, "\n".join(missing)


def test_no_row_is_lost() -> None:
    counted = count_rows(TESTS)
    assert {table: counted[table] for table in COUNTS} == COUNTS
    assert sum(counted.values()) > 300


def test_what_is_left_out_has_a_reason() -> None:
    assert all(LEFT_OUT.values())
