"""Resolve ``$ref``, ``$id``, anchors and the dialect (``$schema``) of schemas.

All modules of this package look up nodes of a schema by it.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from emulator.core.json import JSON, Object, as_object
from emulator.core.text import parse_integer
from emulator.generation.json_schema.subschemas import META_SCHEMA, NotASchema, Schema, subschemas
from emulator.generation.step_budget import Unsatisfiable


class Dialect(IntEnum):
    """Draft of JSON Schema, in order of publication."""

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

_INDEX = re.compile("0|[1-9][0-9]{0,8}")


def dialect_of(schema: Schema, default: Dialect = Dialect.DRAFT_2020) -> Dialect:
    """Return the draft that ``$schema`` names, or ``default``."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    return _DIALECTS.get(name.rstrip("#"), default) if isinstance(name, str) else default


class Resource:
    """Schema resource with its own base URI, in which ``#…`` references are resolved."""

    __slots__ = ("anchors", "base", "dialect", "dynamic", "index", "recursive", "root")

    def __init__(self, root: Schema, base: str, dialect: Dialect, index: ResourceIndex) -> None:
        self.root = root
        self.base = base
        self.dialect = dialect
        self.index = index
        self.anchors: dict[str, Schema] = {}
        self.dynamic: dict[str, Schema] = {}
        self.recursive = isinstance(root, dict) and root.get("$recursiveAnchor") is True


class ResourceIndex:
    """All resources of one document, found by walking the document on demand.

    Raises:
        NotASchema: the document is no schema.
    """

    def __init__(self, root: JSON) -> None:
        self._resources: dict[str, Resource] = {}
        self._by_root: dict[int, Resource] = {}
        self._sound: set[int] = set()  # ids of the schemas inspected
        self._walked = False
        self._root = self.inspect(root)
        dialect = dialect_of(self._root)
        self.first = Resource(self._root, own_address(self._root, dialect) or "", dialect, self)
        self._enter(self.first)

    def inspect(self, found: JSON) -> Schema:
        """Return a part of the document after all schemas in it are checked.

        Raises:
            NotASchema: the part is no schema, or a keyword has a value of the wrong kind.
        """
        if not isinstance(found, dict | bool):
            raise NotASchema("it must be an object or a boolean")
        pending: list[Schema] = [found]
        while pending:
            schema = pending.pop()
            if isinstance(schema, dict) and id(schema) not in self._sound:
                self._sound.add(id(schema))
                pending.extend(subschemas(schema))
        return found

    def _enter(self, resource: Resource) -> None:
        self._resources.setdefault(resource.base, resource)
        self._by_root[id(resource.root)] = resource

    def owned(self, root: Schema, parent: Resource, address: str) -> Resource:
        """Return the resource that begins at ``root`` inside ``parent``."""
        resource = self._by_root.get(id(root))
        if resource is None:
            base = _join(parent.base, address)
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
        pending = [(self._root, self.first)]
        while pending:
            schema, resource = pending.pop()
            if isinstance(schema, bool):
                continue
            address = own_address(schema, resource.dialect)
            if address is not None and schema is not self._root:
                resource = self.owned(schema, resource, address)
            _note_anchors(schema, resource)
            pending.extend((below, resource) for below in subschemas(schema))


def own_address(schema: Schema, dialect: Dialect) -> str | None:
    """Return the ``$id`` (``id`` in draft 4) without its fragment; ``None``: the schema has none in force."""
    if isinstance(schema, bool) or (dialect <= Dialect.DRAFT_7 and "$ref" in schema):
        return None
    value = schema.get("id" if dialect is Dialect.DRAFT_4 else "$id")
    if not isinstance(value, str):
        return None
    return _split(value)[0] or None


def _split(address: str) -> tuple[str, str]:
    """Split an address into the part before the fragment, and the fragment."""
    try:
        base, fragment = urldefrag(address)
    except ValueError:  # such as a bracket that is not closed
        raise NotASchema from None
    return base, fragment


def _join(base: str, address: str) -> str:
    """Return an address resolved against ``base``."""
    try:
        return urljoin(base, address)
    except ValueError:
        raise NotASchema from None


