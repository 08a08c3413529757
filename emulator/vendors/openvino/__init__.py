"""OpenVINO Model Server, as the releases from 2024.2 to 2026.3 answer on their REST port."""

from emulator.vendors.openvino.routes import VENDOR

__all__ = ["VENDOR"]
