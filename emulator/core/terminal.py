"""Decide whether text written to a stream is coloured.

The help, ``emulator diff`` and the access log ask it.
"""

import os
from collections.abc import Mapping
from typing import TextIO


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to colour text: on a terminal or with ``FORCE_COLOR``, and never with ``NO_COLOR``."""
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or stream.isatty()
