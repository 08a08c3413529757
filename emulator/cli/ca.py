"""``emulator ca``: the certificate that clients trust, whichever emulator of this user they meet."""

from emulator.http.tls import open_authority
from emulator.settings import Settings


def print_authority(settings: Settings) -> None:
    """Print the path of the local authority's certificate; there is one from then on."""
    print(open_authority(settings).path)
