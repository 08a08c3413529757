"""Parse YAML 1.2 into JSON values, each with its position in the file.

``load.py`` reads every scenario file by it.
"""

import json
import re
from bisect import bisect_right
from dataclasses import field
from functools import cache

import yaml
from yaml import MappingNode, MarkedYAMLError, Node, SafeLoader, ScalarNode

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.scenario.codes import UNREADABLE
from emulator.scenario.errors import Diagnostic
from emulator.scenario.locations import KeyPath, Location
from emulator.scenario.source import Document

_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ODD = re.compile(rf"\\u[dD][89abAB][0-9a-fA-F]{{2}}(?:{_LOW})?|{_LOW}|\\.|[\x7f-\x9f\ufffe\uffff]", re.DOTALL)
_ANY = re.compile(r"\\u[dD][89a-fA-F]|[\x7f-\x9f\ufffe\uffff]")
_PAIR = 12  # characters of an escaped surrogate pair


class LoneSurrogateError(ValueError):
    """String with half of a surrogate pair; ``line`` and ``column`` count from 1."""

    def __init__(self, found: re.Match[str]) -> None:
        super().__init__(f"{found[0]} is half of a surrogate pair, and no character by itself")
        self.line = found.string.count("\n", 0, found.start()) + 1
        self.column = found.start() - found.string.rfind("\n", 0, found.start())


@fast_dataclass(slots=True)
class Source:
    """Source text with JSON escapes rewritten for YAML, and the shifts of its columns.

    Fields:
        places: indexes in ``text`` after each rewritten part.
        shifts: number of characters by which the text before each place became shorter.
    """

    text: str
    places: list[int] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)

    def find_column(self, index: int, column: int) -> int:
        """Return the original column of a position; both count from 0."""
        return column + self._shift(index) - self._shift(index - column) if self.places else column

    def _shift(self, index: int) -> int:
        before = bisect_right(self.places, index)
        return self.shifts[before - 1] if before else 0


def make_readable(text: str) -> Source:
    """Rewrite JSON escapes that YAML does not accept; a text that is no JSON is unchanged.

    Raises:
        LoneSurrogateError: a string has half of a surrogate pair.
        RecursionError: the document is nested too deeply.
    """
    if not _ANY.search(text) or not _is_json(text):
        return Source(text)
    parts: list[str] = []
    source = Source("")
    start = length = 0
    for found in _ODD.finditer(text):
        escape = _format_escape(found)
        if escape != found[0]:
            parts += text[start : found.start()], escape
            length += len(parts[-2]) + len(escape)
            start = found.end()
            source.places.append(length)
            source.shifts.append(start - length)
    source.text = "".join([*parts, text[start:]])
    return source


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _format_escape(found: re.Match[str]) -> str:
    """Format an escape or a character for YAML."""
    odd = found[0]
    if len(odd) == _PAIR:
        high, low = int(odd[2:6], 16), int(odd[8:], 16)
        return f"\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08X}"
    if odd[0] != "\\":
        return f"\\u{ord(odd):04X}"
    if odd[1] == "u" and len(odd) > 2:
        raise LoneSurrogateError(found)
    return odd


_TAG = "tag:yaml.org,2002:"
_MAX_NODES = 50_000  # of a document, aliases expanded
_MAX_TEXT = 8 * 1024**2  # characters of all strings, aliases expanded
_MAX_DIGITS = 4300  # of a number; the limit of Python's int()
_MAX_DEPTH = 200  # nested mappings and lists; the JSON encoder takes no more
_TOO_LARGE = f"more than {_MAX_NODES:,} values or {_MAX_TEXT // 1024**2} Mi characters once aliases are written out"
_TOO_DEEP = "nested too deeply"
_NO_CHARACTER = "found invalid Unicode character escape code"

# The core schema of YAML 1.2.2, section 10.3.2: `no` and `on` are strings, `0o17` is octal.
_SCALARS = (
    ("null", re.compile(r"(~|null|Null|NULL|)$"), [*"~nN", ""]),
    ("bool", re.compile(r"(true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")),
    (
        "float",
        re.compile(r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"),
        list("-+.0123456789"),
    ),
)


def parse_document(text: str | bytes, file: str) -> Document:
    """Parse one YAML document; invalid YAML gives one diagnostic and neither data nor positions."""
    document = Document()
    try:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        text = data.decode("utf-8-sig")
        _check_length(text, file)
        source = make_readable(text)
        _check_size(source.text, file)
        root = yaml.compose(source.text, Loader=_loader())
        document.locations.values[()] = Location(file, 1, 1, ())
        if root is not None:
            document.data = _NodeReader(file, document, source).read(root, ())
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        document.rows.append(Diagnostic(file, line, 1, "", "not UTF-8", code=UNREADABLE))
    except LoneSurrogateError as error:
        document.rows.append(Diagnostic(file, error.line, error.column, "", str(error), code=UNREADABLE))
    except yaml.MarkedYAMLError as error:
        document.rows.append(_syntax_row(file, error))
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        document.rows.append(Diagnostic(file, 1, 1, "", f"not YAML: {reason}", code=UNREADABLE))
    except RecursionError:
        document = Document()
        document.rows.append(Diagnostic(file, 1, 1, "", _TOO_DEEP, code=UNREADABLE))
    except _TooLargeError as error:
        document = Document()
        document.rows.append(Diagnostic.at(error.location, _TOO_LARGE))
    return document


def _check_length(text: str, file: str) -> None:
    """Raise if the text is too long to scan."""
    if len(text) > _MAX_TEXT:
        raise _TooLargeError(Location(file, 1, 1, ()))


def _check_size(text: str, file: str) -> None:
    """Raise for a text that would overflow the stack of the C parser or keep it busy for long.

    Texts with few structural characters cannot, and are not checked.
    """
    if sum(map(text.count, "[{-:?")) < _MAX_DEPTH:
        return
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_loader())):
        if number > 2 * _MAX_NODES:  # a list has two events
            mark = event.start_mark
            raise _TooLargeError(Location(file, *((mark.line + 1, mark.column + 1) if mark else (1, 1)), ()))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise RecursionError


