"""Neutralise GitHub Actions' workflow commands (``::error::…``) in printed text, as a runner obeys any such line.

Source: GitHub documentation, "Workflow commands for GitHub Actions"; ``##[command]``, which the runner finds anywhere
in a line, is in `actions/runner`, ``ActionCommand.TryParse``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_ANYWHERE = "##["


def in_workflow() -> bool:
    """Return whether the process runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def without_commands() -> Iterator[None]:
    """Disable workflow commands for the time of a block; a random word ends it."""
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
    """Return a line without commands in its middle."""
    return text.replace(_ANYWHERE, "# #[") if in_workflow() else text


def break_json(text: str) -> str:
    """Return equal JSON without such commands."""
    return text.replace(_ANYWHERE, "##\\u005b") if in_workflow() else text
