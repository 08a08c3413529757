"""Parse regular expressions in RE2's syntax: for the words that a match contains, and for ``automaton.py`` to search.

The latter is needed where google-re2 is not installed: it comes with the extra ``speed``, and has no wheels for musl.
Source: google/re2, doc/syntax.txt.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cache
from itertools import chain, groupby
from typing import Literal

from emulator.core.dataclass import fast_dataclass

_LAST = 0x10FFFF
_MAX_OPTIONS = 8  # texts that are looked for one by one
_MAX_REPEAT = 1_000  # of nested repeats multiplied, as in RE2
_MAX_SIZE = 170_000  # instructions, as RE2 counts them in its default memory of 2 MiB
_WEIGHTS = {"L": 1_100, "N": 230, "M": 300, "P": 150, "S": 200, "Z": 10, "C": 30}  # instructions of RE2 for a category
_CASED = (
    (0x41, 0x2E00),
    (0xA640, 0xAC00),
    (0xFB00, 0xFF5B),
    (0x10400, 0x10600),
    (0x10C80, 0x11900),
    (0x16E40, 0x16E80),
)
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PERL = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_DIGITS = "0123456789"
_HEX = "0123456789abcdefABCDEF"


class error(Exception):  # as google-re2 names it
    """The expression cannot be searched; the message is RE2's."""


@fast_dataclass(frozen=True, slots=True)
class CharSet:
    """Set of characters: ranges, and general categories that are in it or out of it."""

    ranges: tuple[tuple[int, int], ...]
    categories: tuple[tuple[str, bool], ...] = ()
    negated: bool = False
    folds: bool = False

    def __contains__(self, char: str) -> bool:
        chars = _find_orbit(char) if self.folds else (char,)
        return any(map(self._has, chars)) != self.negated

    def _has(self, char: str) -> bool:
        point = ord(char)
        at = bisect_right(self.ranges, (point, _LAST)) - 1
        if at >= 0 and self.ranges[at][1] >= point:
            return True
        if not self.categories:
            return False
        category = unicodedata.category(char)
        return any(category.startswith(name) is wanted for name, wanted in self.categories)

    @property
    def weight(self) -> int:
        own = sum(_WEIGHTS[name[0]] if len(name) == 1 else 90 for name, _ in self.categories)
        return 1 + own + 2 * sum(high > 0x7F for _, high in self.ranges)


@cache
def _orbits() -> dict[str, tuple[str, ...]]:
    """Return the characters that are equal without regard to case, by each of them."""
    groups: dict[str, set[str]] = {}
    for low, high in _CASED:
        for char in map(chr, range(low, high)):
            upper = char.upper() if len(char.upper()) == 1 else char
            key = upper.lower() if len(upper.lower()) == 1 else upper
            if char != key or upper != char:
                groups.setdefault(key, {key}).add(char)
    return {char: tuple(sorted(group)) for group in groups.values() for char in group}


def _find_orbit(char: str) -> Sequence[str]:
    return _orbits().get(char, (char,))


Kind = Literal["set", "sequence", "choice", "repeat", "group", "assert"]


@fast_dataclass(slots=True)
class ExpressionNode:
    """Part of an expression; ``times``: nested repeats multiplied; ``size``: its instructions in RE2."""

    kind: Kind
    parts: "list[ExpressionNode]" = field(default_factory=list)
    chars: CharSet | None = None
    name: str = ""
    low: int = 0
    high: int | None = 0
    greedy: bool = True
    times: int = 1
    size: int = 1


@fast_dataclass(slots=True)
class _Level:
    """Open group: its finished options, the current one, and the flags outside of it."""

    flags: frozenset[str]
    name: str | None
    options: list[ExpressionNode] = field(default_factory=list)
    parts: list[ExpressionNode] = field(default_factory=list)


