"""State of a stored endpoint at a time."""

import pytest

from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint, Update


@pytest.mark.parametrize(("until", "is_up"), [(10.0, True), (70.0, False)])
def test_settle_applies_update_when_clock_is_behind(until: float, is_up: bool) -> None:
    pending = Update(config={}, since=10.0, until=until)
    assert StoredEndpoint(name="mine", created=10.0, updated=10.0, pending=pending).settle(9.9).up is is_up
