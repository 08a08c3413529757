"""Locate members and strings in the bytes of JSON, so that faults edit a part and leave all other bytes unchanged."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from pydantic_core import from_json

from emulator.core.dataclass import fast_dataclass
from emulator.core.faultable import Edit

KeyPath = tuple[str | int, ...]

_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,:{}\[\]"]+')
_NUMBERS = re.compile(rb"\[[-+0-9.eE,\s]*\]")  # a vector is one value
_BRACE = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]')  # or a whole string, as its braces do not count
_BLANK = re.compile(rb"\s*")
_FIELD = re.compile(rb"(?:\A|\n)data: ?(?=[{\[\"])")
_DONE = b"[DONE]"
_UNIT = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*"
)


@fast_dataclass(frozen=True, slots=True)
class Member:
    """Member of an object: the offsets of its key, its value and its end."""

    path: KeyPath
    start: int
    value: int
    end: int


@fast_dataclass(slots=True)
class Object:
    """Object with its offsets and its members in order."""

    start: int
    end: int = 0
    path: KeyPath = ()
    members: list[Member] = field(default_factory=list)


@fast_dataclass(frozen=True, slots=True)
class Text:
    """String value, and the offset in the JSON text where each of its characters ends.

    ``ends[0]`` is the offset where the first character begins.
    """

    value: str
    ends: Sequence[int]


def find_json(data: bytes) -> tuple[int, int] | None:
    """Return start and end of the JSON in an event or a body."""
    found = _FIELD.search(data)
    if found is not None:
        start = found.end()
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
    else:
        start = len(data) - len(data.lstrip())
        end = len(data.rstrip(b"\x00\r\n \t"))
        if data[start : start + 1] not in (b"{", b"["):
            return None
    return None if data[start:end].strip() == _DONE else (start, end)


def scan_objects(data: bytes) -> list[Object]:
    """Return every object in an event or a body, outer before inner; none if it is not JSON."""
    scanner = _scan(data)
    return [] if scanner is None else scanner.objects


def find_ends(data: bytes) -> list[tuple[int, bool]]:
    """Return the offset of each closing brace in an event or a body, and whether the object is empty."""
    place = find_json(data)
    if place is None:
        return []
    try:
        from_json(data[slice(*place)], cache_strings="none")
    except ValueError:  # nested too deeply for this parser, or no JSON
        return [(found.end - 1, not found.members) for found in scan_objects(data)]
    ends: list[tuple[int, bool]] = []
    opening = False
    for found in _BRACE.finditer(data, *place):
        if found[0] == b"}":
            ends.append((found.start(), opening))
        opening = found[0] == b"{"
    return ends


def _scan(data: bytes) -> "_Scanner | None":
    place = find_json(data)
    if place is None:
        return None
    scanner = _Scanner(data)
    try:
        scanner.read((), place[0])
    except (ValueError, RecursionError, IndexError):
        return None
    return scanner


class _Scanner:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.objects: list[Object] = []
        self.strings: list[tuple[KeyPath, int, int]] = []

    def read(self, path: KeyPath, at: int) -> int:
        """Read one value; return its end."""
        at = self._skip(at)
        opening = self._data[at]
        if opening == 0x7B:
            return self._read_object(path, at)
        if opening == 0x5B:
            vector = _NUMBERS.match(self._data, at)
            return vector.end() if vector else self._read_array(path, at)
        end = self._read_scalar(at)
        if opening == 0x22:
            self.strings.append((path, at + 1, end - 1))
        return end

    def _read_scalar(self, at: int) -> int:
        found = _SCALAR.match(self._data, at)
        if found is None:
            raise ValueError(at)
        return found.end()

    def _skip(self, at: int) -> int:
        found = _BLANK.match(self._data, at)
        return found.end() if found else at

    def _read_object(self, path: KeyPath, at: int) -> int:
        found = Object(at, path=path)
        self.objects.append(found)
        at = self._skip(at + 1)
        while self._data[at] != 0x7D:
            start = self._skip(at + 1) if found.members else at
            colon = self._read_scalar(start)
            inner = (*path, json.loads(self._data[start:colon]))
            value = self._skip(self._skip(colon) + 1)
            end = self.read(inner, value)
            found.members.append(Member(inner, start, value, end))
            at = self._skip(end)
        found.end = at + 1
        return found.end

    def _read_array(self, path: KeyPath, at: int) -> int:
        index = 0
        at = self._skip(at + 1)
        while self._data[at] != 0x5D:
            at = self._skip(self.read((*path, index), at + 1 if index else at))
            index += 1
        return at + 1


def find_members(data: bytes) -> Iterator[Member]:
    """Yield every member of every object."""
    for found in scan_objects(data):
        yield from found.members


def remove_members(data: bytes, unwanted: Callable[[Member], bool]) -> list[Edit]:
    """Return the edits that remove members, each with one comma."""
    edits: list[Edit] = []
    for found in scan_objects(data):
        kept = False
        for index, member in enumerate(found.members):
            if not unwanted(member):
                kept = True
            elif kept:
                edits.append((found.members[index - 1].end, member.end, b""))
            else:
                last = index + 1 == len(found.members)
                edits.append((member.start, member.end if last else found.members[index + 1].start, b""))
    return drop_inner(edits)


def drop_inner(edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits without those whose bytes lie inside another edit's."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept


def move_edits(edits: Sequence[Edit], by: int) -> list[Edit]:
    return [(start + by, end + by, new) for start, end, new in edits]


def find_texts(data: bytes, names: frozenset[str]) -> list[Text]:
    """Return the strings in members of these names, also within lists; text that is not JSON is one string."""
    scanner = _scan(data)
    if scanner is None:
        return [_read_string(0, data)]
    return [_read_string(start, data[start:end]) for path, start, end in scanner.strings if _name(path) in names]


def _name(path: KeyPath) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _read_string(start: int, raw: bytes) -> Text:
    """Decode a string at an offset; with invalid escapes, it is its own value."""
    value = raw.decode("utf-8", "replace")
    if b"\\" in raw:
        try:
            value = json.loads(f'"{value}"')
        except ValueError:
            return Text(value, [start, *(start + len(value[: n + 1].encode()) for n in range(len(value)))])
    if len(value) == len(raw):
        return Text(value, range(start, start + len(raw) + 1))
    return Text(value, [start, *(start + unit.end() for unit in _UNIT.finditer(raw))])
