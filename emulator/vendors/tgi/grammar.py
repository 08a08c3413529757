"""Parse ``grammar`` and ``response_format``, which constrain the response.

Source: text-generation-inference, ``router/src/lib.rs`` (GrammarType) and ``router/src/validation.rs:343-411``.
The regular expressions themselves are compiled by the model server, which is not emulated.
"""

from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, parse_json
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field, Mismatch
from emulator.vendors.tgi.errors import refusal
from emulator.vendors.tgi.metaschema import find_schema_error
from emulator.vendors.tgi.outlines import Endless, Uncompilable, compile_schema
from emulator.vendors.tgi.settings import TgiSettings

_VARIANTS = ("json", "json_object", "regex", "json_schema")


@fast_dataclass(frozen=True, slots=True)
class GrammarType:
    """``GrammarType`` of a request: JSON (an object or its text), a regular expression, a named schema, or tools."""

    variant: Literal["json", "regex", "json_schema", "tools"]
    value: JSON


@fast_dataclass(frozen=True, slots=True)
class Grammar:
    """JSON Schema of the response; ``bare``: the response is the string itself, without quotation marks."""

    schema: JSON
    bare: bool = False


def _take_schema(schema: JSON, **others: object) -> JSON:
    return schema


_CONFIG = serde.build(
    _take_schema,
    serde.struct(
        "JsonSchemaConfig",
        (Field("name", serde.option(serde.string)), Field("schema", serde.anything, required=True)),
    ),
)


def _parse_variant(value: JSON) -> str:
    if not isinstance(value, str):
        raise serde.mismatch(value, "variant identifier")
    if value not in _VARIANTS:
        expected = ", ".join(f"`{variant}`" for variant in _VARIANTS)
        raise Mismatch(f"unknown variant `{value}`, expected one of {expected}")
    return value


def grammar_type(value: JSON) -> GrammarType:
    """Parse the enum ``GrammarType``, tagged by ``type``, with its content in ``value``."""
    if not isinstance(value, dict):
        raise serde.mismatch(value, "adjacently tagged enum GrammarType")
    if "type" not in value:
        raise Mismatch("missing field `type`")
    variant = serde.at("type", _parse_variant, value["type"])
    if "value" not in value:
        raise Mismatch("missing field `value`")
    content = value["value"]
    if variant == "regex":
        return GrammarType("regex", serde.at("value", serde.string, content))
    if variant == "json_schema":
        return GrammarType("json_schema", serde.at("value", _CONFIG, content))
    return GrammarType("json", content)


def parse_grammar(grammar: GrammarType | None, settings: TgiSettings) -> Grammar | None:
    """Return the grammar if the router compiles it; raise otherwise."""
    if grammar is None:
        return None
    if settings.disable_grammar_support:
        raise refusal("grammar is not supported", "grammar")
    if grammar.variant == "regex":
        return Grammar({"type": "string", "pattern": f"^(?:{grammar.value})$"}, bare=True)
    schema = _parse_schema(grammar.value) if grammar.variant == "json" else grammar.value
    error = find_schema_error(schema)
    if error is None and (not isinstance(schema, dict) or "properties" not in schema):
        error = "Grammar must have a 'properties' field"
    if error is not None:
        raise refusal(f"grammar is not valid: {error}", "grammar")
    _validate_compilable(schema)
    return None if grammar.variant == "tools" else Grammar(schema)


def _validate_compilable(schema: JSON) -> None:
    """Raise if outlines does not compile a schema; one that contains itself ends the router, here the request."""
    try:
        compile_schema(schema)
    except Uncompilable as error:
        raise refusal(f"cannot compile regex from schema: {error}", "grammar") from None
    except Endless:
        raise EmulatedError(ErrorKind.INTERNAL, param="grammar") from None


def _parse_schema(value: JSON) -> JSON:
    """Parse a schema given as an object or as its text."""
    if isinstance(value, str):
        try:
            return parse_json(value)
        except ValueError as error:
            raise refusal(f"grammar is not valid: {error}", "grammar") from None
    if not isinstance(value, dict):
        raise refusal("grammar is not supported", "grammar")
    return value
