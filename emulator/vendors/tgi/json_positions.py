"""Find repeated names and the positions of values in a body, counted as serde_json does, for its error texts.

Source: serde_json 1, ``src/read.rs`` and ``src/de.rs`` (position, fix_position).
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, dump_json
from emulator.core.text import parse_integer

Path = tuple[str | int, ...]

UNKNOWN = "?"
"""Step of a path in place of a key that could not be read."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BEGUN_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)  # an unclosed one, too
_SCALAR = re.compile(rb"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_SPACE = re.compile(rb"[\s,:]*")
_BLANKS = b" \t\r\n"
_BLANK = re.compile(rb"\s*")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
_WHOLE = re.compile(_SCALAR.pattern + rb'|".*"', re.DOTALL)
_LINE = b"\n"
_DEPTHS = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_MAX_DEPTH = 128  # of serde_json, ``src/de.rs`` (remaining_depth)
_FAR = 2**16  # bytes; for errors beyond, the message omits the field
_CONTROL = re.compile(rb"[\x00-\x1f]")
_AT = re.compile(r" at line (\d+) column (\d+)$")


class Repeating(dict[str, JSON]):
    """JSON object with repeated member names; a lookup returns the last value of a name."""

    def __init__(self, pairs: list[tuple[str, JSON]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def keep_repeated(body: JSON, raw: bytes) -> JSON:
    """Return the body as serde_json reads it: repeated names kept in :class:`Repeating`, ``-0`` as -0.0.

    Source: serde_json 1.0.140, ``src/de.rs:515-525`` (parse_number).
    """
    with suppress(ValueError):  # nested too deep to encode
        if dump_json(body).translate(None, _BLANKS) == raw.translate(None, _BLANKS):
            return body  # nearly all bodies re-encode to themselves: cheaper to compare than to parse again
    differs = False

    def keep(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        nonlocal differs
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        differs = True
        return Repeating(pairs)

    def read_integer(digits: str) -> int | float:
        nonlocal differs
        if digits != "-0":
            return parse_integer(digits)
        differs = True
        return -0.0

    try:
        whole: JSON = json.loads(raw, object_pairs_hook=keep, parse_int=read_integer)
    except RecursionError:
        return body
    return whole if differs else body


def format_prefix(path: Path) -> str:
    """Format a path as the prefix of an error message; empty for the whole body, and for a key of it."""
    if path == (UNKNOWN,):
        return ""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return f"{text}: " if path else ""


def format_position(
    body: bytes, path: Path, *, inside: bool, repeated: Sequence[str] = (), where: str = "", ahead: int = 0
) -> str:
    """Format how far the parser had read: `` at line 1 column 11``; empty if the error has no position.

    Args:
        path: path of the value.
        inside: up to the end of the value, else to its start.
        repeated: names of one field; up to where the value has a second member of these names.
        where: ``key``: up to the end of its first key. ``after``: the error has no position of its own, but that of the
            list or object around the value, whose end the parser looks for; the whole body has nothing around it.
        ahead: bytes further.
    """
    start, end = _locate(body, path)
    offset = (end if inside else start) + ahead
    if where == "key":
        offset = _skip(body, _next(body, start + 1))
    if repeated:
        offset = _find_second(body, start, repeated)
    elif where == "after":
        if not path:
            return ""
        offset = _look_for_end(body, end, in_list=isinstance(path[-1], int))
    return _format_offset(body, offset)


def _look_for_end(body: bytes, end: int, *, in_list: bool) -> int:
    """Return the offset behind a value's end, up to which the parser looks for the end of what is around it.

    Source: serde_json 1.0.140, ``src/de.rs`` (end_seq, end_map): a list takes a comma and the blanks behind it.
    """
    offset = _skip_blanks(body, end)
    mark = body[offset : offset + 1]
    if mark == (b"]" if in_list else b"}"):
        return offset + 1
    return _skip_blanks(body, offset + 1) if in_list and mark == b"," else offset


def _skip_blanks(body: bytes, offset: int) -> int:
    match = _BLANK.match(body, offset)
    return match.end() if match else offset


def find_too_deep(body: bytes) -> str:
    """Return where the first list or object inside 127 others begins, in the words of an error; empty without one."""
    if body.count(b"[") + body.count(b"{") < _MAX_DEPTH:
        return ""
    depth = 0
    for match in _MARK.finditer(body):
        depth += _DEPTHS.get(match[0], 0)
        if depth >= _MAX_DEPTH:
            return _format_offset(body, match.start() + 1)
    return ""


_CHARACTERS = ("invalid unicode code point", "unexpected end of hex escape", "lone leading surrogate in hex escape")


def is_invalid_unicode(error: str) -> bool:
    """Return whether an error is of invalid Unicode in a string, which serde_json overlooks where it skips the string.

    Source: serde_json 1.0.140, ``src/read.rs`` (ignore_str, ignore_escape).
    """
    return error.startswith(_CHARACTERS)


def blank_string(body: bytes, error: str) -> bytes:
    """Return the body with a blank string of the same length in place of the one that is no Unicode."""
    found = _find_string(body, error)
    if found is None:
        return body
    start, end = found.start() + 1, found.end() - 1
    return body[:start] + b" " * (end - start) + body[end:]


def place_error(body: bytes, error: str, *, is_skipped: bool) -> str:
    """Return an error of a string at the position that serde_json names.

    A string is read as a whole before it is found to be no UTF-8. In a string that is skipped a control character is
    not read any more.

    Source: serde_json 1.0.140, ``src/read.rs`` (parse_str, ignore_str).
    """
    if not error.startswith(("invalid unicode code point", "control character")):
        return error
    found = _find_string(body, error)
    if found is None:
        return error
    if error.startswith("invalid unicode code point"):
        return f"{_AT.sub('', error)}{_format_offset(body, found.end())}"
    control = _CONTROL.search(body, found.start())
    if is_skipped and control is not None:
        return f"{_AT.sub('', error)}{_format_offset(body, control.start())}"
    return error


def _find_string(body: bytes, error: str) -> re.Match[bytes] | None:
    """Return the string with the error, if it is near the beginning of the body."""
    read = _find_error(body, error)
    if read > _FAR:
        return None
    for token in _BEGUN_STRING.finditer(body, 0, _FAR):
        if token.end() >= read - 1:
            return token if token.start() < read else None
    return None


def _format_offset(body: bytes, offset: int) -> str:
    return f" at line {body.count(_LINE, 0, offset) + 1} column {offset - body.rfind(_LINE, 0, offset) - 1}"


def end_first(body: bytes) -> int:
    """Return the offset at which the first of several documents ends."""
    return _skip(body, _next(body, 0))


@fast_dataclass(frozen=True, slots=True)
class ParserState:
    """State of the parser at a syntax error.

    Fields:
        path: path of the value being read.
        whole: complete values before it, with open lists and objects closed; empty if there are none.
        depth: number of open lists and objects.
    """

    path: Path
    whole: bytes
    depth: int

    def is_open(self, path: Path) -> bool:
        """Return whether the list or object at ``path`` was open."""
        return len(path) < self.depth and path == self.path[: len(path)]


def find_parser_state(body: bytes, error: str) -> ParserState:
    """Return how far the parser had come at ``error``, looking at the first 64 KiB only.

    A path ends with what is being read. The key of an object is :data:`UNKNOWN` until it is complete and nothing until
    its colon; a list has a step only for an item that has begun.

    Source: serde_path_to_error 0.1.17, ``src/de.rs`` (MapAccess, SeqAccess).
    """
    read = _find_error(body, error)
    path: list[str | int | None] = []  # a list's index; an object's key, None before its next one
    ends: list[int] = []  # of each that is open, where its last whole member ends
    closers: list[bytes] = []
    before, last = b"", b""
    for token in _TOKEN.finditer(body, 0, min(len(body), _FAR)):
        text, end = token[0], token.end()
        if is_last := end >= read:
            text, end = body[token.start() : read - 1], read - 1
            if not error.startswith("expected `,`") or not _WHOLE.fullmatch(text):
                last = body[token.start() : read]
                break
        if not _take(text, end, before, path, ends, closers):
            last = text
            break
        before = text
        if is_last:
            break
    whole = body[: ends[-1]] + b"".join(reversed(closers)) if ends else b""
    return ParserState(tuple(_list_steps(path, before, last)), whole, len(path))


def _take(
    text: bytes, end: int, before: bytes, path: list[str | int | None], ends: list[int], closers: list[bytes]
) -> bool:
    """Move the path by one token that ends at ``end``; return false if the token is not whole."""
    if text[:1] == b'"' and before in (b"{", b",") and path and path[-1] is None:
        path[-1] = _parse_key(text)
    elif text in (b"{", b"["):
        path.append(None if text == b"{" else 0)
        ends.append(end)
        closers.append(b"}" if text == b"{" else b"]")
    elif _ends_value(text, path):
        del ends[len(path) :], closers[len(path) :]
        ends[-1:] = [end] * bool(path)
    else:
        return text in (b",", b":")
    return True


def _list_steps(path: Sequence[str | int | None], before: bytes, last: bytes) -> Iterator[str | int]:
    """Yield the steps of what is read: ``before`` is the last whole token, ``last`` the one with the error."""
    for step in path[:-1]:
        yield UNKNOWN if step is None else step
    if not path:
        return
    step = path[-1]
    if step is None:
        yield UNKNOWN
    elif isinstance(step, str):
        if before == b":":
            yield step
    elif before in (b"[", b",") and last[:1] not in (b"", b"]"):
        yield step


def is_far(body: bytes, error: str) -> bool:
    """Return whether the error is beyond the first 64 KiB; its message then omits the field."""
    return _find_error(body, error) > _FAR


def _find_error(body: bytes, error: str) -> int:
    """Return the number of bytes read at ``error``; more than 64 KiB if unknown."""
    match = _AT.search(error)
    if match is None:
        return _FAR + 1
    line, column = int(match[1]), int(match[2])
    rows = body[:_FAR].split(b"\n", line - 1)
    if len(rows) < line:
        return _FAR + 1
    read = sum(map(len, rows[: line - 1])) + line - 1 + column
    return read + (error.startswith("EOF") and "string" not in error)


def _parse_key(text: bytes) -> str | None:
    """Parse a key; ``None`` if it is invalid."""
    try:
        return str(json.loads(text))
    except ValueError:
        return None


def _ends_value(text: bytes, path: list[str | int | None]) -> bool:
    """Return whether the token ends a value, and move ``path`` to the next one. Keys and opening brackets end none."""
    if text in (b"}", b"]"):
        del path[-1:]
    elif not _WHOLE.fullmatch(text):
        return False
    if path:
        last = path[-1]
        path[-1] = last + 1 if isinstance(last, int) else None
    return True


def _find_second(body: bytes, start: int, names: Sequence[str]) -> int:
    """Return the offset of the colon after the second member of these names in the object at ``start``."""
    position = _next(body, start + 1)
    seen = 0
    while position < len(body):
        end = _skip(body, position)
        seen += json.loads(body[position:end]) in names
        if seen == 2:
            return _skip_blanks(body, end)
        position = _next(body, _skip(body, _next(body, end)))
    return position


def _locate(body: bytes, path: Path) -> tuple[int, int]:
    """Return the start and end offsets of a value in a valid document."""
    start = _next(body, 0)
    for step in path:
        position = found = _next(body, start + 1)
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
    """Return the end offset of the value that starts at ``position``."""
    opening = body[position : position + 1]
    if opening not in (b"{", b"["):
        match = (_STRING if opening == b'"' else _SCALAR).match(body, position)
        return match.end() if match else position
    depth = 0
    for match in _MARK.finditer(body, position):
        depth += _DEPTHS.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(body)
