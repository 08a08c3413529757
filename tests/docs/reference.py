"""The language reference, made from the models: every key with what it takes, its sentence and an example."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from emulator.core.duration import parse_duration
from emulator.core.json import Object, as_array, as_object, as_text
from emulator.scenario.schema import schema_json
from tests.docs.sections import CONTENTS, POSITION, SECTIONS, Chapter, Section
from tests.parsed import JSON

FILE = Path(__file__).parent.parent.parent / "docs" / "reference.md"
_HEAD = """\
<!-- Made by `python -m tests.docs`; a test compares it with the models. -->

# The scenario language, version 1

Every key, with what it takes and an example that works. An example stands in place of the `…` above its table.
Keys that are not `required` can be left out; a key that is not here is a mistake, reported with its line and the
nearest known name.

A duration has a unit: `250ms`, `1.5s`, `2m`, `1h`. A size has one too: `64KiB`, `4MiB`. Where rules and limits name
vendors, deployments and the like, `*` stands for any text.
"""
_UNIONS = {"disconnect": "[a fault](#faults)", "constant": "[a distribution](#distribution)"}
_MEANS = {
    "type": "What it is called.",
    "journal": "What the journal keeps.",
    "timing": "How exact times are to be.",
    "bounds": "What one call may cost.",
}  # of keys that say nothing themselves
_PLAIN = {"string": "text", "boolean": "true or false", "object": "mapping", "integer": "whole number"}


def render() -> str:
    """The whole document."""
    return "\n".join([_HEAD, *(line for entry in CONTENTS for line in _tell(entry))])


@cache
def definitions() -> Object:
    """Every object of the language by its name in the schema; the file itself has none."""
    schema = schema_json()
    return {**as_object(schema["$defs"]), "": schema}


def properties(model: str) -> Object:
    """What an object may hold; a facet that is written with a name has it as ``<name>``."""
    definition = as_object(definitions()[model])
    found = dict(as_object(definition.get("properties", {})))
    for pattern, value in as_object(definition.get("patternProperties", {})).items():
        name = re.sub(r"[^a-z]", "", pattern)
        found[f"{name}.<{'path' if name == 'body' else 'name'}>"] = value
    return found


def _tell(entry: Chapter | Section) -> Iterator[str]:
    if isinstance(entry, Chapter):
        yield from (f"## {entry.title}", "", entry.intro, "")
        return
    definition = as_object(definitions()[entry.model])
    yield from (f"{'#' * entry.level} {entry.title}", "")
    yield entry.intro or _plain(as_text(definition.get("description", "")))
    found = properties(entry.model)
    if not entry.examples.keys() & POSITION and found.keys() >= POSITION:
        yield from ("", "Takes a [position](#position).")
    if entry.place != "…":
        yield from ("", f"`{entry.place}`")
    yield from ("", "| key | takes | means | example |", "| --- | --- | --- | --- |")
    required = [as_text(key) for key in as_array(definition.get("required", []))]
    for key, example in entry.examples.items():
        schema = as_object(found[key])
        takes = _takes(schema) + _default(schema) + (", required" if key in required else "")
        means = _plain(as_text(schema.get("description") or _MEANS[key]))
        yield f"| `{key}` | {takes} | {means} | `{example}` |"
    yield ""


def _plain(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("|", "\\|")


def _takes(schema: Object) -> str:
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
            return " or ".join(dict.fromkeys(_takes(as_object(option)) for option in options))
        case {"prefixItems": list(items)}:
            return f"list: {', '.join(_takes(as_object(item)) for item in items)}"
        case {"items": dict(item)}:
            return f"list: {_takes(item)}"
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
    """Durations and sizes are known by their examples, whatever their pattern says."""
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


def _default(schema: Object) -> str:
    """Of plain values that are not nothing anyway; a size is told in its sentence."""
    value: JSON = schema.get("default")
    if value in ("", None, False) or isinstance(value, list | dict) or "size" in _takes(schema):
        return ""
    return f"; `{value}` if absent"


def _link(model: str) -> str:
    """To the section that tells an object."""
    if model == "ErrorKind":
        return _takes(as_object(definitions()[model]))
    wanted = {"SizeBounds": "Bounds", "Step": "Rule"}.get(model, model)
    title = next(section.title for section in SECTIONS if section.model == wanted)
    words = "outcome" if model == "Step" else title
    return f"[{words}](#{title.lower().replace(' ', '-')})"
