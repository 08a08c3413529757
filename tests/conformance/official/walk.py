"""Compare a value with a schema of a description: no field is missing, unknown or of another type.

The schemas are those of OpenAPI 3.1, 3.0 and 2.0 and of Google's discovery documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.untyped_json import JSON

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
    "any": (object,),
}
_TAGS = ("type", "role", "object")  # fields that tell the kinds of an object apart


@dataclass(frozen=True, slots=True)
class Deviation:
    """One place of a body that its description does not have; ``path`` is without positions."""

    schema: str
    path: str
    kind: str

    def __str__(self) -> str:
        return f"{self.schema} {self.path}: {self.kind}"


class Description:
    """Schemas by name, and the operations of each path."""

    def __init__(self, document: JSON) -> None:
        self.schemas: JSON = document.get("components", document).get("schemas", document.get("definitions", {}))
        self.paths: JSON = document["paths"] if "paths" in document else dict(_list_methods(document["resources"]))
        self._merged: dict[int, tuple[JSON, JSON]] = {}

    def compare(self, name: str, value: JSON, schema: JSON | None = None) -> list[Deviation]:
        """Return where a value deviates from the schema of a name, or from ``schema``."""
        wanted = {"$ref": f"#/{name}"} if schema is None else schema
        return [Deviation(name, path or ".", kind) for path, kind in self._walk(wanted, value, "")]

    def _walk(self, given: JSON, value: JSON, path: str) -> Iterator[tuple[str, str]]:
        schema = self._resolve(given)
        if value is None and schema.get("nullable"):
            return
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            yield from self._choose(branches, value, path)
            return
        breach = _find_breach(schema, value)
        if breach is not None:
            yield path, breach
        elif isinstance(value, dict):
            yield from self._walk_fields(schema, value, path)
        elif isinstance(value, list) and "items" in schema:
            for item in value:
                yield from self._walk(schema["items"], item, f"{path}[]")

    def _walk_fields(self, schema: JSON, value: JSON, path: str) -> Iterator[tuple[str, str]]:
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name in schema.get("required") or ():
            if name not in value:
                yield f"{path}.{name}", "missing"
        for name, inner in value.items():
            if name in properties:
                yield from self._walk(properties[name], inner, f"{path}.{name}")
            elif isinstance(others, dict):
                yield from self._walk(others, inner, f"{path}.*")
            elif others is False or (not others and properties):
                yield f"{path}.{name}", "unknown"

    def _choose(self, branches: Sequence[JSON], value: JSON, path: str) -> Iterator[tuple[str, str]]:
        """Yield the deviations from the nearest branch; the fields that tell kinds apart must have the value's."""
        resolved = [self._resolve(branch) for branch in branches]
        named = [one for one in resolved if not isinstance(value, dict) or self._has_tag(one, value)]
        best: list[tuple[str, str]] | None = None
        for one in named or resolved:
            found = [*self._walk(one, value, path)]
            if not found:
                return
            best = found if best is None or len(found) < len(best) else best
        yield from best or ()

    def _has_tag(self, schema: JSON, value: JSON) -> bool:
        for tag in _TAGS:
            field = self._resolve((schema.get("properties") or {}).get(tag, {}))
            allowed = field.get("enum") or ([field["const"]] if "const" in field else None)
            if allowed and value.get(tag) not in allowed:
                return False
        return True

    def _resolve(self, schema: JSON) -> JSON:
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[-1]]
        if "allOf" not in schema and not schema.get("discriminator"):
            return schema
        if id(schema) not in self._merged:
            self._merged[id(schema)] = (schema, self._merge(schema))  # the schema, too: its id must stay its own
        return self._merged[id(schema)][1]

    def _merge(self, schema: JSON) -> JSON:
        """Return one schema for all parts of ``allOf``; a base class with a discriminator is open."""
        merged: JSON = {"properties": {}, "required": [], **{k: v for k, v in schema.items() if k != "allOf"}}
        properties, required = dict(merged.get("properties") or {}), [*(merged.get("required") or [])]
        for part in schema.get("allOf", ()):
            inner = self._resolve(part)
            properties = {**inner.get("properties", {}), **properties}
            required += inner.get("required") or []
            merged = {**inner, **merged}
        if properties and "anyOf" not in merged and "oneOf" not in merged and "discriminator" in schema:
            merged["additionalProperties"] = True
        return {**merged, "properties": properties, "required": required}


def _list_methods(resources: JSON) -> Iterator[tuple[str, JSON]]:
    """Yield the methods of a discovery document that generate, by paths as the Gemini API has them."""
    for resource in resources.values():
        yield from _list_methods(resource.get("resources", {}))
        for name, method in resource.get("methods", {}).items():
            if "{+model}:" in method.get("path", "") and "publishers" in method.get("flatPath", ""):
                body = {"content": {"application/json": {"schema": method["request"]}}}
                answers = {"200": {"content": {"application/json": {"schema": method["response"]}}}}
                yield f"/v1beta/models/{{model}}:{name}", {"post": {"requestBody": body, "responses": answers}}


def _find_breach(schema: JSON, value: JSON) -> str | None:
    """Return why a value by itself, without its members, does not fit."""
    kind = schema.get("type", [])
    types = [kind] if isinstance(kind, str) else [*kind]
    if types and not any(_fits(value, one) for one in types):
        return f"{_name(value)}, not {' or '.join(types)}"
    return _find_bound(schema, value) if _is_listed(schema, value) else f"value {value!r}"


def _find_bound(schema: JSON, value: JSON) -> str | None:
    """Return the bound that a value breaks."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    size = len(value) if isinstance(value, str | list) else None
    for bound, measured, sign in (
        ("minimum", value if is_number else None, 1),
        ("maximum", value if is_number else None, -1),
        ("minItems" if isinstance(value, list) else "minLength", size, 1),
        ("maxItems" if isinstance(value, list) else "maxLength", size, -1),
    ):
        limit = schema.get(bound)
        if limit is not None and measured is not None and sign * (measured - limit) < 0:
            return f"{bound} {limit}"
    top = schema.get("exclusiveMaximum")  # a boolean in OpenAPI 3.0
    return f"exclusiveMaximum {top}" if is_number and type(top) in (int, float) and value >= top else None


def _is_listed(schema: JSON, value: JSON) -> bool:
    """Return whether a value is one of those that the schema lists, which may be open."""
    if "const" in schema and value != schema["const"]:
        return False
    is_open = schema.get("x-ms-enum", {}).get("modelAsString")
    return "enum" not in schema or is_open or value in schema["enum"]


def _fits(value: JSON, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind in ("boolean", "any") or not isinstance(value, bool))


def _name(value: JSON) -> str:
    return "null" if value is None else type(value).__name__
