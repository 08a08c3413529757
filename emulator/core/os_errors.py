"""One-line messages for operating system errors (ports, files, certificates), with the remedy; commands print them."""

import errno
import os
import socket
import ssl
from pathlib import Path

_TAKEN = {errno.EADDRINUSE, 10048}  # the second is Windows' WSAEADDRINUSE
_REFUSED = {errno.EACCES, 10013}  # and WSAEACCES
_FREE_PORTS = "; try --port 0, which takes free ports"
_RESERVED = "; Hyper-V and WSL reserve ports: netsh interface ipv4 show excludedportrange protocol=tcp"


def explain_address(host: str, port: int, name: str, error: OSError | UnicodeError) -> str:
    """Return why a server cannot listen on an address."""
    return f"cannot listen on {host}:{port} for {name}: {_explain_bind(error)}"


def _explain_bind(error: OSError | UnicodeError) -> str:
    if not isinstance(error, OSError) or isinstance(error, socket.gaierror) or not error.errno:
        return "no address of that name"
    numbers = {error.errno, getattr(error, "winerror", None)}
    if numbers & _TAKEN:
        return f"address already in use{_FREE_PORTS}"
    if numbers & _REFUSED:
        return f"permission denied{_FREE_PORTS}{_RESERVED if 10013 in numbers else ''}"
    reason = os.strerror(error.errno)
    return (error.strerror or reason if reason.startswith("Unknown error") else reason).lower()  # of Winsock's numbers


def explain_file(error: OSError, path: str | Path | None = None) -> str:
    """Return why a file cannot be read or written; of a relative ``path`` that is missing also where it was sought."""
    reason = (error.strerror or str(error)).lower()
    if path is None or error.errno != errno.ENOENT or Path(path).is_absolute():
        return reason
    return f"{reason}; looked in {Path.cwd()}"


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
