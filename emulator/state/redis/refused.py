"""What the server says in place of an answer, and whose fault that is."""

import re

_UNABLE = re.compile(r"[A-Z]{3,} |The user executing the script|.*user_script: ?\d+: ?-")


class Refused(Exception):
    """What the server says in place of an answer."""


def is_mistake(text: str) -> bool:
    """Whether a refusal is for what was asked; else the server cannot do it now: it is full, read only, locked…

    Source: redis 7.0, ``script.c`` and ``acl.c``; redis 6, ``scripting.c``, where the refusal of a command within a
    script stands after ``@user_script: 1: -``.
    """
    text = text.removeprefix("ERR ")
    if text.startswith(("WRONGTYPE ", "NOSCRIPT ")):
        return True
    return "user_script" in text and _UNABLE.match(text) is None
