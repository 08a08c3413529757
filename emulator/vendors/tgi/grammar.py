"""``grammar`` and ``response_format``: what an answer has to look like.

Source: text-generation-inference, ``router/src/lib.rs`` (GrammarType) and ``router/src/validation.rs``.
"""

from dataclasses import dataclass

from emulator.core.json import JSON, parse_json
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field, Mismatch
from emulator.vendors.tgi.errors import refuse
from emulator.vendors.tgi.settings import TgiSettings

_VARIANTS = ("json", "json_object", "regex", "json_schema")
_CONFIG = serde.struct(
    "JsonSchemaConfig",
    (Field("name", serde.option(serde.string)), Field("schema", serde.anything, required=True)),
)


@dataclass(frozen=True, slots=True)
class Grammar:
    """A JSON Schema; ``bare``: the answer is the text of the string that fits it."""

    schema: JSON
    bare: bool = False


def _variant(value: JSON) -> str:
    if not isinstance(value, str):
        raise serde.mismatch(value, "variant identifier")
    if value not in _VARIANTS:
        expected = ", ".join(f"`{variant}`" for variant in ("json", "regex", "json_schema"))
        raise Mismatch(f"unknown variant `{value}`, expected one of {expected}")
    return value


def grammar_type(value: JSON) -> JSON:
    """The enum ``GrammarType``: ``type`` names the variant, ``value`` holds it."""
    if not isinstance(value, dict):
        raise serde.mismatch(value, "adjacently tagged enum GrammarType")
    if "type" not in value:
        raise Mismatch("missing field `type`")
    kind = serde.at("type", _variant, value["type"])
    if "value" not in value:
        raise Mismatch("missing field `value`")
    content = value["value"]
    if kind == "regex":
        return {"type": kind, "value": serde.at("value", serde.string, content)}
    if kind == "json_schema":
        return {"type": kind, "value": serde.at("value", _CONFIG, content)["schema"]}
    return {"type": "json", "value": content}


def read_grammar(grammar: JSON, settings: TgiSettings) -> Grammar | None:
    """A grammar the router would compile."""
    if grammar is None:
        return None
    if settings.disable_grammar_support:
        raise refuse("grammar is not supported", "grammar")
    if grammar["type"] == "regex":
        return Grammar({"type": "string", "pattern": f"^(?:{grammar['value']})$"}, bare=True)
    schema = grammar["value"]
    if grammar["type"] == "json" and isinstance(schema, str):
        try:
            schema = parse_json(schema)
        except ValueError as error:
            raise refuse(f"grammar is not valid: {error}", "grammar") from None
    elif grammar["type"] == "json" and not isinstance(schema, dict):
        raise refuse("grammar is not supported", "grammar")
    if not isinstance(schema, dict) or "properties" not in schema:
        raise refuse("grammar is not valid: Grammar must have a 'properties' field", "grammar")
    return Grammar(schema)
