"""``emulator env``: print the variables a vendor's client reads, as lines for ``eval``."""

from emulator.cli.names import VENDOR_NAMES
from emulator.cli.quoting import quote
from emulator.settings import Settings
from emulator.vendors import environment_of


def print_environment(name: str, settings: Settings) -> None:
    url = f"{settings.scheme}://{settings.host}:{settings.port + 1 + VENDOR_NAMES.index(name)}"
    for variable, value in environment_of(name, url).items():
        print(f"export {variable}={quote(value)}")
