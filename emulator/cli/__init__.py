"""Entry point of the program ``emulator``: answer a container's health probe, or run a command such as ``serve``.

The probe runs every few seconds, and most of its time is imports; so it is tried before anything else is imported.
"""

from __future__ import annotations

import os
import sys

from emulator.cli.probe import probe

TYPE_CHECKING = False  # as in probe.py
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 on success, 1 on a negative result, 2 on wrong usage, 130 on interrupt."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    if given == ["health"]:
        code = probe(os.environ)
        if code is not None:
            return code
    from emulator.cli import commands

    return commands.main(arguments)


def build_parser() -> ArgumentParser:
    """Build the parser with every command and flag."""
    from emulator.cli import commands

    return commands.build_parser()
