"""JSON whose strings YAML cannot read as they stand.

Every JSON text is YAML but for what its strings may hold: pairs of surrogates as escapes (RFC 8259, section 7), and
characters that YAML calls unprintable (YAML 1.2.2, section 5.1).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field

_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ODD = re.compile(rf"\\u[dD][89abAB][0-9a-fA-F]{{2}}(?:{_LOW})?|{_LOW}|\\.|[\x7f-\x9f\ufffe\uffff]", re.DOTALL)
_ANY = re.compile(r"\\u[dD][89a-fA-F]|[\x7f-\x9f\ufffe\uffff]")
_PAIR = 12  # characters of two escapes


class LoneSurrogateError(ValueError):
    """Half of a pair; ``line`` and ``column`` begin with 1."""

    def __init__(self, found: re.Match[str]) -> None:
        super().__init__(f"{found[0]} is half of a surrogate pair, and no character by itself")
        self.line = found.string.count("\n", 0, found.start()) + 1
        self.column = found.start() - found.string.rfind("\n", 0, found.start())


@dataclass(slots=True)
class Source:
    """A text that YAML can read; columns in it differ from those of the text that was written.

    Fields:
        places: in ``text``, behind each part that was written otherwise.
        shifts: by how many characters the text up to each place has become shorter.
    """

    text: str
    places: list[int] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)

    def find_column(self, index: int, column: int) -> int:
        """The column that was written, of a place in the text; both begin with 0."""
        return column + self._shift(index) - self._shift(index - column) if self.places else column

    def _shift(self, index: int) -> int:
        before = bisect_right(self.places, index)
        return self.shifts[before - 1] if before else 0


def make_readable(text: str) -> Source:
    """The same JSON as YAML can read it; what is no JSON stays as it is.

    Raises:
        LoneSurrogateError: a string has half of a pair.
        RecursionError: it is nested too deeply.
    """
    if not _ANY.search(text) or not _is_json(text):
        return Source(text)
    parts: list[str] = []
    source = Source("")
    start = length = 0
    for found in _ODD.finditer(text):
        escape = _write(found)
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


def _write(found: re.Match[str]) -> str:
    """An escape or a character as YAML takes it."""
    odd = found[0]
    if len(odd) == _PAIR:
        high, low = int(odd[2:6], 16), int(odd[8:], 16)
        return f"\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08X}"
    if odd[0] != "\\":
        return f"\\u{ord(odd):04X}"
    if odd[1] == "u" and len(odd) > 2:
        raise LoneSurrogateError(found)
    return odd
