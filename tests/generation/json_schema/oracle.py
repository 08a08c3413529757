"""An independent judge of instances."""

import jsonschema_rs

from tests.untyped_json import JSON


def accepts(schema: JSON, instance: JSON) -> bool:
    """Whether jsonschema-rs takes ``instance``, under the draft the schema names, formats asserted."""
    assert isinstance(schema, dict | bool)
    return jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(instance)
