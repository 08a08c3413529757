"""JSON as tests look into it: without asking first what is there, as a miss fails the test anyway."""

from typing import Any

from emulator.core import json as _json

JSON = Any


def parse_json(body: bytes | str) -> JSON:
    """As :func:`emulator.core.json.parse_json`."""
    return _json.parse_json(body)