class _Parser:
    """Parser of RE2's syntax."""

    def __init__(self, text: str, flags: frozenset[str]) -> None:
        self._text = text
        self._at = 0
        self._flags = flags
        self._levels = [_Level(flags, None)]
        self._repeated = -1  # end of the last repeat operator, which another one must not follow
        self._repeat_begin = 0

    def parse(self) -> ExpressionNode:
        while self._at < len(self._text):
            self._parse_next(self._text[self._at])
        if len(self._levels) > 1:
            raise error(f"missing ): {self._text}")
        return self._close_level()

    def _parse_next(self, char: str) -> None:
        begin = self._at
        if char == "(":
            self._open_group()
        elif char == ")":
            self._close_group()
        elif char == "|":
            self._at += 1
            self._end_option()
        elif char in "*+?" or (char == "{" and self._find_bounds() is not None):
            self._parse_repeat(begin)
        else:
            self._at += 1
            self._add(self._parse_atom(char))

    def _add(self, node: ExpressionNode) -> None:
        self._levels[-1].parts.append(node)

    def _end_option(self) -> None:
        level = self._levels[-1]
        level.options.append(_join("sequence", level.parts))
        level.parts = []

    def _close_level(self) -> ExpressionNode:
        self._end_option()
        level = self._levels.pop()
        found = _join("choice", level.options)
        return (
            found
            if level.name is None
            else ExpressionNode("group", [found], name=level.name, times=found.times, size=found.size)
        )

    def _open_group(self) -> None:
        text, at = self._text, self._at
        if not text.startswith("(?", at):
            self._at += 1
            self._levels.append(_Level(self._flags, None))
        elif text.startswith(("(?P<", "(?<"), at):
            begin = text.index("<", at) + 1
            end = text.find(">", begin)
            name = text[begin:end]
            if end < 0 or not name or not all(char == "_" or char.isalnum() for char in name):
                raise error(f"invalid named capture group: {text[at : end + 1] if end >= 0 else text[at:]}")
            self._at = end + 1
            self._levels.append(_Level(self._flags, name))
        else:
            self._parse_flags()

    def _parse_flags(self) -> None:
        begin, flags, is_on = self._at, set(self._flags), True
        self._at += 2
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char in "imsU":
                (flags.add if is_on else flags.discard)(char)
            elif char == "-" and is_on:
                is_on = False
            elif char in ":)":
                if char == ":":
                    self._levels.append(_Level(self._flags, None))
                self._flags = frozenset(flags)
                return
            else:
                break
        raise error(f"invalid perl operator: {self._text[begin : self._at]}")

    def _close_group(self) -> None:
        if len(self._levels) == 1:
            raise error(f"unexpected ): {self._text}")
        self._at += 1
        self._flags = self._levels[-1].flags
        self._add(self._close_level())

    def _find_bounds(self) -> tuple[int, int | None, int] | None:
        """Return the bounds of ``{2,3}`` at this place, and its end; ``None``: the brace means itself."""
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not low or not all(char in _DIGITS for char in low + high) or len(low) > 9 or len(high) > 9:
            return None
        return int(low), (int(high) if high else None) if comma else int(low), end + 1

    def _parse_repeat(self, begin: int) -> None:
        bounds = self._find_bounds() if self._text[begin] == "{" else None
        if bounds is None:
            low, high, self._at = (
                {"*": 0, "+": 1, "?": 0}[self._text[begin]],
                1 if self._text[begin] == "?" else None,
                begin + 1,
            )
        else:
            low, high, self._at = bounds
        greedy = "U" not in self._flags
        if self._text.startswith("?", self._at):
            self._at += 1
            greedy = not greedy
        operator = self._text[begin : self._at]
        parts = self._levels[-1].parts
        if self._repeated == begin:
            raise error(f"bad repetition operator: {self._text[self._repeat_begin : self._at]}")
        if not parts:
            raise error(f"no argument for repetition operator: {operator}")
        part = parts.pop()
        most = low if high is None else high
        times = part.times * max(most, 1)
        if most > _MAX_REPEAT or (high is not None and low > high) or (bounds is not None and times > _MAX_REPEAT):
            raise error(f"invalid repetition size: {operator}")
        self._repeated, self._repeat_begin = self._at, begin
        size = part.size * max(most + (high is None and low > 0), 1) + 1
        _check_size(size)
        self._add(ExpressionNode("repeat", [part], low=low, high=high, greedy=greedy, times=times, size=size))

    def _parse_atom(self, char: str) -> ExpressionNode:
        if char == "[":
            return self._set(self._parse_class())
        if char == ".":
            every = CharSet(((0, _LAST),) if "s" in self._flags else ((0, 9), (11, _LAST)))
            return ExpressionNode("set", chars=every, size=10)
        if char in "^$":
            is_lines = "m" in self._flags
            return ExpressionNode("assert", name={"^": "begin", "$": "end"}[char] + ("_of_line" if is_lines else ""))
        return self._parse_escape() if char == "\\" else self._set(_one(ord(char)))

    def _set(self, chars: CharSet) -> ExpressionNode:
        if "i" in self._flags:
            chars = CharSet(chars.ranges, chars.categories, chars.negated, folds=True)
        return ExpressionNode("set", chars=chars, size=chars.weight)

    def _parse_escape(self) -> ExpressionNode:
        char = self._text[self._at : self._at + 1]
        if char in ("A", "z", "b", "B"):
            self._at += 1
            return ExpressionNode("assert", name={"A": "begin", "z": "end", "b": "word", "B": "no_word"}[char])
        if char == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at + 1 : end if end >= 0 else None]
            self._at = end + 2 if end >= 0 else len(self._text)
            for one in quoted[:-1]:
                self._add(self._set(_one(ord(one))))
            return self._set(_one(ord(quoted[-1]))) if quoted else ExpressionNode("sequence")
        return self._set(self._parse_char_escape())

    def _parse_char_escape(self) -> CharSet:
        """Parse the rest of an escape for one character or a class, alone or within brackets."""
        begin = self._at - 1
        if self._at >= len(self._text):
            raise error("trailing \\")
        char = self._text[self._at]
        self._at += 1
        if char in "dDwWsSpP":
            return self._parse_class_escape(begin, char)
        if char in _CONTROLS:
            return _one(_CONTROLS[char])
        if char == "x":
            return _one(self._parse_hexadecimal(begin))
        if char in "01234567" and (char == "0" or self._text[self._at : self._at + 1].isdigit()):
            digits = char
            while len(digits) < 3 and self._text[self._at : self._at + 1] in tuple("01234567"):
                digits += self._text[self._at]
                self._at += 1
            return _one(int(digits, 8))
        if ord(char) < 0x80 and not char.isalnum():
            return _one(ord(char))
        raise error(f"invalid escape sequence: {self._text[begin : self._at]}")

    def _parse_class_escape(self, begin: int, char: str) -> CharSet:
        if char in "pP":
            return self._parse_property(begin, char == "P")
        return CharSet(_parse_ranges(_PERL[char.lower()]), negated=char.isupper())

    def _parse_hexadecimal(self, begin: int) -> int:
        if self._text.startswith("{", self._at):
            end = self._text.find("}", self._at)
            digits = self._text[self._at + 1 : end] if end > 0 else ""
            self._at = end + 1 if end > 0 else len(self._text)
        else:
            digits = self._text[self._at : self._at + 2]
            self._at += len(digits)
            digits = digits if len(digits) == 2 else ""
        if not digits or not all(digit in _HEX for digit in digits) or int(digits, 16) > _LAST:
            raise error(f"invalid escape sequence: {self._text[begin : self._at].removesuffix('}')}")
        return int(digits, 16)

    def _parse_property(self, begin: int, negated: bool) -> CharSet:
        name = self._text[self._at : self._at + 1]
        self._at += 1
        if name == "{":
            end = self._text.find("}", self._at)
            name = self._text[self._at : end] if end > 0 else ""
            self._at = end + 1 if end > 0 else len(self._text)
        negated ^= name.startswith("^")
        name = name.removeprefix("^")
        if name == "Any":
            return CharSet(((0, _LAST),) if not negated else ())
        if name not in _list_categories():
            raise error(f"invalid character class range: {self._text[begin : self._at]}")
        return CharSet((), ((name, not negated),))

    def _parse_class(self) -> CharSet:
        begin = self._at - 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges: list[tuple[int, int]] = []
        categories: list[tuple[str, bool]] = []
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise error(f"missing ]: {self._text[begin:]}")
            first = False
            member = self._parse_member()
            if member.negated:
                ranges += _complement(member.ranges)
            else:
                ranges += member.ranges
            categories += member.categories
        self._at += 1
        return CharSet(tuple(_union(ranges)), tuple(categories), negated)

    def _parse_member(self) -> CharSet:
        begin = self._at
        if self._text.startswith("[:", begin):
            end = self._text.find(":]", begin)
            if end > 0:
                self._at = end + 2
                name = self._text[begin + 2 : end]
                if name.removeprefix("^") not in _POSIX:
                    raise error(f"invalid character class range: {self._text[begin : self._at]}")
                return CharSet(_parse_ranges(_POSIX[name.removeprefix("^")]), negated=name.startswith("^"))
        low = self._parse_class_char()
        is_range = self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at)
        if not is_range or self._at + 1 >= len(self._text) or not _is_one(low):
            return low
        self._at += 1
        at = self._at
        high = self._parse_class_char()
        if not _is_one(high):
            raise error(f"invalid escape sequence: {self._text[at : at + 2]}")
        if low.ranges[0][0] > high.ranges[0][0]:
            raise error(f"invalid character class range: {self._text[begin : self._at]}")
        return CharSet(((low.ranges[0][0], high.ranges[0][0]),))

    def _parse_class_char(self) -> CharSet:
        char = self._text[self._at]
        self._at += 1
        return self._parse_char_escape() if char == "\\" else _one(ord(char))


