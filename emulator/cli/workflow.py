"""Output in a GitHub workflow, whose runner reads commands in every line that is printed.

Source: GitHub documentation, "Workflow commands for GitHub Actions"; ``##[command]``, which the runner finds anywhere
in a line, is in `actions/runner`, ``ActionCommand.TryParse``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_ANYWHERE = "##["


def in_workflow() -> bool:
    """Return whether a runner reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def without_commands() -> Iterator[None]:
    """Have the runner take the lines of a block for text; nobody can guess the word that ends it."""
    if not in_workflow():
        yield
        return
    from secrets import token_hex  # slow to import

    word = token_hex(16)
    print(f"::stop-commands::{word}")
    try:
        yield
    finally:
        print(f"::{word}::")


def break_commands(text: str) -> str:
    """Return a line that holds no command which a runner finds in its middle."""
    return text.replace(_ANYWHERE, "# #[") if in_workflow() else text


def break_json(text: str) -> str:
    """Return JSON of the same value that holds no such command."""
    return text.replace(_ANYWHERE, "##\\u005b") if in_workflow() else text
