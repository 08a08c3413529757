"""Server certificate: strictly valid for every name it should have, under its authority alone."""

import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from emulator.http.certificates import Authority, load_authority, make_context
from emulator.http.tls import find_names
from tests.handler.shakes import shake, trusting


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(tmp_path_factory.mktemp("tls"), ["emulator", "llm.test"])


@pytest.fixture(scope="module")
def server(authority: Authority) -> ssl.SSLContext:
    return make_context(authority, find_names("10.1.2.3", ["emulator", "llm.test", "192.168.7.9"]))


def received(server: ssl.SSLContext, authority: Authority, name: str = "localhost") -> x509.Certificate:
    """Return the certificate that a client receives."""
    shown = shake(server, trusting(authority.path), name).getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown)


@pytest.mark.parametrize(
    "name",
    [
        "localhost",
        "127.0.0.1",
        "::1",
        "10.1.2.3",
        "emulator",
        "llm.test",
        "192.168.7.9",
        "a.localhost",
        "B.c.localhost",
    ],
)
def test_certificate_is_trusted_for_its_names(name: str, server: ssl.SSLContext, authority: Authority) -> None:
    shake(server, trusting(authority.path), name)


@pytest.mark.parametrize("name", ["example.org", "10.9.9.9", "localhost.example.org"])
def test_certificate_is_not_trusted_for_other_names(name: str, server: ssl.SSLContext, authority: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(server, trusting(authority.path), name)


def test_certificate_stays_trusted_after_restart(authority: Authority) -> None:
    client = trusting(authority.path)
    again = load_authority(authority.path.parent.parent)
    for start in (authority, again):
        shake(make_context(start, ["localhost"]), client, "localhost")


@pytest.mark.covers("promises/first steps", "two authorities at once")
def test_client_trusts_two_authorities_together(tmp_path: Path, authority: Authority) -> None:
    other = load_authority(tmp_path)
    client = trusting(authority.path, other.path)
    for start in (authority, other):
        shake(make_context(start, ["localhost"]), client, "localhost")


def test_other_authority_is_not_trusted(tmp_path: Path, authority: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(make_context(load_authority(tmp_path), ["localhost"]), trusting(authority.path), "localhost")


def test_every_start_creates_new_key(authority: Authority) -> None:
    first, second = (received(make_context(authority, ["localhost"]), authority) for _ in range(2))
    assert first.public_key() != second.public_key()
    assert first.serial_number != second.serial_number


def test_key_identifiers_match_authority(server: ssl.SSLContext, authority: Authority) -> None:
    leaf = received(server, authority)
    own = leaf.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    issuer = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    root = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert issuer.key_identifier == root.digest != own.digest
    assert leaf.not_valid_after_utc <= authority.certificate.not_valid_after_utc


def test_same_name_receives_same_certificate(server: ssl.SSLContext, authority: Authority) -> None:
    assert received(server, authority, "a.localhost") == received(server, authority, "a.localhost")


def test_private_key_leaves_no_file(authority: Authority) -> None:
    before = set(Path(tempfile.gettempdir()).glob("emulator-tls-*"))
    make_context(authority, ["localhost"])
    assert set(Path(tempfile.gettempdir()).glob("emulator-tls-*")) <= before


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_openssl_verifies_certificate_strictly(tmp_path: Path, server: ssl.SSLContext, authority: Authority) -> None:
    file = tmp_path / "leaf.pem"
    file.write_bytes(received(server, authority).public_bytes(serialization.Encoding.PEM))
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "llm.test"]
    verified = subprocess.run(
        [*command, "-CAfile", str(authority.path), str(file)], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stderr
