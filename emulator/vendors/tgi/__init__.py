"""Hugging Face text-generation-inference."""

from emulator.vendors.tgi.routes import VENDOR

__all__ = ["VENDOR"]
