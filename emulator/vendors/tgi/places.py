"""Where in a body a value stands that does not fit, as serde_json counts lines and columns.

Source: serde_json 1, ``src/read.rs`` and ``src/de.rs`` (position, fix_position).
"""

import json
import re
from collections.abc import Sequence

Path = tuple[str | int, ...]

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_SPACE = re.compile(rb"[\s,:]*")
_BLANK = re.compile(rb"\s*")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
_WHOLE = re.compile(rb'true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|".*"', re.DOTALL)
_FAR = 2**16  # what is wrong after so many bytes is told without its field
_AT = re.compile(r" at line (\d+) column (\d+)$")


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


def find_open(body: bytes, error: str) -> Path:
    """Which value the parser had begun when it met what is no JSON, by the words of the error."""
    match = _AT.search(error)
    if match is None:
        return ()
    line, column = int(match[1]), int(match[2])
    rows = body[:_FAR].split(b"\n", line - 1)
    read = sum(map(len, rows[: line - 1])) + line - 1 + column
    if len(rows) < line or read > _FAR:
        return ()
    read += error.startswith("EOF") and "string" not in error
    path: list[str | int | None] = []  # a list's index; an object's key, None before its next one
    before = b""
    for token in _TOKEN.finditer(body, 0, min(len(body), _FAR)):
        if token.end() >= read:
            break
        text = token[0]
        if text[:1] == b'"' and before in (b"{", b",") and path and path[-1] is None:
            path[-1] = _read_key(text)
        else:
            _take(text, path)
        before = text
    return tuple([step for step in path if step is not None])


def _read_key(text: bytes) -> str | None:
    """A key; ``None`` if it is what is wrong."""
    try:
        return str(json.loads(text))
    except ValueError:
        return None


def _take(text: bytes, path: list[str | int | None]) -> None:
    """One token that is no key."""
    if text in (b"{", b"["):
        path.append(None if text == b"{" else 0)
        return
    if text in (b"}", b"]"):
        del path[-1:]
    elif not _WHOLE.fullmatch(text):
        return
    if path:  # a value is read
        last = path[-1]
        path[-1] = last + 1 if isinstance(last, int) else None


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
