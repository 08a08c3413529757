"""Text from strangers, made safe to print."""

import json

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """``a\\x1b[2Jb``: without letters that end a line, move the cursor, turn what follows or are not seen at all.

    These are C0, DEL and C1, separators, formatting letters and halves of surrogate pairs, each as Python writes it.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _spell(letter) for letter in text)


def escape_json(text: str) -> str:
    """JSON in one line, with the same letters as JSON writes them."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def _spell(letter: str) -> str:
    known, code = _NAMED.get(letter), ord(letter)
    if known is not None:
        return known
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
