"""Parse regular expressions of ECMA 262, as in ``pattern`` of JSON Schema, into a tree to match and to generate from.

``scenario/regex_syntax.py`` parses those of scenarios, which have RE2's syntax.
"""

from __future__ import annotations

from emulator.core.cache import SizedCache
from emulator.core.dataclass import fast_dataclass
from emulator.generation.regex import charset
from emulator.generation.regex.charset import Ranges


class BadPattern(ValueError):
    """The pattern is not a regular expression, or has unsupported parts."""


@fast_dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@fast_dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Part, ...]


@fast_dataclass(frozen=True, slots=True)
class Alternation:
    options: tuple[Part, ...]


@fast_dataclass(frozen=True, slots=True)
class Repeat:
    part: Part
    low: int
    high: int | None


@fast_dataclass(frozen=True, slots=True)
class Group:
    """Group with its number, from 1."""

    part: Part
    number: int


@fast_dataclass(frozen=True, slots=True)
class Backreference:
    number: int


@fast_dataclass(frozen=True, slots=True)
class Anchor:
    """Anchor ``^``, ``$``, ``b`` (word boundary) or ``B`` (no word boundary)."""

    kind: str


@fast_dataclass(frozen=True, slots=True)
class Look:
    """Look-ahead or look-behind, perhaps negative."""

    part: Part
    ahead: bool
    negative: bool


Part = Chars | Sequence | Alternation | Repeat | Group | Backreference | Anchor | Look
NOTHING = Sequence(())


def children(part: Part) -> tuple[Part, ...]:
    """Return the parts directly below."""
    if isinstance(part, Sequence):
        return part.parts
    if isinstance(part, Alternation):
        return part.options
    return (part.part,) if isinstance(part, Repeat | Group | Look) else ()


_CLASSES = {"d": charset.DIGITS, "w": charset.WORD, "s": charset.SPACE}
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00, "a": 0x07, "e": 0x1B}
_POSIX = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "0-9A-Za-z",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9A-Fa-f",
}
_LOOKS = {"?=": (True, False), "?!": (True, True), "?<=": (False, False), "?<!": (False, True)}  # ahead, negative
_DIGITS = "0123456789"
_MAX_REPEATS = 100_000
_MAX_DIGITS = 100  # of a repeat's bounds
_MAX_DEPTH = 60
_MAX_CACHED = 200_000  # characters of all cached patterns, about 30 MB


def _read(pattern: str) -> Part:
    parser = _Parser(pattern)
    part = parser.choice(0)
    if parser.at < len(pattern):
        raise BadPattern(f"{pattern!r} has an unmatched ) at {parser.at}")
    return part


_TREES = SizedCache(_read, lambda pattern, tree: 20 + len(pattern), _MAX_CACHED)


