"""Diagnostics of scenario files, and their messages from pydantic's errors, with the nearest valid name for a typo."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_object, as_text, dump_text
from emulator.core.redaction.names import is_secret_name
from emulator.core.text import escape
from emulator.scenario import codes
from emulator.scenario.locations import KeyPath, Location, Locations, format_path, look_up

_MEANT: Mapping[str, str] = {
    # vendors
    "azure": "aoai az azure-openai",
    "databricks": "db dbx mlflow",
    "mindie": "ascend huawei mindie-service",
    "openvino": "ov ovms",
    "tgi": "hf huggingface text-generation-inference",
    # facets
    "deployment name": "model",
    "endpoint": "path route url",
    "header.<name>": "headers",
    "principal": "client tenant user",
    "prompt_tokens": "tokens",
    "query.<name>": "params",
    "stream": "streaming",
    "token": "api_key",
    "token principal": "key",
    "tools": "tool",
    # which calls
    "first nth": "n",
    "first times amount": "count",
    "for repeat window": "duration",
    "probability times": "chance",
    "repeat window times": "for",
    "times": "retries retry after between every first nth probability repeat",
    "when": "match endpoint principal prompt stream task vendor",
    # outcomes; many keys belong one level deeper
    "error": "status body kind retry_after",
    "latency": "itl prefill ttft",
    "latency for ttft": "delay",
    "reply": "response finish_reason json refusal text tool_calls usage",
    "reply text": "answer",
    "text": "message",
    "text prompt": "content",
    # error kinds and faults
    "disconnect": "reset",
    "drip": "slow",
    "forbidden": "403",
    "garbage": "invalid_json malformed",
    "hang": "timeout",
    "internal": "500 502 internal_error internal_server_error server_error",
    "invalid_parameter": "422",
    "invalid_request": "400 bad_request",
    "late_error": "error",
    "method_not_allowed": "405",
    "not_found": "404",
    "overloaded": "503 service_unavailable unavailable",
    "payload_too_large": "413",
    "rate_limited": "429 throttled too_many_requests",
    "timeout": "408 504",
    "unauthenticated": "401 unauthorized",
    # latency and limits
    "amount": "limit",
    "itl": "per_token tpot",
    "mean": "average",
    "median mean": "p50",
    "requests": "rpm",
    "stddev": "std",
    "tokens": "tpm",
    "window every": "period",
}
"""Words that authors write for a name, by that name; of several names the first one valid at the place is suggested."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    word: tuple(names.split()) for names, words in _MEANT.items() for word in words.split()
}


@fast_dataclass(frozen=True, slots=True)
class Diagnostic:
    """Error or warning at a position. ``line`` and ``column`` count from 1; 0 without a source text."""

    file: str
    line: int
    column: int
    path: str
    message: str
    suggestion: str | None = None
    code: str = codes.WRONG_VALUE

    @classmethod
    def at(cls, location: Location, message: str, code: str = codes.WRONG_VALUE) -> Self:
        return cls(location.file, location.line, location.column, format_path(location.path), message, code=code)

    @property
    def severity(self) -> codes.Severity:
        return codes.find_severity(self.code)

    def __str__(self) -> str:
        """Format as one line; control characters are escaped."""
        location = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        return escape(": ".join(part for part in (location, self.path, self.message) if part) + hint)

    def as_json(self) -> Object:
        return asdict(self)


def sort_diagnostics(rows: Iterable[Diagnostic], files: Sequence[str] = ()) -> list[Diagnostic]:
    """Sort diagnostics by file, in the order of ``files``, and position."""
    return sorted(rows, key=lambda row: locate_diagnostic(row, files))


def locate_diagnostic(row: Diagnostic, files: Sequence[str]) -> tuple[int, int, int]:
    """Return the sort key of a diagnostic."""
    return files.index(row.file) if row.file in files else -1, row.line, row.column


@fast_dataclass(frozen=True, slots=True)
class Mistake:
    """Validation error in terms of the scenario language.

    Fields:
        at_key: the key is wrong, not its value.
        is_count: a list is too short; dropped if there are errors inside the list.
    """

    path: KeyPath
    message: str
    suggestion: str | None = None
    at_key: bool = False
    is_count: bool = False
    code: str = codes.WRONG_VALUE

    def locate(self, locations: Locations, name: str) -> Diagnostic:
        """Build the diagnostic; ``name`` replaces the file name for a scenario without positions."""
        key, value = locations.keys.get(self.path), locations.values.get(self.path)
        location = (key if self.at_key else None) or locations.find(self.path)
        if location is None:
            return Diagnostic(name, 0, 0, format_path(self.path), self.message, self.suggestion, self.code)
        written = value or key
        path = format_path(written.path if written else (*location.path, *self.path[len(location.path) :]))
        found = (location.file, location.line, location.column)
        return Diagnostic(*found, path, self.message, self.suggestion, self.code)


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