def _parse_ranges(members: str) -> tuple[tuple[int, int], ...]:
    return _Parser(members + "]", frozenset())._parse_class().ranges


@cache
def _list_categories() -> frozenset[str]:
    found = {unicodedata.category(chr(point)) for point in range(0x3000)} | {"Co", "Cs"}
    return frozenset(found - {"Cn"} | {name[0] for name in found})


def _one(point: int) -> CharSet:
    return CharSet(((point, point),))


def _is_one(chars: CharSet) -> bool:
    ranges = chars.ranges
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1] and not chars.categories and not chars.negated


def _union(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    at, end = -1, -2
    for low, high in sorted(ranges):
        if low > end + 1:
            if at >= 0:
                yield at, end
            at, end = low, high
        end = max(end, high)
    if at >= 0:
        yield at, end


def _complement(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start = 0
    for low, high in ranges:
        if low > start:
            yield start, low - 1
        start = high + 1
    if start <= _LAST:
        yield start, _LAST


def _join(kind: Kind, parts: list[ExpressionNode]) -> ExpressionNode:
    if len(parts) == 1:
        return parts[0]
    size = sum(part.size for part in parts) + len(parts)
    _check_size(size)
    return ExpressionNode(kind, parts, times=max([part.times for part in parts], default=1), size=size)


def _check_size(size: int) -> None:
    if size > _MAX_SIZE:
        raise error("pattern too large - compile failed")


def parse(pattern: str, *, ignore_case: bool) -> ExpressionNode:
    """Parse an expression.

    Raises:
        error: it is invalid or too large.
    """
    return _Parser(pattern, frozenset("i" if ignore_case else "")).parse()


def list_needed(node: ExpressionNode) -> tuple[str, ...]:
    """Return texts of which every match within ASCII contains one, in lower case; empty if there are none."""
    match node.kind:
        case "set":
            return (_read_char(node),) if _read_char(node) else ()
        case "sequence":
            runs = groupby(node.parts, lambda part: bool(_read_char(part)))
            found = [
                needed
                for is_text, parts in runs
                for needed in ([("".join(map(_read_char, parts)),)] if is_text else map(list_needed, parts))
            ]
            return max(found, key=lambda needed: min(map(len, needed), default=0), default=())
        case "choice":
            options = [*map(list_needed, node.parts)]
            needed = tuple(chain.from_iterable(options)) if all(options) else ()
            return needed if len(needed) <= _MAX_OPTIONS else ()
        case "repeat" | "group":
            return list_needed(node.parts[0]) if node.kind == "group" or node.low else ()
    return ()


def _read_char(node: ExpressionNode) -> str:
    """Return the only ASCII character that matches but for its case, in lower case, or an empty text."""
    chars = node.chars
    if node.kind != "set" or chars is None or not _is_one(chars) or chars.ranges[0][0] > 0x7F:
        return ""
    return chr(chars.ranges[0][0]).lower()
