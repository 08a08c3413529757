"""Regular expressions of rules (``regex`` in ``when``), searched in linear time with RE2.

Look-around and back-references are refused. Expressions have the syntax of Python's ``re`` and are translated where
RE2 differs. Source: google/re2, doc/syntax.txt. Without google-re2 ``automaton.py`` searches.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import field
from functools import cache
from math import inf
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass

if TYPE_CHECKING:
    import re2

log = logging.getLogger("emulator")
MAX_PATTERN_LENGTH = 8_192  # characters of an expression
MAX_STEPS = 2_000_000  # of all expressions of a document
_MAX_REASON = 80  # characters
_MEMORY = 2 * 1024**2  # bytes of a compiled expression and its search state
_MAX_SEARCH = 2 * 10**9  # steps times characters; at worst some seconds
_INVALID_STEPS = 50  # worst-case steps for each character of an invalid expression
_CLASS_STEPS = 250  # steps to compile a named class of characters
_MAX_KNOWN = 256  # results for long texts cached by an expression
_LONG = 10**6  # steps times characters from which a text is long

_SIGNS = r"\p{M}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\x{203F}\x{2040}\x{2054}\x{FE33}\x{FE34}\x{FE4D}-\x{FE4F}\x{FF3F}"
_SPACES = r"\t-\r\x{1C}-\x{1F} \x{85}\x{A0}\p{Z}"
_CLASSES = {  # of all scripts, as in Python, for use inside brackets
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
_WORDS = re.compile(r"(\(\?i\))?([\w ,:;!'\"/@%&=~<>-]+(?:\|[\w ,:;!'\"/@%&=~<>-]+)*)", re.ASCII)
_UNSUPPORTED = {
    "=": "look-ahead",
    "!": "look-ahead",
    "<=": "look-behind",
    "<!": "look-behind",
    "P=": "a back-reference",
    "(": "a condition",
    ">": "an atomic group",
    "#": "a comment",
}


class RegexError(ValueError):
    """Invalid or unsupported expression; the message is the end of a sentence."""


def find_max_searched(steps: int) -> float:
    """Return the characters up to which a search of ``steps`` per character reaches the end of a text."""
    return _max_search() // steps if steps else inf


def find_max_quick(steps: int) -> float:
    """Return the characters up to which a search of ``steps`` per character takes at most 50 ms."""
    return 50 * _LONG // steps if steps else inf


@fast_dataclass(frozen=True, slots=True, eq=False)
class Regex:
    """Compiled expression; a call returns whether it matches anywhere in a text.

    Fields:
        steps: cost of compiling, and worst-case cost of searching one character; a step takes 10 bytes of memory.
        pattern: text of the expression in the scenario file.
        words: texts of which the expression wants one, if it is no more than that.
        folds: these texts are in lower case, and case is ignored.
        needed: texts in ASCII, of which a match contains one once both are casefolded; empty if unknown.
    """

    steps: int
    pattern: str
    _compiled: re2._Regexp[bytes]
    words: tuple[str, ...] = ()
    folds: bool = False
    needed: tuple[str, ...] = ()
    _known: dict[tuple[int, int], bool] = field(default_factory=dict)
    _cut: list[int] = field(default_factory=list)

    @property
    def max_characters(self) -> int:
        """Return the length up to which a text is searched."""
        return _max_search() // self.steps

    def __call__(self, text: str) -> bool:
        """Search a text; of one that would take too long only the beginning, with one warning in the log."""
        if len(text) * self.steps <= _LONG:
            return self._find(text)
        key = hash(text), len(text)  # an explanation searches the same text again
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            found = self._known[key] = self._find(self._shorten(text))
        return found

    def _shorten(self, text: str) -> str:
        most = self.max_characters
        if len(text) > most and not self._cut:
            self._cut.append(most)
            shown = self.pattern if len(self.pattern) <= _MAX_REASON else f"{self.pattern[:_MAX_REASON]}…"
            log.warning(
                "regex %r is searched in the first %s characters, and a text has %s: what comes after is not seen",
                shown,
                f"{most:,}",
                f"{len(text):,}",
            )
        return text[:most]

    def _find(self, text: str) -> bool:
        if self.needed and not _has_one(text.casefold(), self.needed):  # 0.4 us; RE2 takes 9 us by its Python interface
            return False
        if self.words and text.isascii():
            return self.folds or _has_one(text, self.words)
        return self._compiled.search(text.encode("utf-8", "surrogatepass")) is not None


def _has_one(text: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110  # a generator costs three times as much
        if word in text:
            return True
    return False


@cache
def _engine() -> ModuleType:
    """Return google-re2, or what stands in where it is not installed; imported late, as few scenarios need it."""
    try:
        import re2
    except ImportError:
        from emulator.scenario import automaton

        return automaton
    module: ModuleType = re2
    return module


def _max_search() -> int:
    return int(getattr(_engine(), "MAX_SEARCH", _MAX_SEARCH))


class Expressions:
    """Budget of ``MAX_STEPS`` for all expressions of one document."""

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def add(self, pattern: str, ignore_case: bool) -> None:
        """Validate an expression and charge its steps.

        Raises:
            RegexError: it is invalid, or exceeds the budget.
        """
        if self._left > 0:
            self._left -= _INVALID_STEPS * len(pattern)  # replaced by its steps if it is valid
            self._left += _INVALID_STEPS * len(pattern) - compile_regex(pattern, ignore_case).steps
        if self._left <= 0:
            raise RegexError("all expressions together take too much to search")


class RegexCache:
    """LRU cache of compiled expressions, bounded by their total steps."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[tuple[str, bool], Regex] = OrderedDict()
        self._steps = 0
        self._lock = Lock()

    def find(self, key: tuple[str, bool]) -> Regex | None:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def keep(self, key: tuple[str, bool], regex: Regex) -> None:
        with self._lock:
            if key not in self._entries:
                self._entries[key] = regex
                self._steps += regex.steps
            while self._steps > self._most:
                self._steps -= self._entries.popitem(last=False)[1].steps