_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")
_WRITTEN_OUT: Mapping[str | int, str] = {
    "reply": "{{text: {}}}",
    "error": "{{kind: {}}}",
    "when": "{{prompt: {}}}",
    "replay": "{{from: {}}}",
}
"""How a mapping is written of which an author gave the usual key's value alone."""


def explain_errors(error: ValidationError, data: JSON, schema: Object) -> list[Mistake]:
    """Convert a pydantic error to mistakes, one for each path.

    Args:
        data: the invalid value.
        schema: JSON Schema of ``data``, from which the valid keys are read.
    """
    mistakes: dict[tuple[KeyPath, bool], Mistake] = {}
    for detail in error.errors(include_url=False):
        mistake = _explain_error(detail, data, schema)
        mistakes.setdefault((mistake.path, mistake.at_key), mistake)
    inner = {path[:length] for path, _ in mistakes for length in range(len(path))}
    return [found for found in mistakes.values() if not (found.is_count and found.path in inner)]


def _explain_error(error: ErrorDetails, data: JSON, schema: Object) -> Mistake:
    kind, context, loc = error["type"], error.get("ctx", {}), error["loc"]
    path = _find_path(loc, data)
    if kind == "missing":
        return _explain_missing(path, str(loc[-1]), error["input"])
    if kind == "extra_forbidden":
        return _explain_unknown(path, data, schema)
    if kind.startswith("union_tag"):
        return _explain_tag(kind, context, path)
    if loc and loc[-1] == "[key]":
        wanted = f"expected a name that matches {context['pattern']}" if "pattern" in context else error["msg"]
        return Mistake(path, wanted, at_key=True)
    if kind == "rule":
        return Mistake(path, error["msg"])
    if kind == "value_error":
        return Mistake(path, str(context["error"]))
    if (
        kind in _MAPPINGS
        and isinstance(error["input"], str)
        and (example := _WRITTEN_OUT.get(path[-1] if path else ""))
    ):
        text = f"expected a mapping, such as {example.format(_show(error['input']))}, got a string"
        return Mistake(path, text)
    wanted = f"expected {_WANTED[kind].format(**context)}" if kind in _WANTED else error["msg"]
    known = re.findall(r"'([^']*)'", context.get("expected", ""))
    suggestion = find_nearest_name(error["input"], known) if isinstance(error["input"], str) else None
    got = _name_kind(error["input"]) if _holds_secret(path) else _show(error["input"])
    return Mistake(path, f"{wanted.replace(chr(39), '')}, got {got}", suggestion, is_count=kind == "too_short")


def _holds_secret(path: KeyPath) -> bool:
    """Return whether the value at a path may be a credential, which no message repeats."""
    if path[:1] == ("keys",):
        return path[-1] != "principal"
    return any(isinstance(key, str) and key != "pass" and is_secret_name("variable", key) for key in path)


def _name_kind(value: object) -> str:
    """Name the type of a value instead of showing it."""
    if isinstance(value, str) and value:
        return "a string"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "a number" if is_number else _show(value)


def _explain_missing(path: KeyPath, key: str, around: object) -> Mistake:
    """Explain a missing key; that of an error's kind is suggested by its status."""
    status = around.get("status") if isinstance(around, dict) and key == "kind" else None
    meant = ALIASES.get(str(status), ())
    return Mistake((*path, key), "missing key", f"{key}: {meant[0]}" if meant else None, code=codes.MISSING_KEY)


def _explain_unknown(path: KeyPath, data: JSON, schema: Object) -> Mistake:
    """Explain an unknown key: where it belongs, with the nearest valid one, or else with all of them."""
    if path[-1] == "<<":
        text = "unknown key; YAML 1.2 has no merge keys: an alias stands for a whole value, so write these keys out"
        return Mistake(path, text, at_key=True, code=codes.UNKNOWN_KEY)
    known = _known_keys(path[:-1], data, schema)
    name = str(path[-1])[:_MAX_NAME]
    is_misspelt = _find_alias(name, known) or get_close_matches(name, known, n=1, cutoff=0.8)
    home = None if is_misspelt else _find_home(path, data, schema)
    if home is not None:
        return Mistake(path, f"unknown key; {home}", at_key=True, code=codes.UNKNOWN_KEY)
    suggestion = find_nearest_name(str(path[-1]), known)
    there_are = "" if suggestion or not known else f"; there are {', '.join(sorted(known))}"
    return Mistake(path, f"unknown key{there_are}", suggestion, at_key=True, code=codes.UNKNOWN_KEY)