def _note_anchors(schema: Object, resource: Resource) -> None:
    if resource.dialect >= Dialect.DRAFT_2019:
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = schema.get(keyword)
            if isinstance(name, str):
                resource.anchors.setdefault(name, schema)
                if keyword == "$dynamicAnchor":
                    resource.dynamic.setdefault(name, schema)
        return
    value = schema.get("id" if resource.dialect is Dialect.DRAFT_4 else "$id")
    if isinstance(value, str) and "#" in value:
        resource.anchors.setdefault(value.partition("#")[2], schema)


class Node(NamedTuple):
    """A schema and the resources it was reached through, outermost first."""

    schema: Schema
    path: tuple[Resource, ...]

    @property
    def dialect(self) -> Dialect:
        return self.path[-1].dialect

    @property
    def keywords(self) -> Object:
        """Return the keywords of the schema; none for a boolean."""
        return self.schema if isinstance(self.schema, dict) else {}

    def below(self, schema: JSON) -> Node:
        """Return the node of a schema inside this one."""
        if isinstance(schema, bool):
            return Node(schema, self.path)
        found = as_object(schema)
        if "$id" in found or "id" in found:
            resource = self.path[-1]
            address = own_address(found, resource.dialect)
            if address is not None and found is not resource.root:
                return Node(found, _extend(self.path, resource.index.owned(found, resource, address)))
        return Node(found, self.path)

    def resolve(self, reference: str) -> Node:
        """Return the target of a ``$ref``.

        Raises:
            Unsatisfiable: the target is outside the document, or missing.
            NotASchema: the target is no schema.
        """
        here = self.path[-1]
        base, fragment = _split(reference)
        if base:
            found = here.index.find(_split(_join(here.base, base))[0])
            if found is None:
                raise Unsatisfiable(f"$ref {reference!r} points outside the schema, and nothing is fetched")
            here = found
        target = Node(here.root, _extend(self.path, here))
        if not fragment:
            return target
        return _follow(target, reference, unquote(fragment))

    def resolve_dynamic(self, reference: str) -> Node:
        """Return the target of a ``$dynamicRef``: the outermost schema with the same dynamic anchor."""
        target = self.resolve(reference)
        name = _split(reference)[1]
        if target.path[-1].dynamic.get(name) is not target.schema:
            return target
        for position, resource in enumerate(self.path):
            if name in resource.dynamic:
                return Node(resource.dynamic[name], _extend(self.path, self.path[position]))
        return target

    def resolve_recursive(self, reference: str) -> Node:
        """Return the target of a ``$recursiveRef``: the outermost root with ``$recursiveAnchor``."""
        target = self.resolve(reference)
        if not target.path[-1].recursive:
            return target
        for resource in self.path:
            if resource.recursive:
                return Node(resource.root, _extend(self.path, resource))
        return target


def _extend(path: tuple[Resource, ...], resource: Resource) -> tuple[Resource, ...]:
    """Return the path with ``resource`` innermost, shortened: dynamic references use only the first visit of each."""
    if path[-1] is resource:
        return path
    if path.count(resource) > 1:
        last = len(path) - 1 - path[::-1].index(resource)
        path = path[:last] + path[last + 1 :]
    return (*path, resource)


def _follow(target: Node, reference: str, fragment: str) -> Node:
    if not fragment.startswith("/"):
        resource = target.path[-1]
        resource.index.walk()
        if fragment not in resource.anchors:
            raise Unsatisfiable(f"$ref {reference!r} points to nothing in the schema")
        return Node(resource.anchors[fragment], target.path)
    found: JSON = target.schema
    for token in fragment[1:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and _INDEX.fullmatch(name) and parse_integer(name) < len(found):
            found = found[int(name)]
        else:
            raise Unsatisfiable(f"$ref {reference!r} points to nothing in the schema")
        if isinstance(found, dict):
            target = target.below(found)  # in the resource of its own ``$id``
    return Node(target.path[-1].index.inspect(found), target.path)


def root_node(schema: JSON) -> Node:
    """Return the whole document as a node.

    Raises:
        NotASchema: the document is no schema.
    """
    index = ResourceIndex(schema)
    return Node(index.first.root, (index.first,))
