"""Print the packages of a lock file that have wheels for this Python's C library.

``python deploy/lock.py requirements.lock``
"""

import re
import sys
import sysconfig
from pathlib import Path

WITHOUT_MUSL = {"google-re2"}  # the emulator searches with its own automaton in its place
_PACKAGE = re.compile(r"^([a-z0-9-]+)==")


def select(lock: str, without: set[str]) -> str:
    """Return a lock file without some packages; each begins at a line of its own, its hashes follow indented."""
    blocks = re.split(r"(?m)^(?=\S)", lock)
    return "".join(block for block in blocks if not ((found := _PACKAGE.match(block)) and found[1] in without))


def is_musl() -> bool:
    """Return whether this Python uses musl, the C library of Alpine."""
    return str(sysconfig.get_config_var("SOABI")).endswith("musl")


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    print(select(text, WITHOUT_MUSL if is_musl() else set()), end="")
