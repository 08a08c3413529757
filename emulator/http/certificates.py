"""The local certificate authority and the server certificates it signs.

The authority is made once per user and kept; a server certificate is made for each start, and its key is
never on disk for longer. The authority is constrained to names of this machine, private networks and names
that were asked for.
"""

from __future__ import annotations

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
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.http.certificate_names import find_own_names
from emulator.settings import SettingsError

_DNS = "localhost"  # and all below it
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
    """Return what an authority may sign for: names of its own, and each of ``names`` with all below it."""
    found: dict[str, x509.GeneralName] = {_DNS: x509.DNSName(_DNS)}
    found.update((str(network), x509.IPAddress(network)) for network in _NETWORKS)
    for name in names:
        if not _is_covered(name, found.values()):
            found[name] = _permit(name)
    return x509.NameConstraints(permitted_subtrees=[*found.values()], excluded_subtrees=None)


def find_uncovered(certificate: x509.Certificate, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` that an authority does not sign for."""
    permitted = read_permitted(certificate)
    return [] if permitted is None else [name for name in names if not _is_covered(name, permitted)]


def read_permitted(certificate: x509.Certificate) -> list[x509.GeneralName] | None:
    """Return what an authority is limited to; absent: it signs for any name."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return None
    return [*(found.permitted_subtrees or ())]


def list_asked(certificate: x509.Certificate) -> list[str]:
    """Return the names beyond its own that an authority signs for."""
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
LASTS = datetime.timedelta(days=729)
_DAY = datetime.timedelta(days=1)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def sign_itself(key: PrivateKey, names: Sequence[str]) -> x509.Certificate:
    """Return a root that signs certificates of servers and nothing else, for this machine and for ``names``.

    Its own name follows from its key: a certificate that another of the same key has signed stays valid.
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
        .not_valid_after(now + LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(constrain(names), critical=True)
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


CERTIFICATE, KEY = "ca.pem", "ca.key"
PLACE = "authority"  # what clients may see
PRIVATE = "private"  # what nobody else may see; a container of an application mounts the other folder alone
_RENEWED = datetime.timedelta(days=90)  # before its end
T = TypeVar("T")
log = logging.getLogger("emulator")


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


def keep_authority(folder: Path, names: Sequence[str] = ()) -> Authority:
    """Return the authority kept in a folder; the first who asks makes it.

    An authority of the user's own stays as it is. One that was made here is signed anew by its key before it expires,
    and where it does not sign for one of ``names`` yet.

    Raises:
        SettingsError: there is none and none can be made, or it cannot be used.
    """
    folder = folder.absolute()
    key, certificate = folder / PRIVATE / KEY, folder / PLACE / CERTIFICATE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificate.parent.mkdir(mode=0o755, exist_ok=True)
        _leave_old_layout(key, certificate)
        if not key.exists() and not certificate.exists():
            make_key(key)
        if not certificate.exists():
            publish(certificate, sign_itself(load_key(key), [*find_own_names(), *names]), replaces=False)
        return _renew(_load(folder), load_key(key), names)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"cannot keep a local authority in {folder}: {reason}; --tls-dir names another folder"
        ) from None


def _leave_old_layout(key: Path, certificate: Path) -> None:
    """Move a key from beside its certificate, where earlier releases kept it; one that signs for any name ends."""
    old = certificate.with_name(KEY)
    if key.exists() or not old.exists():
        return
    if is_ours(_read(certificate, x509.load_pem_x509_certificate)):
        old.unlink()
        certificate.unlink()
        log.warning("%s signed for any name, and is made anew; clients have to trust the new one", certificate)
        return
    check_owner(old)
    make_private(key.parent)
    shutil.move(old, key)
    log.warning("%s is moved to %s, so that %s can be shared alone", old, key, certificate.parent)


def _renew(authority: Authority, key: PrivateKey, names: Sequence[str]) -> Authority:
    """Sign an authority of ours anew, by the same key, if it ends soon or does not sign for all names."""
    before, path = authority.certificate, authority.path
    if not is_ours(before):
        return authority
    missing = find_uncovered(before, names)
    if not missing and before.not_valid_after_utc - _RENEWED > datetime.datetime.now(datetime.UTC):
        return authority
    after = sign_itself(key, [*list_asked(before), *missing])
    publish(path, after, replaces=True)
    if missing:
        log.warning("%s signs for %s from now on; clients that have read it read it again", path, ", ".join(missing))
    return Authority(path, after, key)


def _load(folder: Path) -> Authority:
    place = folder / PLACE
    key = load_key(folder / PRIVATE / KEY)
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
    """Return whether an authority was made here."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return any(str(name.value).startswith(OUR_NAME) for name in names)


def load_key(path: Path) -> PrivateKey:
    """Return the key of an authority.

    Raises:
        SettingsError: others can read it, or it is of no use.
    """
    check_owner(path)
    key = _read(path, lambda text: serialization.load_pem_private_key(text, None))
    if not isinstance(key, PrivateKey):
        raise _unusable(path.parent.parent, f"{KEY} is of a kind that is not used for certificates here")
    return key


def check_owner(path: Path) -> None:
    """Refuse a key that somebody else wrote or can read; Windows has no such permissions.

    Raises:
        SettingsError: it is another user's, or others have it.
    """
    if os.name == "nt" or not path.exists():
        return
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise _unusable(path.parent.parent, f"{path} belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise _unusable(path.parent.parent, f"others can read {path}, which may be known by now: its mode is not 0600")


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can enter; one that exists is closed to others, if it may be."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(PermissionError):
        if os.name != "nt" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            folder.chmod(0o700)


def make_key(path: Path) -> None:
    """Make a key, whole at once; if somebody was quicker, theirs stays."""
    make_private(path.parent)
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(path, text, 0o600, replaces=False)


def publish(path: Path, certificate: x509.Certificate, *, replaces: bool) -> None:
    """Write a certificate for everybody; one that is there stays, unless the new one replaces it."""
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
    """Whether what it signs can be verified strictly."""
    try:
        extensions = certificate.extensions
        extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        usage = extensions.get_extension_for_class(x509.KeyUsage).value
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca and usage.key_cert_sign
    except (ValueError, x509.ExtensionNotFound):
        return False


def _unusable(folder: Path, reason: str) -> SettingsError:
    cure = f"remove {PLACE} and {PRIVATE} there for a new one, which clients then trust"
    return SettingsError(f"the local authority in {folder} cannot be used: {reason}; {cure}")


_DAY_LEAF = datetime.timedelta(days=1)
_SESSIONS = ".localhost"
_MOST = 256  # names of sessions whose certificates are kept


def make_context(authority: Authority, names: Sequence[str]) -> ssl.SSLContext:
    """A server context with a certificate for ``names``, and one of its own for each ``NAME.localhost`` that is asked.

    Most clients accept no ``*.localhost``: a wildcard has to stand below two labels.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    context = _load_leaf(_sign(authority, key, names), key)

    @lru_cache(_MOST)
    def of(name: str) -> ssl.SSLContext:
        return _load_leaf(_sign(authority, key, [name]), key)

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name is not None and name.lower().endswith(_SESSIONS):
            connection.context = of(name.lower())

    context.sni_callback = choose
    return context


def _load_leaf(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
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