def parse_pattern(pattern: str) -> Part:
    """Parse one pattern; raises :class:`BadPattern`."""
    return _TREES[pattern]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}

    def fail(self, what: str) -> BadPattern:
        return BadPattern(f"{self.text!r} is not a regular expression understood here: {what} at {self.at}")

    def accept(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def take(self) -> str:
        if self.at >= len(self.text):
            raise self.fail("unexpected end")
        self.at += 1
        return self.text[self.at - 1]

    def until(self, end: str) -> str:
        stop = self.text.find(end, self.at)
        if stop < 0:
            raise self.fail(f"no {end}")
        found = self.text[self.at : stop]
        self.at = stop + len(end)
        return found

    def choice(self, depth: int) -> Part:
        if depth > _MAX_DEPTH:
            raise self.fail("nested too deeply")
        options = [self.sequence(depth)]
        while self.accept("|"):
            options.append(self.sequence(depth))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def sequence(self, depth: int) -> Part:
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            part = self.quantified(self.atom(depth))
            if part != NOTHING:
                parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantified(self, part: Part) -> Part:
        while (bounds := self.quantifier()) is not None:
            low, high = bounds
            if not isinstance(part, Anchor | Look):
                part = Repeat(part, low, high)
            elif not low:
                part = NOTHING
        return part

    def quantifier(self) -> tuple[int, int | None] | None:
        if self.accept("*"):
            bounds: tuple[int, int | None] = (0, None)
        elif self.accept("+"):
            bounds = (1, None)
        elif self.accept("?"):
            bounds = (0, 1)
        elif (counted := self.counted()) is not None:
            bounds = counted
        else:
            return None
        if not self.accept("?"):
            self.accept("+")  # possessive
        return bounds

    def counted(self) -> tuple[int, int | None] | None:
        """Parse ``{2}``, ``{2,}`` or ``{2,3}``; ``None``: the brace is a literal."""
        end = self.text.find("}", self.at)
        if not self.text.startswith("{", self.at) or end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].replace(" ", "").partition(",")
        if not (low or high) or not all(c in _DIGITS for c in low + high):
            return None
        if len(low + high) > _MAX_DIGITS:
            raise self.fail("repeat out of range")
        bounds = int(low or 0), (int(high) if high else None) if comma else int(low)
        if bounds[0] > _MAX_REPEATS or (bounds[1] is not None and bounds[1] < bounds[0]):
            raise self.fail("repeat out of range")
        self.at = end + 1
        return bounds

    def atom(self, depth: int) -> Part:
        char = self.take()
        if char == "(":
            return self.group(depth + 1)
        if char == "[":
            return Chars(self.char_class())
        if char == ".":
            return Chars(charset.complement(charset.LINE_ENDS))
        if char in "^$":
            return Anchor(char)
        if char == "\\":
            return self.escape()
        if char in "*+?":
            raise self.fail("nothing to repeat")
        return _one(ord(char))

    def group(self, depth: int) -> Part:
        number = 0
        look = self.look()
        if look is None:
            number = self.group_number()
        if number < 0:
            return NOTHING
        part = self.choice(depth)
        if not self.accept(")"):
            raise self.fail("no )")
        if look is not None:
            return Look(part, *look)
        return Group(part, number) if number else part

    def look(self) -> tuple[bool, bool] | None:
        for token, look in _LOOKS.items():
            if self.accept(token):
                return look
        return None

    def group_number(self) -> int:
        """Parse the start of a group; return its number, 0 if it does not capture, -1 if it was only flags."""
        if self.accept("?:") or self.accept("?>"):
            return 0
        if self.accept("?P<") or self.accept("?<"):
            self.groups += 1
            self.names[self.until(">")] = self.groups
            return self.groups
        if self.accept("?"):
            flags = ""
            while self.at < len(self.text) and self.text[self.at] in "imsux-":
                flags += self.take()
            if flags and self.accept(")"):
                return -1
            if flags and self.accept(":"):
                return 0
            raise self.fail("unknown group")
        self.groups += 1
        return self.groups

    def escape(self) -> Part:
        char = self.take()
        if char in "bB":
            return Anchor(char)
        if char in "AZz":
            return Anchor("^" if char == "A" else "$")
        if char == "k" and self.accept("<"):
            return Backreference(self.names.get(self.until(">"), 0))
        if char in "123456789":
            digits = char
            while self.at < len(self.text) and self.text[self.at] in _DIGITS and int(digits) * 10 <= self.groups:
                digits += self.take()
            return Backreference(int(digits))
        return Chars(self.class_escape(char))

    def class_escape(self, char: str) -> Ranges:
        """Parse the rest of an escape such as ``\\d``, alone or inside brackets."""
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return charset.complement(ranges) if char.isupper() else ranges
        if char in "pP":
            return self.property_escape(char == "P")
        if char in _CONTROLS:
            return _one(_CONTROLS[char]).ranges
        if char == "c":
            return _one(ord(self.take()) % 32).ranges
        if char in "xu":
            return _one(self.code_point(char)).ranges
        return _one(ord(char)).ranges

    def property_escape(self, negative: bool) -> Ranges:
        name = self.until("}") if self.accept("{") else self.take()
        ranges = charset.unicode_property(name)
        if ranges is None:
            raise self.fail(f"unknown property {name}")
        return charset.complement(ranges) if negative else ranges

    def code_point(self, kind: str) -> int:
        if self.accept("{"):
            return self.hexadecimal(self.until("}"))
        width = 2 if kind == "x" else 4
        digits = self.text[self.at : self.at + width]
        self.at += len(digits)
        point = self.hexadecimal(digits)
        if 0xD800 <= point <= 0xDBFF and self.accept("\\u"):
            low = self.hexadecimal(self.text[self.at : self.at + 4])
            self.at += 4
            return 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
        return point

    def hexadecimal(self, digits: str) -> int:
        try:
            point = int(digits, 16)
        except ValueError:
            raise self.fail("bad code point") from None
        if point > charset.MAX_CODE_POINT:
            raise self.fail("bad code point")
        return point

    def char_class(self) -> Ranges:
        negative = self.accept("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or not self.accept("]"):
            if first and self.accept("]"):
                break  # ECMA: [] is the empty set, [^] the set of all characters
            first = False
            found.extend(self.class_member())
        ranges = charset.intersect(charset.union(found), charset.ANY)
        return charset.complement(ranges) if negative else ranges

    def class_member(self) -> Ranges:
        if self.accept("[:"):
            name = self.until(":]")
            if name not in _POSIX:
                raise self.fail(f"unknown class {name}")
            return _Parser(_POSIX[name] + "]").char_class()
        low = self.class_atom()
        if not self.text.startswith("-", self.at) or self.text.startswith("-]", self.at):
            return low
        self.at += 1
        high = self.class_atom()
        if charset.size(low) != 1 or charset.size(high) != 1:
            return (*low, *high, (0x2D, 0x2D))
        if low[0][0] > high[0][0]:
            raise self.fail("range out of order")
        return ((low[0][0], high[0][0]),)

    def class_atom(self) -> Ranges:
        char = self.take()
        if char != "\\":
            return _one(ord(char)).ranges
        char = self.take()
        return _one(0x08).ranges if char == "b" else self.class_escape(char)


def _one(point: int) -> Chars:
    return Chars(((point, point),))
