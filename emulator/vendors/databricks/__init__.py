"""Databricks Foundation Model APIs and Model Serving."""

from emulator.vendors.databricks.routes import VENDOR

__all__ = ["VENDOR"]
