"""The certificate of one start: signed by the local authority; its key is in no file that lasts."""

from __future__ import annotations

import datetime
import ipaddress
import os
import secrets
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.server.tls.authority import Authority
from emulator.server.tls.signing import key_usage

_DAY = datetime.timedelta(days=1)
_SESSIONS = ".localhost"
_MOST = 256  # names of sessions whose certificates are kept


def make_context(authority: Authority, names: Sequence[str]) -> ssl.SSLContext:
    """A server context with a certificate for ``names``, and one of its own for each ``NAME.localhost`` that is asked.

    Most clients accept no ``*.localhost``: a wildcard has to stand below two labels.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    context = _load(_sign(authority, key, names), key)

    @lru_cache(_MOST)
    def of(name: str) -> ssl.SSLContext:
        return _load(_sign(authority, key, [name]), key)

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None and name.lower().endswith(_SESSIONS):
            connection.context = of(name.lower())

    context.sni_callback = choose
    return context


def _load(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    """A context from a file that is gone at once, if it ever was on a disk, and whose password was never written."""
    password = secrets.token_hex(32)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # quick; the password is random and needs no stretching
        serialization.BestAvailableEncryption(password.encode()),
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with _as_file(certificate.public_bytes(serialization.Encoding.PEM) + secret) as file:
        context.load_cert_chain(file, password=password)
    return context


@contextmanager
def _as_file(data: bytes) -> Iterator[Path]:
    """A file meanwhile: in memory where the system has such files, which no end of a process leaves behind."""
    descriptors = Path("/proc/self/fd")
    if hasattr(os, "memfd_create") and descriptors.is_dir():
        with os.fdopen(os.memfd_create("leaf"), "wb") as memory:
            memory.write(data)
            memory.flush()
            yield descriptors / str(memory.fileno())
        return
    with tempfile.TemporaryDirectory(prefix="emulator-tls-") as folder:
        file = Path(folder, "leaf.pem")
        file.write_bytes(data)
        yield file


def _sign(authority: Authority, key: ec.EllipticCurvePrivateKey, names: Sequence[str]) -> x509.Certificate:
    """A certificate of at most a year, and no longer than the authority's own."""
    issuer = authority.certificate
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "emulator")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(now - _DAY, issuer.not_valid_before_utc))
        .not_valid_after(min(now + 365 * _DAY, issuer.not_valid_after_utc))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority.key, hashes.SHA256())
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
