"""``emulator env``: the variables a vendor's client reads, as lines for ``eval``."""

import shlex

from emulator.cli.names import VENDOR_NAMES
from emulator.settings import Settings
from emulator.vendors import VENDORS


def print_environment(name: str, settings: Settings) -> None:
    position = VENDOR_NAMES.index(name)
    url = f"{settings.scheme}://{settings.host}:{settings.port + 1 + position}"
    for variable, value in VENDORS[position].environment(url).items():
        print(f"export {variable}={shlex.quote(value)}")
