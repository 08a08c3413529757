"""One-line messages for operating system errors (ports, files, certificates), with the remedy."""

import errno
import os
import socket
import ssl
from pathlib import Path

_FREE_PORTS = {errno.EADDRINUSE, errno.EACCES}


def explain_address(host: str, port: int, name: str, error: OSError | UnicodeError) -> str:
    """Return why a server cannot listen on an address."""
    known = isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno
    reason = os.strerror(known).lower() if known else "no address of that name"
    hint = "; try --port 0, which takes free ports" if known in _FREE_PORTS else ""
    return f"cannot listen on {host}:{port} for {name}: {reason}{hint}"


def explain_file(error: OSError) -> str:
    """Return why a file cannot be read or written."""
    return (error.strerror or str(error)).lower()


def explain_certificate(certificate: Path, key: Path, error: OSError) -> str:
    """Return why a certificate and its key, two PEM files, cannot be loaded."""
    texts: list[bytes] = []
    for path in (certificate, key):
        try:
            texts.append(path.read_bytes())
        except OSError as unreadable:
            return f"cannot read {path}: {explain_file(unreadable)}"
    if b"-----BEGIN CERTIFICATE" not in texts[0]:
        return f"{certificate} holds no certificate in PEM"
    if b"PRIVATE KEY-----" not in texts[1]:
        return f"{key} holds no private key in PEM"
    if b"ENCRYPTED" in texts[1]:
        return f"{key} is locked with a password; give one that is not"
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return f"{key} is not the key of {certificate}"
    return f"{certificate} and {key} cannot be used: {error}"
