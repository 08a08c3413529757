"""Every row names a test that is there, and what is left out has a reason."""

import pytest

from tests.completeness import count_rows, read_rows
from tests.named import find_missing
from tests.vendors.azure import completeness as azure
from tests.vendors.databricks import completeness as databricks
from tests.vendors.mindie import completeness as mindie
from tests.vendors.openvino import completeness as openvino

_LISTS = {"azure": azure, "databricks": databricks, "mindie": mindie, "openvino": openvino}
_LEAST = {"azure": 300, "databricks": 300, "mindie": 200, "openvino": 300}  # rows
_TABLES = [(vendor, table) for vendor, lists in _LISTS.items() for table in lists.TESTS]


@pytest.mark.parametrize(("vendor", "table"), _TABLES)
def test_every_row_has_its_test(vendor: str, table: str) -> None:
    rows = read_rows({table: _LISTS[vendor].TESTS[table]}, vendor)
    missing = find_missing({row: test for (_, row), test in rows.items()})
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("vendor", _LISTS)
def test_no_row_is_lost(vendor: str) -> None:
    lists = _LISTS[vendor]
    counted = count_rows(lists.TESTS)
    assert {table: counted[table] for table in lists.COUNTS} == lists.COUNTS
    assert sum(counted.values()) > _LEAST[vendor]


@pytest.mark.parametrize("vendor", _LISTS)
def test_what_is_left_out_has_a_reason(vendor: str) -> None:
    assert all(_LISTS[vendor].LEFT_OUT.values())
