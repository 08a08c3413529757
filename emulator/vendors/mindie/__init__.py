"""Huawei Ascend MindIE."""

from emulator.vendors.mindie.routes import VENDOR

__all__ = ["VENDOR"]
