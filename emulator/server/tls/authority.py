"""The local authority whose word clients take for every emulator of one user: made once, then kept."""

from __future__ import annotations

import datetime
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from emulator.settings import SettingsError

CERTIFICATE, KEY = "ca.pem", "ca.key"
PLACE = "authority"  # a folder of its own, so that both files can be moved in at once
_YEARS = 10
_DAY = datetime.timedelta(days=1)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Authority:
    """Signs the certificate of each start; ``path``: of its own certificate, which clients trust."""

    path: Path
    certificate: x509.Certificate
    key: PrivateKey

    @property
    def pem(self) -> bytes:
        """The certificate that clients trust."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def keep_authority(folder: Path) -> Authority:
    """The authority kept in a folder; the first who asks makes it.

    Raises:
        SettingsError: there is none and none can be made, or it cannot be used.
    """
    place = folder.absolute() / PLACE
    try:
        if not place.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make(place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"cannot keep a local authority in {folder}: {reason}; --tls-dir names another folder"
        ) from None
    return _load(place)


def _make(place: Path) -> None:
    """Make an authority beside its place and move it there whole; if somebody was quicker, theirs stays."""
    partial = place.with_name(f".{place.name}-{secrets.token_hex(8)}")
    partial.mkdir(mode=0o755)
    try:
        key = ec.generate_private_key(ec.SECP256R1())
        (partial / KEY).touch(mode=0o600)
        (partial / KEY).write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        (partial / CERTIFICATE).write_bytes(_sign_itself(key).public_bytes(serialization.Encoding.PEM))
        partial.rename(place)
    except OSError:
        if not place.is_dir():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _sign_itself(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    """A root that signs certificates of servers and nothing else; no two have the same name."""
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"emulator local authority {identifier.digest.hex()[:8]}")]
    )
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + 365 * _YEARS * _DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """What a key is for: an authority signs certificates, a server its handshakes."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _load(place: Path) -> Authority:
    certificate = _read(place / CERTIFICATE, x509.load_pem_x509_certificate)
    key = _read(place / KEY, lambda text: serialization.load_pem_private_key(text, None))
    if not isinstance(key, PrivateKey):
        raise _unusable(place, f"{KEY} is of a kind that is not used for certificates here")
    if key.public_key() != certificate.public_key():
        raise _unusable(place, f"{KEY} does not fit {CERTIFICATE}")
    if not _is_authority(certificate):
        raise _unusable(place, f"{CERTIFICATE} is not the certificate of an authority")
    now = datetime.datetime.now(datetime.UTC)
    if now > certificate.not_valid_after_utc:
        raise _unusable(place, f"{CERTIFICATE} expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    if now < certificate.not_valid_before_utc:
        raise _unusable(place, f"{CERTIFICATE} is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}")
    return Authority(place / CERTIFICATE, certificate, key)


def _read(path: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise _unusable(path.parent, f"cannot read {path.name}: {error.strerror or error}") from None
    except (TypeError, ValueError, UnsupportedAlgorithm):  # a key behind a password is a TypeError
        raise _unusable(path.parent, f"{path.name} is damaged or of a kind that cannot be read") from None


def _is_authority(certificate: x509.Certificate) -> bool:
    """Whether what it signs can be verified strictly."""
    try:
        extensions = certificate.extensions
        extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca and usage.key_cert_sign
    except (ValueError, x509.ExtensionNotFound):
        return False


def _unusable(place: Path, reason: str) -> SettingsError:
    cure = "remove that folder for a new one, which clients then trust"
    return SettingsError(f"the local authority in {place} cannot be used: {reason}; {cure}")
