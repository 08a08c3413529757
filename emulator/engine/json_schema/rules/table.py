"""Every keyword that can be broken, with its rule.

Source: JSON Schema drafts 4, 6, 7, 2019-09 and 2020-12, core and validation.
"""

from collections.abc import Mapping

from emulator.engine.json_schema.rules import arrays, branches, objects, scalars
from emulator.engine.json_schema.rules.judge import Rule

RULES: Mapping[str, Rule] = {
    "type": scalars.is_of_type,
    "enum": scalars.is_listed,
    "const": scalars.is_same,
    "minimum": scalars.is_not_below,
    "maximum": scalars.is_not_above,
    "exclusiveMinimum": scalars.is_above,
    "exclusiveMaximum": scalars.is_below,
    "multipleOf": scalars.is_multiple,
    "minLength": scalars.is_long_enough,
    "maxLength": scalars.is_short_enough,
    "pattern": scalars.has_pattern,
    "format": scalars.is_of_format,
    "minItems": arrays.has_enough_items,
    "maxItems": arrays.has_few_items,
    "uniqueItems": arrays.has_unique_items,
    "items": arrays.has_items,
    "prefixItems": arrays.has_items,
    "contains": arrays.does_contain,
    "unevaluatedItems": arrays.has_evaluated_items,
    "minProperties": objects.has_enough_members,
    "maxProperties": objects.has_few_members,
    "required": objects.has_required,
    "properties": objects.has_properties,
    "patternProperties": objects.has_pattern_properties,
    "additionalProperties": objects.has_additional_properties,
    "propertyNames": objects.has_proper_names,
    "dependentRequired": objects.has_dependencies,
    "dependentSchemas": objects.has_dependencies,
    "dependencies": objects.has_dependencies,
    "unevaluatedProperties": objects.has_evaluated_members,
    "$ref": branches.meets_reference,
    "$dynamicRef": branches.meets_dynamic_reference,
    "$recursiveRef": branches.meets_recursive_reference,
    "allOf": branches.meets_all,
    "anyOf": branches.meets_any,
    "oneOf": branches.meets_just_one,
    "not": branches.meets_not,
    "if": branches.meets_condition,
}
