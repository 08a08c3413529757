"""The scenarios that come with the emulator: in the package, or beside it in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_PLACES = (_PACKAGE / "shipped", _PACKAGE.parent / "scenarios")


def find_shipped() -> Path:
    """The folder they are in."""
    return next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