def _find_home(path: KeyPath, data: JSON, schema: Object) -> str | None:
    """Say that a key, or the one that contains it, belongs beside one of the keys around it, the innermost first."""
    name = str(path[-1])
    for length in range(len(path) - 2, -1, -1):
        around = _known_keys(path[:length], data, schema) if isinstance(path[length], str) else set()
        beside = f"beside {path[length]}"
        if name in around:
            return f"{name} belongs {beside}"
        if (container := _find_alias(name, around)) is not None:
            return f"{name} belongs in {container}, {beside}" if container != path[length] else None
    return None


def _find_alias(name: str, known: Collection[str]) -> str | None:
    return next((word for word in ALIASES.get(name.lower(), ()) if word in known), None)


_MAX_NAME = 200  # characters; comparing two names takes time in the product of their lengths


def find_nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to ``name``, or ``None``; an alias wins. Names of over 200 characters have none."""
    if len(name) > _MAX_NAME:
        return None
    names = list(known)
    return _find_alias(name, names) or next(iter(get_close_matches(name, names, n=1, cutoff=0.6)), None)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known name that was probably meant, or nothing."""
    close = find_nearest_name(name, known)
    return f"; did you mean {close}?" if close else ""


def _explain_tag(kind: str, context: Mapping[str, JSON], path: KeyPath) -> Mistake:
    key = str(context["discriminator"]).strip("'")
    if kind == "union_tag_not_found":
        return Mistake((*path, key), "missing key", code=codes.MISSING_KEY)
    known = re.findall(r"'([^']*)'", as_text(context["expected_tags"]))
    tag = str(context["tag"])
    return Mistake(
        (*path, key), f"unknown {key}, expected {', '.join(known)}, got {tag}", find_nearest_name(tag, known)
    )


def _find_path(loc: Sequence[str | int], data: JSON) -> KeyPath:
    """Return the location of a validation error as a path in the data, without the tags of unions."""
    path: list[str | int] = []
    prefix = ""
    for part in loc:
        if isinstance(part, str) and part.endswith(".*"):
            prefix = part[:-1]  # the facets `header.<name>` are validated together
            continue
        name = prefix + part if isinstance(part, str) else part
        try:
            data = look_up(data, (name,))
        except LookupError:
            continue
        path.append(name)
        prefix = ""
    return tuple(path)


def _known_keys(path: KeyPath, data: JSON, schema: Object) -> set[str]:
    """Return the valid keys of the mapping at a path."""
    definitions = as_object(schema.get("$defs", {}))
    options = list(_expand(schema, data, definitions))
    for part in path:
        data = look_up(data, (part,))
        members = [member for option in options if (member := _member(option, part)) is not None]
        options = [found for member in members for found in _expand(member, data, definitions)]
    return {name for option in options for name in (*_properties(option), *_name_patterns(option))}


def _name_patterns(schema: Object) -> Iterator[str]:
    """Yield ``header.<name>`` and the like for each ``patternProperties``."""
    for pattern in as_object(schema.get("patternProperties", {})):
        if found := re.match(r"\^(\w+)\\\.", pattern):
            yield f"{found[1]}.<{'path' if found[1] == 'body' else 'name'}>"


def _properties(schema: Object) -> Object:
    return as_object(schema.get("properties", {}))


def _member(schema: Object, part: str | int) -> Object | None:
    """Return the schema of an item, or of a key's value."""
    if isinstance(part, int):
        return as_object(schema["items"]) if "items" in schema else None
    if part in _properties(schema):
        return as_object(_properties(schema)[part])
    for pattern, member in as_object(schema.get("patternProperties", {})).items():
        if re.search(pattern, part):
            return as_object(member)
    rest = schema.get("additionalProperties")
    return rest if isinstance(rest, dict) else None


def _expand(schema: Object, data: JSON, definitions: Object) -> Iterator[Object]:
    """Yield the schemas behind references and unions, but for union members of another ``type`` than the data."""
    if "$ref" in schema:
        name = as_text(schema["$ref"]).rsplit("/", 1)[-1]
        yield from _expand(as_object(definitions[name]), data, definitions)
        return
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        for option in as_array(options):
            yield from _expand(as_object(option), data, definitions)
        return
    kind = as_object(_properties(schema).get("type", {})).get("const")
    if kind is None or not isinstance(data, dict) or data.get("type", kind) == kind:
        yield schema


def _show(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, str | int | float):
        text = dump_text(value)
        return text if len(text) <= 60 else text[:57] + "…"
    return "null"
