"""Regular expressions of rules, searched in a time that grows with the text alone, whatever the expression.

The engine is RE2. What it cannot do in one pass (look-around, back-references) it does not take. Expressions are
written as for Python's ``re``; what RE2 spells or means otherwise is put in its words here. Source: google/re2,
doc/syntax.txt.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2

log = logging.getLogger("emulator")
LONGEST = 8_192  # characters of an expression
MOST_STEPS = 2_000_000  # of all expressions of a document
_LONGEST_REASON = 80  # characters
_MEMORY = 2 * 1024**2  # bytes of a compiled one, and of what it remembers while it searches
_SEARCHED = 2 * 10**9  # steps, each for every character; at worst some seconds
_WRONG = 50  # steps that it takes at worst to find out of a character that the expression is none
_CLASS = 250  # steps that it takes to read a class of characters by its name
_KNOWN = 256  # long texts of which an expression remembers whether it is found in them
_LONG = 10**6  # steps, each for every character, from which on a text is long

_SIGNS = r"\p{M}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\x{203F}\x{2040}\x{2054}\x{FE33}\x{FE34}\x{FE4D}-\x{FE4F}\x{FF3F}"
_SPACES = r"\t-\r\x{1C}-\x{1F} \x{85}\x{A0}\p{Z}"
_CLASSES = {  # of all scripts, as in Python; what may stand inside brackets
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": r"\p{L}\p{N}_",
    "W": _SIGNS + r"\p{S}\p{Z}\p{C}",
    "s": _SPACES,
    "S": r"\x00-\x08\x0E-\x1B!-~\x{7F}-\x{84}\x{86}-\x{9F}\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}",
}
_TOKEN = re.compile(
    r"\\u(?P<short>[0-9a-fA-F]{4})|\\U(?P<long>[0-9a-fA-F]{8})|\\(?P<escaped>.)|\(\?(?P<group>P?[=!<#>(]?[=!]?)|.",
    re.DOTALL,
)
_BEYOND = {"=": "look-ahead", "!": "look-ahead", "<=": "look-behind", "<!": "look-behind", "P=": "a back-reference",
           "(": "a condition", ">": "an atomic group", "#": "a comment"}  # fmt: skip


class RegexError(ValueError):
    """Not an expression that can be searched; a sentence's end."""


def takes_long(steps: int, characters: int) -> bool:
    """A search for so many steps in a text may take more than 50 ms."""
    return steps * characters > 50 * _LONG


@dataclass(frozen=True, slots=True, eq=False)
class Regex:
    """An expression; called with a text it says whether it is found anywhere in it.

    Fields:
        steps: what it takes to compile it, and at worst to search one character; about 10 bytes of memory each.
        pattern: as it was written.
    """

    steps: int
    pattern: str
    _compiled: re2._Regexp[bytes]
    _known: dict[tuple[int, int], bool] = field(default_factory=dict)
    _cut: list[int] = field(default_factory=list)

    def __call__(self, text: str) -> bool:
        """Of a text that would take too long the beginning is searched, which the log says once."""
        if len(text) * self.steps <= _LONG:
            return self._find(text)
        key = hash(text), len(text)  # a call is explained after it was matched
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[key] = self._find(self._shorten(text))
        return found

    def _shorten(self, text: str) -> str:
        most = _SEARCHED // self.steps
        if len(text) > most and not self._cut:
            self._cut.append(most)
            shown = self.pattern if len(self.pattern) <= _LONGEST_REASON else f"{self.pattern[:_LONGEST_REASON]}…"
            log.warning(
                "regex %r is searched in the first %s characters, and a text has %s: what comes after is not seen",
                shown,
                f"{most:,}",
                f"{len(text):,}",
            )
        return text[:most]

    def _find(self, text: str) -> bool:
        return self._compiled.search(text.encode("utf-8", "surrogatepass")) is not None


class Expressions:
    """The expressions of one document: together they take no more than ``MOST_STEPS``."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def add(self, pattern: str, ignore_case: bool) -> None:
        """One more.

        Raises:
            RegexError: it is none, or there is no room left for it.
        """
        if self._left > 0:
            self._left -= _WRONG * len(pattern)  # unless it turns out to be none
            self._left += _WRONG * len(pattern) - compile_regex(pattern, ignore_case).steps
        if self._left <= 0:
            raise RegexError("all expressions together take too much to search")


class Cache:
    """What was compiled for one who asks is there for the next, up to so many steps in all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, bool], Regex] = OrderedDict()
        self._steps = 0
        self._lock = Lock()

    def find(self, key: tuple[str, bool]) -> Regex | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: tuple[str, bool], regex: Regex) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = regex
                self._steps += regex.steps
            while self._steps > self._most:
                self._steps -= self._kept.popitem(last=False)[1].steps


_CACHE = Cache(2 * MOST_STEPS)  # the expressions of a document fit in


def compile_regex(pattern: str, ignore_case: bool) -> Regex:
    """Whether an expression is found anywhere in a text.

    Raises:
        RegexError: it is none, is too large, or cannot be searched in one pass.
    """
    key = pattern, ignore_case
    found = _CACHE.find(key)
    if found is None:
        found = _compile(pattern, ignore_case)
        _CACHE.keep(key, found)
    return found


def _compile(pattern: str, ignore_case: bool) -> Regex:
    import re2  # needed by few scenarios

    if len(pattern) > LONGEST:
        raise RegexError(f"{len(pattern)} characters; at most {LONGEST} are searched")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    options.case_sensitive = not ignore_case
    translated = _translate(pattern)
    try:
        compiled = re2.compile(translated.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise RegexError(_explain(error)) from None
    classes = translated.count("\\p") + translated.count("\\P")
    return Regex(len(translated) + classes * _CLASS + compiled.programsize, pattern, compiled)


def _explain(error: Exception) -> str:
    said = error.args[0]
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)
    if text.startswith("missing"):
        text = text.partition(":")[0]  # what follows is the whole expression
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def _translate(pattern: str) -> str:
    """The expression in RE2's words.

    Raises:
        RegexError: it asks for what no engine finds in one pass.
    """
    parts: list[str] = []
    opened = -1  # where the brackets began that are open
    for token in _TOKEN.finditer(pattern):
        inside, part = opened >= 0, token[0]
        if part == "[" and not inside:
            opened = token.start()
        elif part == "]" and pattern[opened + 1 : token.start()] not in ("", "^"):
            opened = -1
        parts.append(_put(token, inside=inside))
    return "".join(parts)


def _put(token: re.Match[str], *, inside: bool) -> str:
    """One sign or escape in RE2's words; ``inside`` brackets."""
    code, group = token["short"] or token["long"], token["group"]
    if code:
        return f"\\x{{{code}}}"
    if token["escaped"]:
        return _escape(token["escaped"], inside=inside)
    if group in _BEYOND and not inside:
        raise RegexError(f"{_BEYOND[group]} at character {token.start() + 1} cannot be searched")
    return r"(?:$|\n\z)" if token[0] == "$" and not inside else token[0]


def _escape(char: str, *, inside: bool) -> str:
    if char in _CLASSES:
        if inside:
            return _CLASSES[char]
        return f"[{_CLASSES[char]}]" if char.islower() else f"[^{_CLASSES[char.lower()]}]"
    if char in "123456789":
        raise RegexError(f"the back-reference \\{char} cannot be searched")
    return "_" if char == "_" else {"Z": r"\z"}.get(char, "\\" + char)