def _syntax_row(file: str, error: MarkedYAMLError) -> Diagnostic:
    if "nesting depth" in (error.problem or ""):  # PyYAML has a bound of its own since 6.0.4
        return Diagnostic(file, 1, 1, "", _TOO_DEEP, code=UNREADABLE)
    mark = error.problem_mark or error.context_mark
    reason = " ".join(part for part in (error.problem, error.context) if part)
    if error.problem == _NO_CHARACTER:
        reason = r"an escape that is no character; YAML writes a pair such as \ud83d\ude00 as \U0001F600"
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Diagnostic(file, line, column, "", f"not YAML: {reason}", code=UNREADABLE)


@cache
def _loader() -> type[SafeLoader]:
    """Return PyYAML's loader, the C one if available, with the scalars of YAML 1.2."""
    base: type[SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = type("Loader", (base,), {"yaml_implicit_resolvers": {}})
    for name, pattern, first in _SCALARS:
        loader.add_implicit_resolver(_TAG + name, pattern, first)  # type: ignore[attr-defined]  # of the class created above
    return loader


class _TooLargeError(Exception):
    def __init__(self, location: Location) -> None:
        self.location = location


class _NodeReader:
    """Converter of YAML nodes to JSON values, which records positions and diagnostics."""

    def __init__(self, file: str, document: Document, source: Source) -> None:
        self._file = file
        self._source = source
        self._rows = document.rows
        self._locations = document.locations
        self._open: set[int] = set()
        self._nodes = self._length = 0

    def read(self, node: Node, path: KeyPath) -> JSON:
        self._locations.values[path] = self._locate(node, path)
        self._nodes += 1
        if isinstance(node, ScalarNode):
            self._length += len(node.value)
        if self._nodes > _MAX_NODES or self._length > _MAX_TEXT:
            raise _TooLargeError(self._locate(node, path))
        if isinstance(node, ScalarNode):
            return self._read_scalar(node, path)
        if id(node) in self._open:
            return self._refuse(node, path, "an alias inside what it stands for")
        if node.tag not in (_TAG + "map", _TAG + "seq"):
            return self._refuse(node, path, f"unknown tag {node.tag}")
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._read_mapping(node, path)
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _read_mapping(self, node: MappingNode, path: KeyPath) -> Object:
        values: Object = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._refuse(key_node, path, "expected a key that is a string")
                continue
            key = key_node.value
            here = (*path, key)
            if key in values:
                first = self._locations.keys[here].line
                self._refuse(key_node, here, f"duplicate key, first on line {first}")
                continue
            self._locations.keys[here] = self._locate(key_node, here)
            values[key] = self.read(value_node, here)
        return values

    def _read_scalar(self, node: ScalarNode, path: KeyPath) -> JSON:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        try:
            if kind == "str":
                return text
            if kind == "null":
                return None
            if kind == "bool":
                return {"true": True, "false": False}[text.lower()]
            if kind in ("int", "float") and len(text) > _MAX_DIGITS:
                return self._refuse(node, path, f"a number of more than {_MAX_DIGITS} digits")
            if kind == "int":
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            if kind == "float":
                return self._read_float(node, path)
        except (ValueError, KeyError):
            return self._refuse(node, path, f"not a value of type {kind}")
        return self._refuse(node, path, f"unknown tag {node.tag}")

    def _read_float(self, node: ScalarNode, path: KeyPath) -> JSON:
        if "n" in node.value.lower():
            return self._refuse(node, path, "infinity and NaN are no JSON numbers")
        value = float(node.value)
        if value in (float("inf"), float("-inf")):
            return self._refuse(node, path, "number too large")
        return value

    def _locate(self, node: Node, path: KeyPath) -> Location:
        mark = node.start_mark
        return Location(self._file, mark.line + 1, self._source.find_column(mark.index, mark.column) + 1, path)

    def _refuse(self, node: Node, path: KeyPath, message: str) -> JSON:
        """Record a diagnostic and return null in place of the value."""
        self._rows.append(Diagnostic.at(self._locate(node, path), message))
        return None
