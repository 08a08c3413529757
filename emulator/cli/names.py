"""Names the parser offers; what they stand for is slow to import."""

from emulator.vendors import VENDORS

MODES = ("typical", "minimal", "boundary", "adversarial", "invalid")
VENDOR_NAMES = tuple(VENDORS)
