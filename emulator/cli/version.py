"""Text of ``emulator --version``."""

from emulator import __version__
from emulator.core import text


def is_compiled() -> bool:
    """Return whether the installed wheel is a compiled one, by a module that it compiles and every command imports."""
    return not text.__file__.endswith(".py")


def format_version() -> str:
    return f"emulator {__version__} ({'compiled' if is_compiled() else 'pure Python'})"
