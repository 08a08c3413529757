"""Local authority: created once per user, atomically, and private."""

import datetime
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from emulator.http.certificates import (
    CERTIFICATE,
    KEY,
    OUR_NAME,
    PRIVATE_FOLDER,
    Authority,
    PrivateKey,
    key_usage,
    load_authority,
    make_context,
)
from emulator.settings import SettingsError
from tests.handler.shakes import shake, trusting

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


def test_load_authority_reuses_created_authority(tmp_path: Path) -> None:
    first = load_authority(tmp_path / "tls")
    again = load_authority(tmp_path / "tls")
    assert (first.path, first.pem) == (again.path, again.pem)
    assert first.path.read_bytes() == first.pem


def test_authorities_have_distinct_subjects(tmp_path: Path) -> None:
    one, other = load_authority(tmp_path / "one"), load_authority(tmp_path / "other")
    assert one.certificate.subject != other.certificate.subject


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
def test_authority_key_is_readable_only_by_owner(tmp_path: Path) -> None:
    path = load_authority(tmp_path / "tls").path
    key = key_of(path)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "tls", key.parent, key, path)]
    assert modes == [0o700, 0o700, 0o600, 0o644]
    assert [each.name for each in path.parent.iterdir()] == [CERTIFICATE]


def test_concurrent_loads_create_one_authority(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: load_authority(tmp_path / "tls").pem, range(16)))
    assert len(set(made)) == 1
    files = [str(path.relative_to(tmp_path / "tls")) for path in (tmp_path / "tls").rglob("*.*")]
    assert sorted(files) == ["authority/ca.pem", "private/ca.key"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_authority_passes_strict_openssl_verification(tmp_path: Path) -> None:
    path = load_authority(tmp_path).path
    command = ["openssl", "verify", "-x509_strict", "-check_ss_sig", "-CAfile", str(path), str(path)]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stderr
    shown = subprocess.run(["openssl", "x509", "-noout", "-text", "-in", str(path)], capture_output=True, check=True)
    assert b"CA:TRUE, pathlen:0" in shown.stdout
    assert b"Subject Key Identifier" in shown.stdout


def key_of(certificate: Path) -> Path:
    return certificate.parents[1] / PRIVATE_FOLDER / KEY


def write(
    place: Path,
    key: PrivateKey,
    *,
    ca: bool = True,
    begins: datetime.datetime,
    ends: datetime.datetime,
    called: str = "another",
    key_file: Path | None = None,
) -> None:
    """Write an authority as a user or an earlier release would."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, called)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begins, ends)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    (place / CERTIFICATE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    file = key_file or place.parent / PRIVATE_FOLDER / KEY
    file.touch(mode=0o600)
    file.write_bytes(plain(key))


def plain(key: PrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def behind_a_password(authority: Authority) -> None:
    words = serialization.BestAvailableEncryption(b"secret")
    text = authority.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, words)
    key_of(authority.path).write_bytes(text)


def another_key(authority: Authority, folder: Path) -> None:
    shutil.copy(key_of(load_authority(folder / "another").path), key_of(authority.path))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def no_authority(authority: Authority) -> None:
    write(authority.path.parent, authority.key, ca=False, begins=NOW - DAY, ends=NOW + DAY)


def expired(authority: Authority) -> None:
    write(authority.path.parent, authority.key, begins=NOW - 2 * DAY, ends=NOW - DAY)


def not_yet(authority: Authority) -> None:
    write(authority.path.parent, authority.key, begins=NOW + DAY, ends=NOW + 2 * DAY)


def no_key_for_certificates(authority: Authority) -> None:
    key_of(authority.path).write_bytes(plain(ed25519.Ed25519PrivateKey.generate()))


Change = Callable[[Authority, Path], object]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda a, _: expired(a), f"ca.pem expired on {NOW - DAY:%Y-%m-%d}", id="expired"),
        pytest.param(lambda a, _: not_yet(a), "ca.pem is not valid before", id="not valid yet"),
        pytest.param(lambda a, _: no_authority(a), "ca.pem is not the certificate of an authority", id="of a server"),
        pytest.param(another_key, "ca.key does not fit ca.pem", id="another's key"),
        pytest.param(lambda a, _: a.path.write_text("x"), "ca.pem is damaged", id="a certificate that is none"),
        pytest.param(lambda a, _: key_of(a.path).write_text(""), "ca.key is damaged", id="a key that is empty"),
        pytest.param(lambda a, _: behind_a_password(a), "ca.key is damaged", id="a key behind a password"),
        pytest.param(lambda a, _: no_key_for_certificates(a), "ca.key is of a kind", id="a key of another kind"),
        pytest.param(lambda a, _: key_of(a.path).unlink(), "cannot read ca.key: No such file", id="a key is gone"),
        pytest.param(lambda a, _: a_folder(a.path), "cannot read ca.pem: Is a directory", id="a folder in its place"),
    ],
)
def test_unusable_authority_is_explained_in_one_line(tmp_path: Path, change: Change, reason: str) -> None:
    change(load_authority(tmp_path / "tls"), tmp_path)
    with pytest.raises(SettingsError) as caught:
        load_authority(tmp_path / "tls")
    line = str(caught.value)
    assert line.startswith(f"the local authority in {tmp_path / 'tls'} cannot be used: {reason}")
    assert "\n" not in line


def test_unwritable_authority_folder_is_explained_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SettingsError) as caught:
        load_authority(file / "tls")
    assert "--tls-dir names another folder" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_user_supplied_authority_is_used_unchanged(tmp_path: Path) -> None:
    for name in ("authority", PRIVATE_FOLDER):
        (tmp_path / name).mkdir()
    write(tmp_path / "authority", rsa.generate_private_key(65537, 2048), begins=NOW - DAY, ends=NOW + DAY)
    before = (tmp_path / "authority" / CERTIFICATE).read_bytes()
    authority = load_authority(tmp_path, ["llm.test"])
    shake(make_context(authority, ["llm.test"]), trusting(authority.path), "llm.test")
    assert authority.path.read_bytes() == before


def test_missing_certificate_is_reissued_with_same_key(tmp_path: Path) -> None:
    first = load_authority(tmp_path)
    first.path.unlink()
    again = load_authority(tmp_path)
    shake(make_context(first, ["localhost"]), trusting(again.path), "localhost")


@pytest.mark.parametrize("remaining", [-1, 1, 89], ids=["expired", "on its last day", "for three months"])
def test_expiring_certificate_is_renewed_with_same_key(tmp_path: Path, remaining: int) -> None:
    first = load_authority(tmp_path)
    write(
        first.path.parent,
        first.key,
        begins=NOW - 9 * DAY,
        ends=NOW + remaining * DAY,
        called=name_of(first.certificate),
    )
    again = load_authority(tmp_path)
    assert again.certificate.not_valid_after_utc > NOW + 700 * DAY
    assert again.path.read_bytes() == again.pem
    shake(make_context(first, ["localhost"]), trusting(again.path), "localhost")
    assert load_authority(tmp_path).pem == again.pem


def name_of(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def test_unconstrained_authority_is_replaced_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = tmp_path / "authority"
    old.mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    write(old, key, begins=NOW - DAY, ends=NOW + 3650 * DAY, called=f"{OUR_NAME} 01234567", key_file=old / KEY)
    authority = load_authority(tmp_path)
    assert authority.key.public_key() != key.public_key()
    assert [each.name for each in old.iterdir()] == [CERTIFICATE]
    assert [record.message for record in caplog.records] == [
        f"{old / CERTIFICATE} signed for any name and is replaced; clients must trust the new certificate"
    ]


def test_user_key_is_moved_to_private_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = tmp_path / "authority"
    old.mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    write(old, key, begins=NOW - DAY, ends=NOW + DAY, key_file=old / KEY)
    authority = load_authority(tmp_path)
    assert authority.key.public_key() == key.public_key()
    assert [each.name for each in old.iterdir()] == [CERTIFICATE]
    assert stat.S_IMODE(key_of(authority.path).stat().st_mode) == 0o600
    assert [
        f"{old / KEY} is moved to {tmp_path / PRIVATE_FOLDER / KEY}" in record.message for record in caplog.records
    ] == [True]


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_key_readable_by_others_is_refused(tmp_path: Path, mode: int) -> None:
    key_of(load_authority(tmp_path).path).chmod(mode)
    with pytest.raises(SettingsError, match="which may be known by now: its mode is not 0600"):
        load_authority(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_key_owned_by_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(key_of(load_authority(tmp_path).path), 12345, 12345)
    with pytest.raises(SettingsError, match="belongs to another user"):
        load_authority(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
def test_key_folder_is_restricted_to_owner(tmp_path: Path) -> None:
    (tmp_path / PRIVATE_FOLDER).mkdir(mode=0o755)
    load_authority(tmp_path)
    assert stat.S_IMODE((tmp_path / PRIVATE_FOLDER).stat().st_mode) == 0o700
