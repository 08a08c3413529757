"""Local certificate authority and the server certificates that it signs, for ``--tls`` without certificate files.

``tls.py`` loads them. The authority is created once per user; a server certificate is created at each start, and its
key is on disk only while it is loaded. The authority is constrained to names of this machine, private networks and
names given by ``--host`` and ``--tls-name``.
"""

import datetime
import ipaddress
import logging
import os
import secrets
import shutil
import ssl
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.core.dataclass import fast_dataclass
from emulator.http.certificate_names import find_own_names
from emulator.settings import SettingsError

_DNS = "localhost"  # with its subdomains
_PRIVATE = (
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
)  # RFC 1918, 3927, 4193 and 4291
_NETWORKS = [ipaddress.ip_network(text) for text in _PRIVATE]


def constrain(names: Iterable[str]) -> x509.NameConstraints:
    """Return the name constraints of an authority: its own names, and ``names`` with their subdomains."""
    found: dict[str, x509.GeneralName] = {_DNS: x509.DNSName(_DNS)}
    found.update((str(network), x509.IPAddress(network)) for network in _NETWORKS)
    for name in names:
        if not _is_covered(name, found.values()):
            found[name] = _permit(name)
    return x509.NameConstraints(permitted_subtrees=[*found.values()], excluded_subtrees=None)


