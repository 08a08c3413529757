"""How commands speak to an emulator of this machine."""

import ssl


def trust_all(url: str) -> ssl.SSLContext | None:
    """Whoever answers is taken for it: its certificate is our own. ``None``: the URL needs no TLS."""
    if not url.lower().startswith("https:"):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
