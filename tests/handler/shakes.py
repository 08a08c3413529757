"""TLS handshakes in memory, as strict as the library can be."""

import ssl
from pathlib import Path


def trusting(*authorities: Path) -> ssl.SSLContext:
    """Return a strict client context that trusts only these certificates."""
    context = ssl.create_default_context(cadata="".join(path.read_text() for path in authorities))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Run a client's handshake with a server it expects to be ``name``.

    Raises:
        ssl.SSLCertVerificationError: the certificate is rejected.
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