_CACHE = RegexCache(2 * MAX_STEPS)  # twice the budget of a document


def compile_regex(pattern: str, ignore_case: bool) -> Regex:
    """Compile an expression, or return it from the cache.

    Raises:
        RegexError: it is invalid, too large, or uses look-around or back-references.
    """
    key = pattern, ignore_case
    found = _CACHE.find(key)
    if found is None:
        found = _compile(pattern, ignore_case)
        _CACHE.keep(key, found)
    return found


def capture(pattern: str, ignore_case: bool, text: str) -> dict[str, str]:
    """Return the text of each named group of the first match; a group that matches nothing is absent."""
    most = compile_regex(pattern, ignore_case).max_characters
    found = _compile_groups(pattern, ignore_case).search(text[:most].encode("utf-8", "surrogatepass"))
    if found is None:
        return {}
    groups = {_decode(name): value for name, value in found.groupdict().items()}
    return {name: _decode(value) for name, value in groups.items() if value is not None}


def _decode(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")


@lru(64)
def _compile_groups(pattern: str, ignore_case: bool) -> re2._Regexp[bytes]:
    """Compile an expression that is known to be valid, with its groups, which make a search slower."""
    re2 = _engine()
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    options.case_sensitive = not ignore_case
    return re2.compile(_translate(pattern).encode(), options)


def _compile(pattern: str, ignore_case: bool) -> Regex:
    re2 = _engine()
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise RegexError(f"{len(pattern)} characters; at most {MAX_PATTERN_LENGTH} are searched")
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
    steps = len(translated) + classes * _CLASS_STEPS + compiled.programsize
    words, folds = _list_words(pattern, ignore_case)
    needed = tuple([word.lower() for word in words]) or _list_needed(translated, ignore_case)
    return Regex(steps, pattern, compiled, words, folds, needed)


def _list_needed(translated: str, ignore_case: bool) -> tuple[str, ...]:
    from emulator.scenario import regex_syntax  # few scenarios need it

    try:
        return regex_syntax.list_needed(regex_syntax.parse(translated, ignore_case=ignore_case))
    except (regex_syntax.error, RecursionError):  # RE2 allows more memory and nested groups
        return ()


def _list_words(pattern: str, ignore_case: bool) -> tuple[tuple[str, ...], bool]:
    """Return the texts of an expression such as ``(?i)refund|invoice``, and whether case is ignored."""
    found = _WORDS.fullmatch(pattern)
    if found is None:
        return (), False
    folds = ignore_case or found[1] is not None
    return tuple((found[2].lower() if folds else found[2]).split("|")), folds


def _explain(error: Exception) -> str:
    reason = error.args[0]
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(error)
    if text.startswith("missing"):
        text = text.partition(":")[0]  # the rest is the whole expression
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"


def _translate(pattern: str) -> str:
    """Translate an expression from Python's syntax to RE2's.

    Raises:
        RegexError: it uses look-around, a back-reference or the like.
    """
    parts: list[str] = []
    opened = -1  # start of the open bracket expression
    for token in _TOKEN.finditer(pattern):
        inside, part = opened >= 0, token[0]
        if part == "[" and not inside:
            opened = token.start()
        elif part == "]" and pattern[opened + 1 : token.start()] not in ("", "^"):
            opened = -1
        parts.append(_translate_token(token, inside=inside))
    return "".join(parts)


def _translate_token(token: re.Match[str], *, inside: bool) -> str:
    """Translate one character or escape; ``inside``: within brackets."""
    code, group = token["short"] or token["long"], token["group"]
    if code:
        return f"\\x{{{code}}}"
    if token["escaped"]:
        return _translate_escape(token["escaped"], inside=inside)
    if group in _UNSUPPORTED and not inside:
        raise RegexError(f"{_UNSUPPORTED[group]} at character {token.start() + 1} cannot be searched")
    return r"(?:$|\n\z)" if token[0] == "$" and not inside else token[0]


def _translate_escape(char: str, *, inside: bool) -> str:
    if char in _CLASSES:
        if inside:
            return _CLASSES[char]
        return f"[{_CLASSES[char]}]" if char.islower() else f"[^{_CLASSES[char.lower()]}]"
    if char in "123456789":
        raise RegexError(f"the back-reference \\{char} cannot be searched")
    return "_" if char == "_" else {"Z": r"\z"}.get(char, "\\" + char)
