"""Every vendor the emulator can stand in for, in the order of their ports."""

from emulator.core.vendor import AnyVendor
from emulator.vendors.azure import VENDOR as AZURE
from emulator.vendors.databricks import VENDOR as DATABRICKS
from emulator.vendors.mindie import VENDOR as MINDIE
from emulator.vendors.openvino import VENDOR as OPENVINO
from emulator.vendors.tgi import VENDOR as TGI

VENDORS: tuple[AnyVendor, ...] = (DATABRICKS, AZURE, MINDIE, TGI, OPENVINO)
