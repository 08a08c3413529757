"""The local authority whose word clients take for every emulator of one user: made once, then kept."""

from __future__ import annotations

import datetime
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from emulator.server.tls.constraints import find_uncovered, list_asked
from emulator.server.tls.names import find_own_names
from emulator.server.tls.signing import OUR_NAME, PrivateKey, sign_itself
from emulator.settings import SettingsError

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
