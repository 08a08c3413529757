"""``emulator schema``: what editors complete and check scenario files by."""

import json

from emulator.scenario.schema import schema_json


def render_schema() -> str:
    """JSON Schema 2020-12 of scenario files, as text for people."""
    return json.dumps(schema_json(), indent=2, ensure_ascii=False) + "\n"
