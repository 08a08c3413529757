"""The command line. What a container's engine asks every few seconds is answered before all else is imported."""

from __future__ import annotations

import os
import sys

from emulator.cli.probe import probe

TYPE_CHECKING = False  # as in probe.py
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 the answer is no, 2 wrong usage, 130 interrupted."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    if given == ["health"]:
        code = probe(os.environ)
        if code is not None:
            return code
    from emulator.cli import commands

    return commands.main(arguments)


def build_parser() -> ArgumentParser:
    """Every verb, flag and default."""
    from emulator.cli import commands

    return commands.build_parser()
