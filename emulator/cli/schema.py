"""``emulator schema``: print the JSON Schema by which editors check scenario files."""

import json
from functools import cache

from emulator.core.json import Object, as_array, as_object
from emulator.generation.tokenizer_profiles import PROFILES
from emulator.generation.vocabulary_files import PACKAGED_FILES
from emulator.scenario.json_schema import build_json_schema, choose, properties_of, set_names
from emulator.vendors import VENDORS


@cache
def render_schema() -> str:
    """Return the JSON Schema 2020-12 of scenario files, with all vendor and tokenizer names."""
    schema = build_json_schema()
    vendors = as_object(properties_of(schema)["vendors"])
    vendors["properties"] = {name: _section(vendor.settings.model_json_schema()) for name, vendor in VENDORS.items()}
    vendors["additionalProperties"] = False
    names = list(VENDORS)
    definitions = as_object(schema["$defs"])
    for name in ("When", "Limit"):
        set_names(as_object(definitions[name]), "vendor", choose(names))
    deployment = properties_of(as_object(definitions["DeploymentEntry"]))
    as_object(deployment["vendor"])["enum"] = [*names]
    by_name = as_object(as_array(as_object(deployment["tokenizer"])["oneOf"])[0])
    by_name["enum"] = [*PROFILES, *PACKAGED_FILES]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _section(settings: Object) -> Object:
    """Return the schema of a vendor's section: its settings, or ``false`` to leave the vendor out."""
    if "$defs" in settings:
        raise ValueError("a vendor's settings must be flat: their schema must not need $defs")
    return {"oneOf": [{"const": False}, settings], "description": settings.get("description", "")}
