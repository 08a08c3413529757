"""Compare a value with a schema of an OpenAPI 3.1 description: no field is missing, unknown or of another type."""

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
}


@dataclass(frozen=True, slots=True)
class Deviation:
    """One place of a response that its description does not have; ``path`` is without positions."""

    schema: str
    path: str
    kind: str

    def __str__(self) -> str:
        return f"{self.schema} {self.path}: {self.kind}"


class Description:
    """Schemas by name."""

    def __init__(self, document: JSON) -> None:
        self.schemas: JSON = document["components"]["schemas"]
        self.paths: JSON = document["paths"]

    def compare(self, name: str, value: JSON) -> list[Deviation]:
        """Return where a value deviates from a schema."""
        return [Deviation(name, path or ".", kind) for path, kind in self._walk({"$ref": f"#/{name}"}, value, "")]

    def _walk(self, given: JSON, value: JSON, path: str) -> Iterator[tuple[str, str]]:
        schema = self._resolve(given)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            yield from self._choose(branches, value, path)
            return
        types = self._list_types(schema)
        if types and not any(_fits(value, kind) for kind in types):
            yield path, f"{_name(value)}, not {' or '.join(types)}"
        elif ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
            yield path, f"value {value!r}"
        elif isinstance(value, dict) and schema.get("properties"):
            yield from self._walk_fields(schema, value, path)
        elif isinstance(value, list) and "items" in schema:
            for item in value:
                yield from self._walk(schema["items"], item, f"{path}[]")

    def _walk_fields(self, schema: JSON, value: JSON, path: str) -> Iterator[tuple[str, str]]:
        properties = schema["properties"]
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{name}", "missing"
        for name, inner in value.items():
            if name in properties:
                yield from self._walk(properties[name], inner, f"{path}.{name}")
            elif not schema.get("additionalProperties"):
                yield f"{path}.{name}", "unknown"

    def _choose(self, branches: Sequence[JSON], value: JSON, path: str) -> Iterator[tuple[str, str]]:
        """Yield the deviations from the nearest branch; the fields that tell kinds apart must have the value's."""
        resolved = [self._resolve(branch) for branch in branches]
        named = [one for one in resolved if not isinstance(value, dict) or self._has_tag(one, value)]
        found = [[*self._walk(one, value, path)] for one in named or resolved]
        yield from min(found, key=len)

    def _has_tag(self, schema: JSON, value: JSON) -> bool:
        for tag in ("type", "role", "object"):
            field = self._resolve(schema.get("properties", {}).get(tag, {}))
            allowed = field.get("enum") or ([field["const"]] if "const" in field else None)
            if allowed and value.get(tag) not in allowed:
                return False
        return True

    def _resolve(self, schema: JSON) -> JSON:
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        if "allOf" not in schema:
            return schema
        merged: JSON = {"properties": {}, "required": [], **{k: v for k, v in schema.items() if k != "allOf"}}
        properties, required = dict(merged["properties"]), [*merged["required"]]
        for part in schema["allOf"]:
            inner = self._resolve(part)
            properties |= inner.get("properties", {})
            required += inner.get("required", [])
            merged = {**inner, **merged}
        return {**merged, "properties": properties, "required": required}

    @staticmethod
    def _list_types(schema: JSON) -> list[str]:
        kind = schema.get("type", [])
        types = [kind] if isinstance(kind, str) else [*kind]
        return [*types, "null"] if types and schema.get("nullable") else types


def _fits(value: JSON, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _name(value: JSON) -> str:
    return "null" if value is None else type(value).__name__
