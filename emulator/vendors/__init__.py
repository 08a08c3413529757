"""Every vendor the emulator can stand in for, in the order of their ports."""

from emulator.core.vendor import Vendor

VENDORS: tuple[Vendor, ...] = ()
