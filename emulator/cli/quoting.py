"""Words of a command line that a person may paste into a shell."""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_@%+:,./-]*")
_CONTROL = re.compile(r"[\x01-\x09\x0b-\x1f\x7f-\x9f\udc80-\udcff]")
_PARTS = re.compile(r"'|\\(?=['\\]|\Z)|(?:[^'\\]|\\(?!['\\]|\Z))+")
_COMMON = re.compile(r"[A-Za-z0-9 _@+:,./]")


def quote(text: str) -> str:
    """The text as one word of sh, bash, zsh and fish; it has no NUL. The rules are those of ``console/curl.js``.

    ``shlex.quote`` is for sh alone: fish reads a backslash before a quote or another backslash, and zsh a ``=`` at the
    beginning. A terminal takes a pasted control character for a key, so ``printf`` makes it.
    """
    if _BARE.fullmatch(text):
        return text
    if _CONTROL.search(text):
        kept = text.rstrip("\n")  # a shell takes line breaks off the end of what a program writes
        ending = text[len(kept) :]
        return f"\"$(printf '{''.join(map(_escape, kept))}')\"" + (f"'{ending}'" if ending else "")
    return "".join(map(_quote_part, _PARTS.findall(text))) or "''"


def _quote_part(part: str) -> str:
    return f"\\{part}" if part in ("'", "\\") else f"'{part}'"


def _escape(letter: str) -> str:
    if _COMMON.fullmatch(letter):
        return letter
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))
