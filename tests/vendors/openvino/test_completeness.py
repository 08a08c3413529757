"""Every row names a test that is there, and what is left out has a reason."""

import pytest

from tests.completeness import count_rows, read_rows
from tests.named import find_missing
from tests.vendors.openvino.completeness import COUNTS, LEFT_OUT, TESTS
from tests.vendors.openvino.test_cases import CHATS


@pytest.mark.parametrize("table", TESTS)
def test_every_row_has_its_test(table: str) -> None:
    rows = read_rows({table: TESTS[table]}, "openvino")
    missing = find_missing({row: test for (_, row), test in rows.items()})
    assert not missing, "\n".join(missing)


def test_no_row_is_lost() -> None:
    counted = count_rows(TESTS)
    assert {table: counted[table] for table in COUNTS} == COUNTS
    assert sum(counted.values()) > 300


def test_every_case_of_a_chat_is_listed() -> None:
    listed = {
        row for (_, row), test in read_rows({"cases": TESTS["cases"]}, "openvino").items() if "::test_chat" in test
    }
    assert listed == {name.partition(" ")[0] for name in CHATS}


def test_what_is_left_out_has_a_reason() -> None:
    assert all(LEFT_OUT.values())
