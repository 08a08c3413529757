"""Parsers whose modules are imported once the server listens, or with their first request."""

import subprocess
import sys
from functools import partial
from importlib import import_module

from emulator.vendors.azure.routes import VENDOR


def test_every_parser_exists() -> None:
    named = [endpoint.parse.args for endpoint in VENDOR.endpoints if isinstance(endpoint.parse, partial)]
    assert len(named) > 50
    assert all(callable(getattr(import_module(module), name)) for module, name in named)


def test_vendor_is_imported_without_its_larger_routes() -> None:
    parts = ("audio", "images", "responses", "vector_stores")
    code = f"""
import sys, emulator.vendors.azure.routes
print(*(part for part in {parts!r} if "emulator.vendors.azure." + part in sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == ""
