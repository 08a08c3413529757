"""Every vendor the emulator can stand in for, in the order of their ports."""

from emulator.core.vendor import Vendor
from emulator.vendors.databricks import VENDOR as DATABRICKS
from emulator.vendors.mindie import VENDOR as MINDIE
from emulator.vendors.openvino import VENDOR as OPENVINO

VENDORS: tuple[Vendor, ...] = (DATABRICKS, MINDIE, OPENVINO)
