"""Build the JSON Schema of scenario files for editors: that of the models, and rules across several keys.

``cli/schema.py`` adds the vendors' settings and the names of tokenizers, and prints it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import get_args

from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.core.requests import Task
from emulator.core.units import DURATION_SCHEMA
from emulator.scenario.models import schema_json

# Pydantic's name of a bound after a validator, and that of JSON Schema.
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
_NOT_JSON_SCHEMA = ("discriminator",)
_ABOVE_ZERO = as_text(as_object(DURATION_SCHEMA)["pattern"]).replace("(?=\\d)", r"(?=[^1-9]*[1-9])")
_SIZE = r"^\s*\d+(B|KiB|MiB|GiB)\s*$"
_PATH = r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*"
_NAME: Object = {"type": "string", "minLength": 1}
_POSITIONS = ("after_tokens", "after_bytes", "at", "before")
_OUTCOMES = ("error", "reply", "latency", "faults", "pass")
_OF_SEQUENCES = ("sequence", "then", "per")
_COMPARISONS = ("contains", "prefix", "suffix", "regex", "not")
_TEXTS = ("text", "file", "chunks", "reasoning", "tool_calls")
_ALONE = ("json", "refusal", "embedding", "embeddings", "generate")
_SOME_WEIGHT: Object = {"exclusiveMinimum": 0}


def build_json_schema() -> Object:
    """Return the JSON Schema 2020-12 of a scenario file; ``emulator check`` reports everything that it refuses."""
    schema = as_object(_clean(schema_json()))
    definitions = {name: as_object(found) for name, found in as_object(schema["$defs"]).items()}
    for name, more in _MORE.items():
        definitions[name].update(more)
    for definition in definitions.values():
        if properties_of(definition).keys() >= set(_POSITIONS):
            definition["dependentSchemas"] = _at_most_one(_POSITIONS)
    parts = as_object(properties_of(definitions["Mixture"])["parts"])
    parts["contains"] = _WEIGHTED
    for name, key, found in _FIELDS:
        properties_of(definitions[name])[key] = {**_described(properties_of(definitions[name])[key]), **found}
    when = definitions["When"]
    when["patternProperties"] = {_sharpen(key): found for key, found in as_object(when["patternProperties"]).items()}
    for key in ("endpoint", "deployment", "served", "principal", "session", "tools", "tool_called"):
        set_names(when, key, _NAME)
    for key in ("deployment", "principal"):
        set_names(definitions["Limit"], key, _NAME)
    set_names(when, "task", choose(get_args(Task)))
    for inner in (properties_of(when)["not"], as_object(properties_of(when)["any"])["items"]):
        as_object(inner)["minProperties"] = 1
    return schema


def properties_of(definition: Object) -> Object:
    return as_object(definition.get("properties", {}))


def choose(names: Collection[str]) -> Object:
    """Return the schema of one of the names, or of a glob."""
    return {"anyOf": [{"enum": [*names]}, {"type": "string", "pattern": r"\*"}]}


def set_names(definition: Object, key: str, name: Object) -> None:
    """Set the schema of a key to one name or a list of names."""
    options: JSON = [name, {"type": "array", "items": name, "minItems": 1}]
    properties_of(definition)[key] = {**_described(properties_of(definition)[key]), "anyOf": options}


def _described(field: JSON) -> Object:
    """Return the annotations of a field: description, examples and title."""
    return {key: value for key, value in as_object(field).items() if key in ("description", "examples", "title")}


def _sharpen(pattern: str) -> str:
    return rf"^body\.{_PATH}$" if pattern.startswith("^body") else pattern


def _clean(node: JSON) -> JSON:
    """Rewrite pydantic keywords as JSON Schema ones, and close objects with ``patternProperties``."""
    if isinstance(node, list):
        return [_clean(item) for item in node]
    if not isinstance(node, dict):
        return node
    cleaned: Object = {}
    for key, value in node.items():
        name: str = _BOUNDS.get(key) or key
        if name not in _NOT_JSON_SCHEMA:
            cleaned[name] = _clean(value)
    if "patternProperties" in cleaned and cleaned.get("type") == "object":
        cleaned.setdefault("additionalProperties", False)
    return cleaned


def _some_of(names: Collection[str]) -> Object:
    """Return the schema that requires at least one of the names."""
    return {"anyOf": [{"required": [name]} for name in names]}


def _without(names: Collection[str]) -> Object:
    return {name: False for name in names}


def _at_most_one(names: Collection[str], others: Collection[str] = ()) -> Object:
    """Return ``dependentSchemas`` by which each of the names excludes the others, and those of ``others``."""
    return {name: {"properties": _without([n for n in (*names, *others) if n != name])} for name in names}


def _one_outcome(others: Collection[str]) -> Iterator[Object]:
    """Yield the schema of each valid combination of outcomes; latency and faults may go with error or reply."""
    for name in ("error", "reply", "pass"):
        excluded = [n for n in _OUTCOMES if n != name] if name == "pass" else {"error", "reply", "pass"} - {name}
        more: Object = {"pass": {"const": True}} if name == "pass" else {}
        yield {"required": [name], "properties": {**_without([*sorted(excluded), *others]), **more}}
    yield {**_some_of(("latency", "faults")), "properties": _without(["error", "reply", "pass", *others])}


def _unit(concurrency: bool) -> Object:
    if concurrency:
        return {"properties": {"unit": {"const": "concurrency"}, **_without(["window", "strategy"])}}
    return {"properties": {"unit": {"not": {"const": "concurrency"}}}, "required": ["window"]}


_SPREAD: Object = {"oneOf": [{"required": [key]} for key in ("p99", "sigma", "mean")]}
_MORE: Mapping[str, Object] = {
    "Comparison": _some_of(_COMPARISONS),
    "Bounds": {"minProperties": 1},
    "SizeBounds": {"minProperties": 1},
    "Times": {"minProperties": 1},
    "Lognormal": _SPREAD,
    "LognormalPart": _SPREAD,
    "ReplyOutcome": {
        **_some_of((*_TEXTS, *_ALONE, "finish_reason", "usage")),
        "dependentSchemas": {**_at_most_one(_ALONE, _TEXTS), **_at_most_one(("text", "file"))},
        "if": {"required": ["template"], "properties": {"template": {"const": True}}},
        "then": _some_of(("text", "file")),
        "not": {
            "required": ["pad"],
            "properties": {"pad": {"const": True}, **_without(("embedding", "embeddings"))},
        },
    },
    "Step": {"oneOf": [*_one_outcome(())]},
    "Rule": {
        "oneOf": [*_one_outcome(_OF_SEQUENCES), {"required": ["sequence"], "properties": _without(_OUTCOMES)}],
        "not": {"required": ["per", "times"], "properties": {"times": {"required": ["per"]}}},
    },
    "Limit": {"oneOf": [_unit(True), _unit(False)]},
}

_DURATION: Object = {"type": "string", "pattern": _ABOVE_ZERO}
_ORDINAL: Object = {"type": "integer", "minimum": 1}
_BYTES: JSON = [{"type": "number"}, {"type": "string", "pattern": _SIZE}]
_FIELD_NAME: Object = {"type": "string", "pattern": f"^{_PATH}$"}
_WEIGHTS: Object = {"type": "array", "items": {"type": "number", "minimum": 0}, "contains": _SOME_WEIGHT}
_WEIGHTED: JSON = {"properties": {"weight": _SOME_WEIGHT}, "required": ["weight"]}
_FIELDS: tuple[tuple[str, str, Object], ...] = (
    ("Times", "nth", {"anyOf": [_ORDINAL, {"type": "array", "items": _ORDINAL, "minItems": 1}]}),
    ("Times", "probability", {"type": "number", "minimum": 0, "maximum": 1}),
    ("Burst", "every", _DURATION),
    ("Limit", "window", _DURATION),
    ("Lognormal", "median", _DURATION),
    ("LognormalPart", "median", _DURATION),
    ("Histogram", "weights", _WEIGHTS),
    ("HistogramPart", "weights", _WEIGHTS),
    ("SizeBounds", "above", {"anyOf": _BYTES}),
    ("SizeBounds", "below", {"anyOf": _BYTES}),
    ("When", "body_bytes", {"anyOf": [*as_array(_BYTES), {"$ref": "#/$defs/SizeBounds"}]}),
    ("Drop", "field", {"anyOf": [_FIELD_NAME, {"type": "array", "items": _FIELD_NAME, "minItems": 1}]}),
)
