"""Quote words for the command line of sh, bash, zsh and fish, as ``emulator env`` and ``completion`` print them."""

import re

_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_@%+:,./-]*")
_CONTROL = re.compile(r"[\x01-\x09\x0b-\x1f\x7f-\x9f\udc80-\udcff]")
_PARTS = re.compile(r"'|\\(?=['\\]|\Z)|(?:[^'\\]|\\(?!['\\]|\Z))+")
_COMMON = re.compile(r"[A-Za-z0-9 _@+:,./]")


def quote(text: str) -> str:
    """Quote text without NUL as one word of sh, bash, zsh and fish; the rules match ``console/curl.js``.

    ``shlex.quote`` covers sh alone: fish interprets a backslash before a quote or backslash, and zsh a leading ``=``.
    Terminals interpret pasted control characters as keys, so ``printf`` produces these.
    """
    if _BARE.fullmatch(text):
        return text
    if _CONTROL.search(text):
        stripped = text.rstrip("\n")  # command substitution strips trailing line breaks
        ending = text[len(stripped) :]
        return f"\"$(printf '{''.join(map(_escape, stripped))}')\"" + (f"'{ending}'" if ending else "")
    return "".join(map(_quote_part, _PARTS.findall(text))) or "''"


def _quote_part(part: str) -> str:
    return f"\\{part}" if part in ("'", "\\") else f"'{part}'"


def _escape(character: str) -> str:
    if _COMMON.fullmatch(character):
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
