"""What an author wrote wrong: rows with a place and a suggestion, all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from emulator.core.json import JSON, dump_text

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from emulator.scenario.load import LoadedScenario

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One mistake. ``line`` and ``column`` count from 1; 0 where there is no text."""

    file: str
    line: int
    column: int
    path: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        return ": ".join(part for part in (place, self.path, self.message) if part) + hint

    def as_json(self) -> Mapping[str, JSON]:
        return asdict(self)


class ScenarioError(Exception):
    """A scenario that cannot be loaded; its text has one line per row.

    ``parts``: what can be read of it all the same, so that others can add what they find wrong with theirs.
    """

    def __init__(self, rows: Iterable[Row], parts: Iterable[LoadedScenario] = ()) -> None:
        self.rows = tuple(rows)
        self.parts = tuple(parts)
        super().__init__("\n".join(map(str, self.rows)))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value or key stands, and its path in that file."""

    file: str
    line: int
    column: int
    path: KeyPath

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def row(self, message: str, suggestion: str | None = None, path: KeyPath | None = None) -> Row:
        written = format_path(self.path if path is None else path)
        return Row(self.file, self.line, self.column, written, message, suggestion)


def format_path(path: KeyPath) -> str:
    """``("rules", 1, "error")`` → ``rules[1].error``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One validation error in the author's terms.

    Fields:
        at_key: it is the key that is wrong.
        is_count: a list is too short, for which wrong items are reason enough.
    """

    path: KeyPath
    message: str
    suggestion: str | None = None
    at_key: bool = False
    is_count: bool = False


_WANTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "string_too_short": "a string that is not empty",
    "string_pattern_mismatch": "a string that matches {pattern}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def explain_errors(error: ValidationError, data: JSON, schema: JSON) -> list[Mistake]:
    """What is wrong with ``data``, in the author's terms, one mistake for each place.

    Args:
        schema: JSON Schema of what ``data`` should be; knows which keys there are.
    """
    mistakes: dict[tuple[KeyPath, bool], Mistake] = {}
    for detail in error.errors(include_url=False):
        mistake = _explain_error(detail, data, schema)
        mistakes.setdefault((mistake.path, mistake.at_key), mistake)
    inner = {path[:length] for path, _ in mistakes for length in range(len(path))}
    return [found for found in mistakes.values() if not (found.is_count and found.path in inner)]


def _explain_error(error: ErrorDetails, data: JSON, schema: JSON) -> Mistake:
    kind, context, loc = error["type"], error.get("ctx", {}), error["loc"]
    path = _find_path(loc, data)
    if kind == "missing":
        return Mistake((*path, str(loc[-1])), "missing key")
    if kind == "extra_forbidden":
        return Mistake(path, "unknown key", nearest(str(path[-1]), _known_keys(path[:-1], data, schema)), at_key=True)
    if kind.startswith("union_tag"):
        return _explain_tag(kind, context, path)
    if loc and loc[-1] == "[key]":
        wanted = f"expected a name that matches {context['pattern']}" if "pattern" in context else error["msg"]
        return Mistake(path, wanted, at_key=True)
    if kind == "rule":
        return Mistake(path, error["msg"])
    if kind == "value_error":
        return Mistake(path, str(context["error"]))
    wanted = f"expected {_WANTED[kind].format(**context)}" if kind in _WANTED else error["msg"]
    known = re.findall(r"'([^']*)'", context.get("expected", ""))
    suggestion = nearest(error["input"], known) if isinstance(error["input"], str) else None
    return Mistake(
        path, f"{wanted.replace(chr(39), '')}, got {_show(error['input'])}", suggestion, is_count=kind == "too_short"
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` is probably meant to be."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), None)


def _explain_tag(kind: str, context: Mapping[str, JSON], path: KeyPath) -> Mistake:
    key = str(context["discriminator"]).strip("'")
    if kind == "union_tag_not_found":
        return Mistake((*path, key), "missing key")
    known = re.findall(r"'([^']*)'", context["expected_tags"])
    tag = str(context["tag"])
    return Mistake((*path, key), f"unknown {key}, expected {', '.join(known)}, got {tag}", nearest(tag, known))


def _find_path(loc: Sequence[str | int], data: JSON) -> KeyPath:
    """The part of a validation error's location that is in the data, without the names of union members."""
    path: list[str | int] = []
    prefix = ""
    for part in loc:
        if isinstance(part, str) and part.endswith(".*"):
            prefix = part[:-1]  # the facets `header.<name>` are validated together
            continue
        name = prefix + part if isinstance(part, str) else part
        known = isinstance(data, dict) and name in data
        if known or (isinstance(data, list) and isinstance(name, int) and name < len(data)):
            path.append(name)
            data = data[name]
            prefix = ""
    return tuple(path)


def _known_keys(path: KeyPath, data: JSON, schema: JSON) -> set[str]:
    """Keys that a mapping may have."""
    definitions = schema.get("$defs", {})
    options = list(_expand(schema, data, definitions))
    for part in path:
        data = data[part]
        members = [member for option in options if (member := _member(option, part)) is not None]
        options = [found for member in members for found in _expand(member, data, definitions)]
    return {name for option in options for name in option.get("properties", {})}


def _member(schema: JSON, part: str | int) -> JSON:
    if isinstance(part, int):
        return schema.get("items")
    if part in schema.get("properties", {}):
        return schema["properties"][part]
    for pattern, member in schema.get("patternProperties", {}).items():
        if re.search(pattern, part):
            return member
    rest = schema.get("additionalProperties")
    return rest if isinstance(rest, dict) else None


def _expand(schema: JSON, data: JSON, definitions: JSON) -> Iterator[JSON]:
    """The plain schemas behind references and unions, save those of another ``type`` than the data's."""
    if "$ref" in schema:
        yield from _expand(definitions[schema["$ref"].rsplit("/", 1)[-1]], data, definitions)
        return
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        for option in options:
            yield from _expand(option, data, definitions)
        return
    kind = schema.get("properties", {}).get("type", {}).get("const")
    if kind is None or not isinstance(data, dict) or data.get("type", kind) == kind:
        yield schema


def _show(value: JSON) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, str | int | float):
        text = dump_text(value)
        return text if len(text) <= 60 else text[:57] + "…"
    return "null"