def find_uncovered(certificate: x509.Certificate, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` that the authority does not sign for."""
    permitted = read_permitted(certificate)
    return [] if permitted is None else [name for name in names if not _is_covered(name, permitted)]


def read_permitted(certificate: x509.Certificate) -> list[x509.GeneralName] | None:
    """Return the names that an authority may sign for; ``None``: it is not limited."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return None
    return [*(found.permitted_subtrees or ())]


def list_additional_names(certificate: x509.Certificate) -> list[str]:
    """Return the names besides its own that an authority signs for."""
    own = {_DNS, *_PRIVATE}
    found = [str(name.value) for name in read_permitted(certificate) or () if str(name.value) not in own]
    return [text.removesuffix("/32").removesuffix("/128") for text in found]


def _permit(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_network(name))
    except ValueError:
        return x509.DNSName(name.removeprefix("*."))


def _is_covered(name: str, permitted: Iterable[x509.GeneralName]) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        plain = name.removeprefix("*.").lower()
        subtrees = (each.value for each in permitted if isinstance(each, x509.DNSName))
        return any(plain == tree or plain.endswith(f".{tree}") for tree in subtrees)
    networks = (each.value for each in permitted if isinstance(each, x509.IPAddress))
    return any(address in ipaddress.ip_network(network) for network in networks)


OUR_NAME = "emulator local authority"
LIFETIME = datetime.timedelta(days=729)
_DAY = datetime.timedelta(days=1)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def sign_root(key: PrivateKey, names: Sequence[str]) -> x509.Certificate:
    """Create a root certificate that signs server certificates only, for this machine and for ``names``.

    Its subject depends on its key alone: a certificate signed by an earlier root with the same key stays valid.
    """
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{OUR_NAME} {identifier.digest.hex()[:8]}")])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(constrain(names), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Return the key usage of an authority, which signs certificates, or of a server."""
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


CERTIFICATE, KEY = "ca.pem", "ca.key"
PUBLIC_FOLDER = "authority"  # public folder, which containers of clients mount
PRIVATE_FOLDER = "private"  # folder of the key
_RENEWED = datetime.timedelta(days=90)  # before its expiry
T = TypeVar("T")
log = logging.getLogger("emulator")


@fast_dataclass(frozen=True, slots=True, eq=False)
class Authority:
    """Local certificate authority; ``path``: of its certificate, which clients trust."""

    path: Path
    certificate: x509.Certificate
    key: PrivateKey

    @property
    def pem(self) -> bytes:
        """Return the certificate that clients trust, PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def load_authority(folder: Path, names: Sequence[str] = ()) -> Authority:
    """Load the authority of a folder; create it if there is none.

    A user's own authority stays unchanged. A generated one is signed again with its key before it expires, and when it
    does not cover one of ``names``.

    Raises:
        SettingsError: the authority can be neither loaded nor created.
    """
    folder = folder.absolute()
    key, certificate = folder / PRIVATE_FOLDER / KEY, folder / PUBLIC_FOLDER / CERTIFICATE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificate.parent.mkdir(mode=0o755, exist_ok=True)
        _leave_old_layout(key, certificate)
        if not key.exists() and not certificate.exists():
            make_key(key)
        if not certificate.exists():
            publish(certificate, sign_root(load_key(key), [*find_own_names(), *names]), replaces=False)
        return _renew(_load(folder), load_key(key), names)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"cannot keep a local authority in {folder}: {reason}; --tls-dir names another folder"
        ) from None


def _leave_old_layout(key: Path, certificate: Path) -> None:
    """Migrate the layout of earlier releases: move the key out of the public folder.

    An authority without name constraints is deleted.
    """
    old = certificate.with_name(KEY)
    if key.exists() or not old.exists():
        return
    if is_ours(_read(certificate, x509.load_pem_x509_certificate)):
        old.unlink()
        certificate.unlink()
        log.warning("%s signed for any name and is replaced; clients must trust the new certificate", certificate)
        return
    check_owner(old)
    make_private(key.parent)
    shutil.move(old, key)
    log.warning("%s is moved to %s, so that %s can be shared without it", old, key, certificate.parent)


def _renew(authority: Authority, key: PrivateKey, names: Sequence[str]) -> Authority:
    """Sign a generated authority again with its key if it expires soon or does not cover all names."""
    before, path = authority.certificate, authority.path
    if not is_ours(before):
        return authority
    missing = find_uncovered(before, names)
    if not missing and before.not_valid_after_utc - _RENEWED > datetime.datetime.now(datetime.UTC):
        return authority
    after = sign_root(key, [*list_additional_names(before), *missing])
    publish(path, after, replaces=True)
    if missing:
        log.warning("%s now also signs for %s; clients must load it again", path, ", ".join(missing))
    return Authority(path, after, key)


def _load(folder: Path) -> Authority:
    place = folder / PUBLIC_FOLDER
    key = load_key(folder / PRIVATE_FOLDER / KEY)
    certificate = _read(place / CERTIFICATE, x509.load_pem_x509_certificate)
    if key.public_key() != certificate.public_key():
        raise _unusable(folder, f"{KEY} does not fit {CERTIFICATE}")
    if not _is_authority(certificate):
        raise _unusable(folder, f"{CERTIFICATE} is not the certificate of an authority")
    now = datetime.datetime.now(datetime.UTC)
    if now > certificate.not_valid_after_utc and not is_ours(certificate):
        raise _unusable(folder, f"{CERTIFICATE} expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    if now < certificate.not_valid_before_utc:
        raise _unusable(folder, f"{CERTIFICATE} is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}")
    return Authority(place / CERTIFICATE, certificate, key)


def is_ours(certificate: x509.Certificate) -> bool:
    """Return whether an authority was generated by the emulator."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return any(str(name.value).startswith(OUR_NAME) for name in names)


def load_key(path: Path) -> PrivateKey:
    """Load the key of an authority.

    Raises:
        SettingsError: others can read the key, or it cannot be used.
    """
    check_owner(path)
    key = _read(path, lambda text: serialization.load_pem_private_key(text, None))
    if not isinstance(key, PrivateKey):
        raise _unusable(path.parent.parent, f"{KEY} is of a kind that is not used for certificates here")
    return key


def check_owner(path: Path) -> None:
    """Validate that only its owner can read and write a key; Windows has no such permissions.

    Raises:
        SettingsError: another user owns it or others can read it.
    """
    if os.name == "nt" or not path.exists():
        return
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise _unusable(path.parent.parent, f"{path} belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise _unusable(path.parent.parent, f"others can read {path}, which may be known by now: its mode is not 0600")


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can enter; close an existing one to others if possible."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(PermissionError):
        if os.name != "nt" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            folder.chmod(0o700)


def make_key(path: Path) -> None:
    """Create a key file atomically; an existing one stays."""
    make_private(path.parent)
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(path, text, 0o600, replaces=False)


def publish(path: Path, certificate: x509.Certificate, *, replaces: bool) -> None:
    """Write a certificate readable by everyone; an existing one stays unless ``replaces``."""
    _write(path, certificate.public_bytes(serialization.Encoding.PEM), 0o644, replaces=replaces)


def _write(path: Path, data: bytes, mode: int, *, replaces: bool) -> None:
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
        if replaces:
            partial.replace(path)
        else:
            with suppress(FileExistsError):
                os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _read(path: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise _unusable(path.parent.parent, f"cannot read {path.name}: {error.strerror or error}") from None
    except (TypeError, ValueError, UnsupportedAlgorithm):  # a key behind a password is a TypeError
        raise _unusable(path.parent.parent, f"{path.name} is damaged or of a kind that cannot be read") from None


def _is_authority(certificate: x509.Certificate) -> bool:
    """Return whether certificates signed by this one pass strict verification."""
    try:
        extensions = certificate.extensions
        extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca and usage.key_cert_sign
    except (ValueError, x509.ExtensionNotFound):
        return False


def _unusable(folder: Path, reason: str) -> SettingsError:
    remedy = f"remove {PUBLIC_FOLDER} and {PRIVATE_FOLDER} there for a new one, which clients then trust"
    return SettingsError(f"the local authority in {folder} cannot be used: {reason}; {remedy}")


_DAY_LEAF = datetime.timedelta(days=1)
_SESSIONS = ".localhost"
_MAX_CACHED = 256  # certificates of session host names


def make_context(authority: Authority, names: Sequence[str]) -> ssl.SSLContext:
    """Create a server context with a certificate for ``names``, and one on demand for each ``NAME.localhost``.

    Most clients reject ``*.localhost``: a wildcard needs two labels after it.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    context = _load_leaf(_sign(authority, key, names), key)

    @lru_cache(_MAX_CACHED)
    def of(name: str) -> ssl.SSLContext:
        return _load_leaf(_sign(authority, key, [name]), key)

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None and name.lower().endswith(_SESSIONS):
            connection.context = of(name.lower())

    context.sni_callback = choose
    return context


def _load_leaf(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    """Create a context by way of a temporary file, its key encrypted with a random password."""
    password = secrets.token_hex(32)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # fast; a random password needs no key stretching
        serialization.BestAvailableEncryption(password.encode()),
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with _as_file(certificate.public_bytes(serialization.Encoding.PEM) + secret) as file:
        context.load_cert_chain(file, password=password)
    return context


@contextmanager
def _as_file(data: bytes) -> Iterator[Path]:
    """Provide data as a file for the time of a block: in memory where the system has such files."""
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
    """Sign a server certificate for a year at most, and no longer than the authority is valid."""
    issuer = authority.certificate
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "emulator")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(now - _DAY_LEAF, issuer.not_valid_before_utc))
        .not_valid_after(min(now + 365 * _DAY_LEAF, issuer.not_valid_after_utc))
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
