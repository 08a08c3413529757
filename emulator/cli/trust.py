"""Choose the TLS context of the commands that call a running emulator: ``health``, ``export`` and ``report``.

Imports stay minimal for the health probe.
"""

from __future__ import annotations

import ssl

from emulator.core.hosts import is_loopback

TYPE_CHECKING = False  # as in probe.py
if TYPE_CHECKING:
    from emulator.settings import Settings


def trust_all() -> ssl.SSLContext:
    """Return a context that accepts any certificate; for loopback without secrets only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def choose_trust(url: str, settings: Settings, *, has_token: bool = False) -> ssl.SSLContext | None:
    """Return the TLS context for a URL; ``None``: the URL needs no TLS.

    On loopback any certificate is accepted unless a token is sent; elsewhere those of the system's authorities, of
    ``SSL_CERT_FILE``, of the user's local authority, or the one set by ``--tls-cert``.

    Raises:
        ValueError: the URL is malformed.
    """
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme.lower() != "https":
        return None
    if is_loopback(parts.hostname or "") and not has_token:
        return trust_all()
    from emulator.http.tls import find_authority

    context = ssl.create_default_context()
    for file in (find_authority(settings), settings.tls_cert):
        if file is not None and file.is_file():
            context.load_verify_locations(file)
    return context
