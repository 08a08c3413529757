"""Format ``--help`` of ``emulator`` and of each command: sections, examples at the end, and colours on a terminal."""

import argparse
import re
import sys

from emulator.core.text import wants_colour

_BOLD, _FLAG, _DIM = "1", "36", "2"
_HEADING = re.compile(r"^(\w[\w, ()]*:)$", re.MULTILINE)
_USAGE = re.compile(r"^usage:", re.MULTILINE)
_NAMES = re.compile(r"^( {2,4})(-{1,2}[\w-]+(?: [A-Z{][^\s,]*)?(?:, -{1,2}[\w-]+(?: [A-Z{][^\s,]*)?)*)", re.MULTILINE)
_COMMENT = re.compile(r"(  # .*)$", re.MULTILINE)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formatter that keeps the lines of examples, and colours headings and flags on a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=118)

    def _set_color(self, color: bool) -> None:
        """Leave out the colours of Python 3.14 and later; earlier ones never call this."""
        super()._set_color(False)  # type: ignore[misc]

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment  # commands are indented, which argparse does not count

    def format_help(self) -> str:
        text = super().format_help()
        return colour_help(text) if wants_colour(sys.stdout) else text


def colour_help(text: str) -> str:
    """Colour headings, flags and comments of a help text."""
    for pattern, style in ((_USAGE, _BOLD), (_HEADING, _BOLD), (_COMMENT, _DIM)):
        text = pattern.sub(lambda found, style=style: _paint(found[0], style), text)  # type: ignore[misc]
    return _NAMES.sub(lambda found: found[1] + _paint(found[2], _FLAG), text)


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def format_examples(*lines: tuple[str, str]) -> str:
    """Return the examples at the end of a help text: pairs of command and comment."""
    width = max(len(command) for command, _ in lines)
    return "examples:\n" + "\n".join(f"  {command:<{width}}  # {comment}" for command, comment in lines)
