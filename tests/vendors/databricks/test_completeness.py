"""The core of the catalogue is in the list of rows, whole."""

from tests.completeness import read_rows
from tests.vendors.databricks.completeness import TESTS
from tests.vendors.databricks.test_models import CORE


def test_every_endpoint_of_the_core_is_listed() -> None:
    listed = {row for _, row in read_rows({"catalogue": TESTS["catalogue"]}, "databricks")}
    assert set(CORE) <= listed
