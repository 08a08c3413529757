"""Parse ``grammar`` and ``response_format``: a JSON Schema or a regular expression that constrains the response.

Source: text-generation-inference, ``router/src/lib.rs`` (GrammarType) and ``router/src/validation.rs:343-411``. The
regular expressions themselves are compiled by the model server, which is not emulated.
"""

from collections.abc import Sequence
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, parse_json
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field, Mismatch
from emulator.vendors.tgi.errors import refusal
from emulator.vendors.tgi.json_positions import find_too_deep
from emulator.vendors.tgi.settings import TgiSettings

_VARIANTS = ("json", "json_object", "regex", "json_schema")
_UNKNOWN = "unknown variant `{}`, expected one of " + ", ".join([f"`{variant}`" for variant in _VARIANTS])


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
        (Field("name", serde.option(serde.string), listed=True), Field("schema", serde.anything, required=True)),
    ),
)


def _parse_variant(value: JSON) -> str:
    """Parse the tag: an enum of its own, so an object is read as a variant with content.

    Source: serde_json 1.0.140, ``src/de.rs`` (deserialize_enum).
    """
    if isinstance(value, dict) and value:
        name = next(iter(value))
        if name not in _VARIANTS:
            raise Mismatch(_UNKNOWN.format(name), where="key")
    if not isinstance(value, str):
        raise Mismatch("expected value", inside=False, ahead=2 if value == {} else 1, syntax=True)
    if value not in _VARIANTS:
        raise Mismatch(_UNKNOWN.format(value))
    return value


def grammar_type(value: JSON) -> GrammarType:
    """Parse the enum ``GrammarType``, tagged by ``type``, with its content in ``value``; or a list of both."""
    if isinstance(value, list):
        return _parse_pair(value)
    if not isinstance(value, dict):
        raise serde.mismatch(value, "adjacently tagged enum GrammarType")
    if "type" not in value:
        raise Mismatch("missing field `type`")
    variant = serde.at("type", _parse_variant, value["type"])
    if "value" not in value:
        raise Mismatch("missing field `value`")
    return _parse_content(variant, "value", value["value"])


def _parse_pair(value: Sequence[JSON]) -> GrammarType:
    missing = "invalid length {}, expected adjacently tagged enum GrammarType"
    if not value:
        raise Mismatch(missing.format(0))
    variant = serde.at(0, _parse_identifier, value[0])
    if len(value) < 2:
        raise Mismatch(missing.format(1))
    return _parse_content(variant, 1, value[1])


def _parse_identifier(value: JSON) -> str:
    """Parse the tag where it is an item of a list."""
    if not isinstance(value, str):
        raise serde.mismatch(value, "variant identifier")
    return _parse_variant(value)


def _parse_content(variant: str, step: str | int, content: JSON) -> GrammarType:
    if variant == "regex":
        return GrammarType("regex", serde.at(step, serde.string, content))
    if variant == "json_schema":
        return GrammarType("json_schema", serde.at(step, _CONFIG, content))
    return GrammarType("json", serde.at(step, serde.anything, content))


def parse_grammar(grammar: GrammarType | None, settings: TgiSettings) -> Grammar | None:
    """Return the grammar if the router compiles it; raise otherwise."""
    if grammar is None:
        return None
    if settings.disable_grammar_support:
        raise refusal("grammar is not supported", "grammar")
    if grammar.variant == "regex":
        return Grammar({"type": "string", "pattern": f"^(?:{grammar.value})$"}, bare=True)
    from emulator.vendors.tgi.metaschema import find_schema_error  # few requests have a schema

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
    from emulator.vendors.tgi.outlines import Endless, Uncompilable, compile_schema

    try:
        compile_schema(schema)
    except Uncompilable as error:
        raise refusal(f"cannot compile regex from schema: {error}", "grammar") from None
    except Endless:
        raise EmulatedError(ErrorKind.INTERNAL, param="grammar") from None


def _parse_schema(value: JSON) -> JSON:
    """Parse a schema given as an object or as its text."""
    if isinstance(value, str):
        if found := find_too_deep(value.encode()):
            raise refusal(f"grammar is not valid: recursion limit exceeded{found}", "grammar")
        try:
            return parse_json(value)
        except ValueError as error:
            raise refusal(f"grammar is not valid: {error}", "grammar") from None
    if not isinstance(value, dict):
        raise refusal("grammar is not supported", "grammar")
    return value
