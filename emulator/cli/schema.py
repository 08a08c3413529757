"""``emulator schema``: what editors complete and check scenario files by."""

import json
from functools import cache

from emulator.core.json import Object, as_object
from emulator.scenario.schema import schema_json
from emulator.vendors import VENDORS


@cache
def render_schema() -> str:
    """JSON Schema 2020-12 of scenario files, every vendor's switches among them, as text for people."""
    schema = schema_json()
    vendors = as_object(as_object(schema["properties"])["vendors"])
    vendors["properties"] = {name: _section(vendor.settings.model_json_schema()) for name, vendor in VENDORS.items()}
    vendors["additionalProperties"] = False
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _section(settings: Object) -> Object:
    """A vendor's section: its settings, or ``false`` where it is not served."""
    if "$defs" in settings:
        raise ValueError("settings of a vendor are flat, so that their schema stands by itself")
    return {"oneOf": [{"const": False}, settings], "description": settings.get("description", "")}
