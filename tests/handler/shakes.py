"""TLS handshakes in memory, as strict as the library can be."""

import ssl
from pathlib import Path


def trusting(*authorities: Path) -> ssl.SSLContext:
    """A client that trusts these alone and forgives nothing."""
    context = ssl.create_default_context(cadata="".join(path.read_text() for path in authorities))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """A client's connection to a server that it takes for ``name``.

    Raises:
        ssl.SSLCertVerificationError: it is not trusted.
    """
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there, server_hostname=name)
    answering = server.wrap_bio(there, back, server_side=True)
    for side in (asking, answering, asking, answering):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert asking.version() is not None
    return asking
