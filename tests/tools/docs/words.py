"""What values may be, in the words of the language reference."""

import re
from functools import cache

from emulator.core.json import Object, as_array, as_object, as_text
from emulator.core.units import parse_duration
from emulator.scenario.models import schema_json
from tests.tools.docs.sections import SECTIONS
from tests.untyped_json import JSON

_UNIONS = {"disconnect": "[a fault](#faults)", "constant": "[a distribution](#distribution)"}
_PLAIN = {"string": "text", "boolean": "true or false", "object": "mapping", "integer": "whole number"}


@cache
def definitions() -> Object:
    """Every object of the language by its name in the schema; the file itself has none."""
    schema = schema_json()
    return {**as_object(schema["$defs"]), "": schema}


def plain(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("|", "\\|")


def takes(schema: Object) -> str:
    """What a value may be, in words."""
    match schema:
        case {"$ref": str(reference)}:
            return _link(reference.rpartition("/")[2])
        case {"discriminator": {"mapping": dict(mapping)}}:
            return next((words for name, words in _UNIONS.items() if name in mapping), "a mapping with type")
        case {"enum": list(values)}:
            return ", ".join(f"`{value}`" for value in values)
        case {"const": value}:
            return f"`{'false' if value is False else value}`"
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " or ".join(dict.fromkeys(takes(as_object(option)) for option in options))
        case {"prefixItems": list(items)}:
            return f"list: {', '.join(takes(as_object(item)) for item in items)}"
        case {"items": dict(item)}:
            return f"list: {takes(item)}"
    return _takes_plain(schema)


def _takes_plain(schema: Object) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return "whole number or size"
    if kind is None:
        return "any value"
    if kind == "string" and "pattern" in schema:
        return _of_pattern(schema)
    bounds = _bounds(schema)
    return (_PLAIN.get(as_text(kind), as_text(kind)) + f" {bounds}").rstrip()


def _of_pattern(schema: Object) -> str:
    """Recognise durations and sizes by their examples."""
    examples = [str(each) for each in as_array(schema.get("examples", []))]
    if any("iB" in each for each in examples):
        return "size"
    return "duration" if examples and _is_duration(examples[0]) else "text"


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except ValueError:
        return False
    return True


def _bounds(schema: Object) -> str:
    least = schema.get("minimum", schema.get("ge"))
    most = schema.get("maximum", schema.get("le"))
    above = schema.get("exclusiveMinimum", schema.get("gt"))
    words = [f"from {least}" if least is not None else "", f"to {most}" if most is not None else ""]
    return " ".join(filter(None, [*words, f"above {above}" if above is not None else ""]))


def default(schema: Object) -> str:
    """Format the default of a plain value; that of a size is in its description."""
    value: JSON = schema.get("default")
    if value in ("", None, False) or isinstance(value, list | dict) or "size" in takes(schema):
        return ""
    return f"; `{value}` if absent"


def _link(model: str) -> str:
    """Return a link to the section of an object."""
    if model == "ErrorKind":
        return takes(as_object(definitions()[model]))
    wanted = {"SizeBounds": "Bounds", "Step": "Rule"}.get(model, model)
    title = next(section.title for section in SECTIONS if section.model == wanted)
    words = "outcome" if model == "Step" else title
    return f"[{words}](#{title.lower().replace(' ', '-')})"
