"""A certificate that exists only while the server does, for clients that insist on TLS."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509


def load_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A server context for a certificate and its key, both PEM.

    Raises:
        OSError, ssl.SSLError: a file that cannot be read or does not fit.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key, password="")  # never asked for on the terminal
    return context


def make_certificate(host: str, folder: Path | None = None) -> tuple[Path, Path]:
    """Write a self-signed certificate and its key as PEM files; valid for a year.

    It names ``localhost``, the loopback addresses, the machine's host name and ``host``.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder = folder or Path(tempfile.mkdtemp(prefix="emulator-tls-"))
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "emulator")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "emulator-cert.pem", folder / "emulator-key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].touch(mode=0o600)
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def _names(host: str) -> list[x509.GeneralName]:
    from cryptography import x509

    names: dict[str, x509.GeneralName] = {}
    for text in ("localhost", "127.0.0.1", "::1", socket.gethostname(), host):
        try:
            names[text] = x509.IPAddress(ipaddress.ip_address(text))
        except ValueError:
            names[text] = x509.DNSName(text)
    return list(names.values())
