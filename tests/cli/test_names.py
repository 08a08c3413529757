"""Names that are written down twice."""

from emulator.cli.names import VENDOR_NAMES
from emulator.vendors import VENDORS


def test_the_names_offered_are_the_vendors() -> None:
    assert tuple(vendor.name for vendor in VENDORS) == VENDOR_NAMES
