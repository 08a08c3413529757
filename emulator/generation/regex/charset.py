r"""Sets of characters as sorted ranges of code points, and the classes that ECMA 262 names (``\d``, ``\w``, ``\p{L}``).

Source: ECMA-262, 22.2.2 (CharacterClassEscape): ``\d`` and ``\w`` are ASCII, ``\s`` is not.
"""

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache

from emulator.core.cache import SizedCache, lru

Ranges = tuple[tuple[int, int], ...]

MAX_CODE_POINT = sys.maxunicode
_MAX_CACHED = 50_000  # ranges of all cached sets, about 10 MB
ANY: Ranges = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))  # lone surrogates are not text
DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip

_READABLE: tuple[Ranges, ...] = (((0x61, 0x7A),), ((0x30, 0x39),), ((0x41, 0x5A),), ((0x20, 0x7E),), ((0xA1, 0x24F),))
_SCRIPTS: dict[str, Ranges] = {
    "Latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F)),
    "Greek": ((0x391, 0x3A1), (0x3A3, 0x3C9)),
    "Cyrillic": ((0x400, 0x481), (0x48A, 0x52F)),
    "Hebrew": ((0x5D0, 0x5EA),),
    "Arabic": ((0x620, 0x63F), (0x641, 0x64A)),
    "Thai": ((0xE01, 0xE3A), (0xE40, 0xE4E)),
    "Hiragana": ((0x3041, 0x3096),),
    "Katakana": ((0x30A1, 0x30FA),),
    "Han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
    "Hangul": ((0xAC00, 0xD7A3),),
}
_LONG_NAMES = {
    "letter": "L", "lowercase_letter": "Ll", "uppercase_letter": "Lu", "titlecase_letter": "Lt", "mark": "M",
    "number": "N", "decimal_number": "Nd", "digit": "Nd", "punctuation": "P", "symbol": "S", "separator": "Z",
    "space_separator": "Zs", "other": "C", "control": "Cc", "alphabetic": "L", "alpha": "L", "uppercase": "Lu",
    "lowercase": "Ll", "punct": "P", "other_letter": "Lo", "modifier_letter": "Lm", "nonspacing_mark": "Mn",
    "dash_punctuation": "Pd", "connector_punctuation": "Pc", "currency_symbol": "Sc", "math_symbol": "Sm",
}  # fmt: skip


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges sorted and merged where they touch."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    found = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            found.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Return the ranges of all other characters."""
    outside, start = [], 0
    for low, high in ranges:
        if low > start:
            outside.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE_POINT:
        outside.append((start, MAX_CODE_POINT))
    return intersect(tuple(outside), ANY)


def contains(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def size(ranges: Ranges) -> int:
    return sum(high - low + 1 for low, high in ranges)


def pick(ranges: Ranges, index: int) -> str:
    """Return the character at ``index`` (modulo the size)."""
    index %= size(ranges)
    for low, high in ranges:
        if index <= high - low:
            return chr(low + index)
        index -= high - low + 1
    raise AssertionError("index below size")


def readable(ranges: Ranges) -> tuple[Ranges, ...]:
    """Return the commonly readable parts, most common first; empty only if ``ranges`` is."""
    return _READ[ranges]


def _find_readable(ranges: Ranges) -> tuple[Ranges, ...]:
    parts = tuple(part for wanted in _READABLE if (part := intersect(ranges, wanted)))
    return parts or ((ranges,) if ranges else ())


_READ = SizedCache(_find_readable, lambda ranges, parts: 5 + len(ranges), _MAX_CACHED)


@lru(256)
def unicode_property(name: str) -> Ranges | None:
    """Return the characters of ``\\p{name}``, a general category or a common script; ``None``: unknown."""
    name = name.removeprefix("General_Category=").removeprefix("gc=")
    script = name.removeprefix("Script=").removeprefix("sc=").removeprefix("Script_Extensions=").removeprefix("scx=")
    if script in _SCRIPTS:
        return _SCRIPTS[script]
    category = _LONG_NAMES.get(name.lower(), name)
    if not 1 <= len(category) <= 2 or category[0] not in "LMNPSZC":
        return None
    return union(pair for name, ranges in _categories().items() if name.startswith(category) for pair in ranges)


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    """Return the characters of the Basic Multilingual Plane by general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    for point in range(0x10000):
        found.setdefault(unicodedata.category(chr(point)), []).append((point, point))
    del found["Cs"]
    return found
