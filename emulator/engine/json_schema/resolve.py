"""Where a schema lives: its dialect, its base, and what its references point to."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from emulator.core.json import JSON
from emulator.engine.budget import Unsatisfiable
from emulator.engine.json_schema.meta import META_SCHEMA


class Dialect(IntEnum):
    """The drafts of JSON Schema, in order of publication."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019 = 8
    DRAFT_2020 = 9


_DIALECTS = {
    "http://json-schema.org/draft-03/schema": Dialect.DRAFT_4,
    "http://json-schema.org/draft-04/schema": Dialect.DRAFT_4,
    "http://json-schema.org/draft-06/schema": Dialect.DRAFT_6,
    "http://json-schema.org/draft-07/schema": Dialect.DRAFT_7,
    "https://json-schema.org/draft/2019-09/schema": Dialect.DRAFT_2019,
    "https://json-schema.org/draft/2020-12/schema": Dialect.DRAFT_2020,
}

SCHEMAS_BY_NAME = ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies")
LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
SINGLE_SCHEMAS = (
    "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip


def dialect_of(schema: JSON, default: Dialect = Dialect.DRAFT_2020) -> Dialect:
    """The draft ``$schema`` names; ``default`` if it names none we know."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    return _DIALECTS.get(name.rstrip("#"), default) if isinstance(name, str) else default


def subschemas(schema: JSON) -> Iterator[JSON]:
    """Schemas directly below one schema."""
    for keyword, value in schema.items():
        if keyword in SCHEMAS_BY_NAME and isinstance(value, dict):
            yield from value.values()
        elif keyword in LISTS_OF_SCHEMAS and isinstance(value, list):
            yield from value
        elif keyword in SINGLE_SCHEMAS:
            yield value


class Resource:
    """A schema with an address of its own, in which ``#…`` references are looked up."""

    __slots__ = ("anchors", "base", "dialect", "dynamic", "library", "recursive", "root")

    def __init__(self, root: JSON, base: str, dialect: Dialect, library: Library) -> None:
        self.root = root
        self.base = base
        self.dialect = dialect
        self.library = library
        self.anchors: dict[str, JSON] = {}
        self.dynamic: dict[str, JSON] = {}
        self.recursive = isinstance(root, dict) and root.get("$recursiveAnchor") is True


class Library:
    """All resources of one document, found by walking it when first asked for."""

    def __init__(self, root: JSON) -> None:
        self._root = root
        self._resources: dict[str, Resource] = {}
        self._by_root: dict[int, Resource] = {}
        self._walked = False
        dialect = dialect_of(root)
        self.first = Resource(root, own_address(root, dialect) or "", dialect, self)
        self._enter(self.first)

    def _enter(self, resource: Resource) -> None:
        self._resources.setdefault(resource.base, resource)
        self._by_root[id(resource.root)] = resource

    def owned(self, root: JSON, parent: Resource, address: str) -> Resource:
        """The resource that begins at ``root`` inside ``parent``."""
        resource = self._by_root.get(id(root))
        if resource is None:
            base = urljoin(parent.base, address)
            resource = Resource(root, base, dialect_of(root, parent.dialect), self)
            self._enter(resource)
        return resource

    def find(self, base: str) -> Resource | None:
        self.walk()
        found = self._resources.get(base)
        if found is None and base in _DIALECTS:
            found = Resource(META_SCHEMA, base, Dialect.DRAFT_2020, self)
            self._enter(found)
        return found

    def walk(self) -> None:
        """Find every address and anchor of the document, once."""
        if self._walked:
            return
        self._walked = True
        stack = [(self._root, self.first)]
        while stack:
            schema, resource = stack.pop()
            if not isinstance(schema, dict):
                continue
            address = own_address(schema, resource.dialect)
            if address is not None and schema is not self._root:
                resource = self.owned(schema, resource, address)
            _note_anchors(schema, resource)
            stack.extend((below, resource) for below in subschemas(schema))


def own_address(schema: JSON, dialect: Dialect) -> str | None:
    """The ``$id`` (``id`` in draft 4) without a fragment, if the schema has one that counts."""
    if not isinstance(schema, dict) or (dialect <= Dialect.DRAFT_7 and "$ref" in schema):
        return None
    value = schema.get("id" if dialect is Dialect.DRAFT_4 else "$id")
    if not isinstance(value, str):
        return None
    return urldefrag(value)[0] or None


def _note_anchors(schema: JSON, resource: Resource) -> None:
    if resource.dialect >= Dialect.DRAFT_2019:
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                resource.anchors.setdefault(schema[keyword], schema)
        if isinstance(schema.get("$dynamicAnchor"), str):
            resource.dynamic.setdefault(schema["$dynamicAnchor"], schema)
        return
    value = schema.get("id" if resource.dialect is Dialect.DRAFT_4 else "$id")
    if isinstance(value, str) and "#" in value:
        resource.anchors.setdefault(value.partition("#")[2], schema)


class Node(NamedTuple):
    """A schema and the resources it was reached through, outermost first."""

    schema: JSON
    path: tuple[Resource, ...]

    @property
    def dialect(self) -> Dialect:
        return self.path[-1].dialect

    def below(self, schema: JSON) -> Node:
        """A schema inside this one."""
        if isinstance(schema, dict) and ("$id" in schema or "id" in schema):
            resource = self.path[-1]
            address = own_address(schema, resource.dialect)
            if address is not None and schema is not resource.root:
                return Node(schema, _extend(self.path, resource.library.owned(schema, resource, address)))
        return Node(schema, self.path)

    def resolve(self, reference: JSON) -> Node:
        """What ``$ref`` points to.

        Raises:
            Unsatisfiable: it points outside the document, or nowhere.
        """
        here = self.path[-1]
        if not isinstance(reference, str):
            raise Unsatisfiable(f"$ref must be a string, not {reference!r}")
        base, fragment = urldefrag(reference)
        if base:
            found = here.library.find(urldefrag(urljoin(here.base, base))[0])
            if found is None:
                raise Unsatisfiable(f"$ref {reference!r} points outside the schema, and nothing is fetched")
            here = found
        target = Node(here.root, _extend(self.path, here))
        if not fragment:
            return target
        return _follow(target, reference, unquote(fragment))

    def resolve_dynamic(self, reference: JSON) -> Node:
        """What ``$dynamicRef`` points to: the outermost schema with the same dynamic anchor."""
        target = self.resolve(reference)
        name = urldefrag(reference)[1]
        if target.path[-1].dynamic.get(name) is not target.schema:
            return target
        for position, resource in enumerate(self.path):
            if name in resource.dynamic:
                return Node(resource.dynamic[name], _extend(self.path, self.path[position]))
        return target

    def resolve_recursive(self, reference: JSON) -> Node:
        """What ``$recursiveRef`` points to: the outermost root in a row of roots that allow it."""
        target = self.resolve(reference)
        if not target.path[-1].recursive:
            return target
        for resource in self.path:
            if resource.recursive:
                return Node(resource.root, _extend(self.path, resource))
        return target


def _extend(path: tuple[Resource, ...], resource: Resource) -> tuple[Resource, ...]:
    """The path with ``resource`` innermost; only the first visit of each matters to dynamic references."""
    if path[-1] is resource:
        return path
    if path.count(resource) > 1:
        last = len(path) - 1 - path[::-1].index(resource)
        path = path[:last] + path[last + 1 :]
    return (*path, resource)


def _follow(target: Node, reference: str, fragment: str) -> Node:
    if not fragment.startswith("/"):
        resource = target.path[-1]
        resource.library.walk()
        if fragment not in resource.anchors:
            raise Unsatisfiable(f"$ref {reference!r} points to nothing in the schema")
        return Node(resource.anchors[fragment], target.path)
    for token in fragment[1:].split("/"):
        token = token.replace("~1", "/").replace("~0", "~")
        try:
            schema = target.schema[int(token) if isinstance(target.schema, list) else token]
        except (LookupError, ValueError, TypeError):
            raise Unsatisfiable(f"$ref {reference!r} points to nothing in the schema") from None
        target = target.below(schema)
    return target


def root_node(schema: JSON) -> Node:
    """The whole document as a node.

    Raises:
        Unsatisfiable: it is neither an object nor a boolean.
    """
    if not isinstance(schema, dict | bool):
        raise Unsatisfiable("not a JSON Schema: it must be an object or a boolean")
    return Node(schema, (Library(schema).first,))
