"""``emulator ca``: print the path of the local authority's certificate."""

from emulator.http.tls import open_authority
from emulator.settings import Settings


def print_authority(settings: Settings) -> None:
    """Print the path of the local authority's certificate; create the authority if there is none."""
    print(open_authority(settings).path)
