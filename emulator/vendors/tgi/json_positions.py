"""What a body says beside its values: names that come twice, and where a value stands, as serde_json counts.

Source: serde_json 1, ``src/read.rs`` and ``src/de.rs`` (position, fix_position).
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, dump_json

Path = tuple[str | int, ...]

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(rb"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_SPACE = re.compile(rb"[\s,:]*")
_BLANKS = b" \t\r\n"
_BLANK = re.compile(rb"\s*")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
_WHOLE = re.compile(_SCALAR.pattern + rb'|".*"', re.DOTALL)
_FAR = 2**16  # what is wrong after so many bytes is told without its field
_AT = re.compile(r" at line (\d+) column (\d+)$")


class Repeating(dict[str, JSON]):
    """An object with members of the same name; the last of each is the one to be looked up."""

    def __init__(self, pairs: list[tuple[str, JSON]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def keep_repeated(body: JSON, raw: bytes) -> JSON:
    """The body, its objects :class:`Repeating` where a name comes twice."""
    with suppress(ValueError):  # it is nested deeper than can be written
        if dump_json(body).translate(None, _BLANKS) == raw.translate(None, _BLANKS):
            return body  # it comes out as it went in, as most do: cheaper to see than to read it again
    repeats = False

    def keep(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        nonlocal repeats
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        repeats = True
        return Repeating(pairs)

    try:
        whole: JSON = json.loads(raw, object_pairs_hook=keep)
    except RecursionError:
        return body
    return whole if repeats else body


def lead(path: Path) -> str:
    """The path of a value as it goes before an error; the whole body has none."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return f"{text}: " if path else ""


def place(body: bytes, path: Path, *, inside: bool, repeated: Sequence[str] = ()) -> str:
    """``line 1 column 11``: how far the parser had read.

    Args:
        path: of the value.
        inside: up to the end of the value; else to its start.
        repeated: up to where the member of the value that has these names came a second time.
    """
    start, end = _locate(body, path)
    offset = end if inside else start
    if repeated:
        offset = _find_second(body, start, repeated)
    line = body.count(b"\n", 0, offset) + 1
    column = offset - body.rfind(b"\n", 0, offset) - 1
    return f"line {line} column {column}"


def end_first(body: bytes) -> int:
    """Where the first document of several ends."""
    return _skip(body, _next(body, 0))


@fast_dataclass(frozen=True, slots=True)
class Begun:
    """What the parser had read of a body when it met what is no JSON.

    Fields:
        path: of the value it had begun.
        whole: the values before that, every list and object closed that was still open; empty if there are none.
        depth: how many were.
    """

    path: Path
    whole: bytes
    depth: int

    def is_open(self, path: Path) -> bool:
        """The list or object there was still open."""
        return len(path) < self.depth and path == self.path[: len(path)]


def find_begun(body: bytes, error: str) -> Begun:
    """How far the parser had come, by the words of the error, or how far one cares to look."""
    read = _find_error(body, error)
    path: list[str | int | None] = []  # a list's index; an object's key, None before its next one
    ends: list[int] = []  # of each that is open, where its last whole member ends
    closers: list[bytes] = []
    before = b""
    for token in _TOKEN.finditer(body, 0, min(len(body), _FAR)):
        text, end = token[0], token.end()
        if end >= read:
            text, end = body[token.start() : read - 1], read - 1
            if not error.startswith("expected `,`") or not _WHOLE.fullmatch(text):
                break
        if text[:1] == b'"' and before in (b"{", b",") and path and path[-1] is None:
            path[-1] = _read_key(text)
        elif text in (b"{", b"["):
            path.append(None if text == b"{" else 0)
            ends.append(end)
            closers.append(b"}" if text == b"{" else b"]")
        elif _ends_value(text, path):
            del ends[len(path) :], closers[len(path) :]
            ends[-1:] = [end] * bool(path)
        if end == read - 1:
            break
        before = text
    steps = tuple([step for step in path if step is not None])
    whole = body[: ends[-1]] + b"".join(reversed(closers)) if ends else b""
    return Begun(steps, whole, len(path))


def is_far(body: bytes, error: str) -> bool:
    """What is wrong is so far away that it is told without its field."""
    return _find_error(body, error) > _FAR


def _find_error(body: bytes, error: str) -> int:
    """How many bytes were read; more than are looked at, if it is not known."""
    match = _AT.search(error)
    if match is None:
        return _FAR + 1
    line, column = int(match[1]), int(match[2])
    rows = body[:_FAR].split(b"\n", line - 1)
    if len(rows) < line:
        return _FAR + 1
    read = sum(map(len, rows[: line - 1])) + line - 1 + column
    return read + (error.startswith("EOF") and "string" not in error)


def _read_key(text: bytes) -> str | None:
    """A key; ``None`` if it is what is wrong."""
    try:
        return str(json.loads(text))
    except ValueError:
        return None


def _ends_value(text: bytes, path: list[str | int | None]) -> bool:
    """Whether this token, which opens nothing and is no key, ends a value; the path is then that of the next one."""
    if text in (b"}", b"]"):
        del path[-1:]
    elif not _WHOLE.fullmatch(text):
        return False
    if path:
        last = path[-1]
        path[-1] = last + 1 if isinstance(last, int) else None
    return True


def _find_second(body: bytes, start: int, names: Sequence[str]) -> int:
    """Where the colon after the second member of these names stands, in the object that starts at ``start``."""
    position = _next(body, start + 1)
    seen = 0
    while position < len(body):
        end = _skip(body, position)
        seen += json.loads(body[position:end]) in names
        if seen == 2:
            blank = _BLANK.match(body, end)
            return blank.end() if blank else end
        position = _next(body, _skip(body, _next(body, end)))
    return position


def _locate(body: bytes, path: Path) -> tuple[int, int]:
    """Where a value of a valid document starts and ends."""
    start = _next(body, 0)
    for step in path:
        position = _next(body, start + 1)
        found = position
        index = 0
        while position < len(body) and body[position : position + 1] not in (b"}", b"]"):
            key: str | int = index
            if isinstance(step, str):
                end = _skip(body, position)
                key = json.loads(body[position:end])
                position = _next(body, end)
            if key == step:
                found = position
                break
            position = _next(body, _skip(body, position))
            index += 1
        start = found
    return start, _skip(body, start)


def _next(body: bytes, position: int) -> int:
    match = _SPACE.match(body, position)
    return match.end() if match else position


def _skip(body: bytes, position: int) -> int:
    """The end of the value that starts at ``position``."""
    opening = body[position : position + 1]
    if opening not in (b"{", b"["):
        match = (_STRING if opening == b'"' else _SCALAR).match(body, position)
        return match.end() if match else position
    depth = 0
    for match in _MARK.finditer(body, position):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(body)
