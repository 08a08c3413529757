"""Regular expressions of rules, searched in a time that grows with the text alone, whatever the expression.

The engine is RE2. What it cannot do in one pass (look-around, back-references) it does not take. Expressions are
written as for Python's ``re``; what RE2 spells or means otherwise is put in its words here. Source: google/re2,
doc/syntax.txt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

LONGEST = 8_192  # characters of an expression
_LONGEST_REASON = 80  # characters
_MEMORY = 2 * 1024**2  # bytes of a compiled one, and of what it remembers while it searches

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


@lru_cache(maxsize=1024)
def compile_regex(pattern: str, ignore_case: bool, /) -> Callable[[str], bool]:
    """Whether an expression is found anywhere in a text.

    By position alone, so that what was compiled for one who asks is there for the next.

    Raises:
        RegexError: it is none, is too large, or cannot be searched in one pass.
    """
    import re2  # needed by few scenarios

    if len(pattern) > LONGEST:
        raise RegexError(f"{len(pattern)} characters; at most {LONGEST} are searched")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    options.case_sensitive = not ignore_case
    try:
        found = re2.compile(_translate(pattern).encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise RegexError(_explain(error)) from None
    return lambda text: found.search(text.encode("utf-8", "surrogatepass")) is not None


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
        return _CLASSES[char] if inside else f"[{_CLASSES[char]}]"
    if char in "123456789":
        raise RegexError(f"the back-reference \\{char} cannot be searched")
    return "_" if char == "_" else {"Z": r"\z"}.get(char, "\\" + char)
