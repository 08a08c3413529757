"""Name constraints: clients accept certificates for this machine, private networks and requested names."""

import datetime
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from emulator.http.certificates import Authority, find_uncovered, load_authority, make_context, read_permitted
from emulator.http.tls import open_tls
from emulator.settings import Settings
from tests.handler.shakes import shake, trusting

pytestmark = pytest.mark.slow

ASKED = ["emulator", "*.svc.test", "192.0.2.7"]
ACCEPTED = [
    "localhost",
    "a.localhost",
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "10.1.2.3",
    "172.31.0.1",
    "192.168.7.9",
    "169.254.1.1",
    "fd00::2",
    "fe80::1",
    "emulator",
    "a.svc.test",
    "192.0.2.7",
]
REFUSED = [
    "example.com",
    "api.openai.com",
    "localhost.example.com",
    "notlocalhost",
    "8.8.8.8",
    "172.32.0.1",
    "192.0.2.8",
    "2001:db8::1",
    "svc.test.example.com",
]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return load_authority(tmp_path_factory.mktemp("tls"), ASKED)


@pytest.mark.parametrize("name", ACCEPTED)
def test_python_accepts_permitted_name(name: str, authority: Authority) -> None:
    shake(make_context(authority, [name]), trusting(authority.path), name)


@pytest.mark.parametrize("name", REFUSED)
def test_python_rejects_excluded_name(name: str, authority: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        shake(make_context(authority, [name]), trusting(authority.path), name)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
@pytest.mark.parametrize(("name", "code"), [*((name, 0) for name in ACCEPTED), *((name, 2) for name in REFUSED)])
def test_openssl_enforces_name_constraints(name: str, code: int, authority: Authority, tmp_path: Path) -> None:
    kind = "IP" if ":" in name or name.replace(".", "").isdecimal() else "DNS"
    (tmp_path / "e").write_text(f"subjectAltName={kind}:{name}\n")
    key = authority.path.parents[1] / "private" / "ca.key"
    request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -subj /CN=x"
    sign = f"x509 -req -in c -CA {authority.path} -CAkey {key} -set_serial 1 -extfile e -out l"
    for line in (request, sign):
        subprocess.run(["openssl", *line.split()], cwd=tmp_path, capture_output=True, check=True)
    asked = "-verify_ip" if kind == "IP" else "-verify_hostname"
    command = ["openssl", "verify", "-CAfile", str(authority.path), asked, name, "l"]
    verified = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert verified.returncode == code, verified.stderr
    assert ("permitted subtree violation" in verified.stderr) == bool(code)


def test_constraint_is_critical_and_certificate_lasts_two_years_at_most(authority: Authority) -> None:
    certificate = authority.certificate
    assert certificate.extensions.get_extension_for_class(x509.NameConstraints).critical
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc <= datetime.timedelta(days=730)


def test_added_name_reissues_ca_with_same_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def start(*names: str, host: str = "0.0.0.0") -> Authority:
        authority = open_tls(Settings(tls=True, tls_dir=tmp_path, tls_name=names, host=host)).authority
        assert authority is not None
        return authority

    first = start("one.test")
    assert start("one.test", "a.one.test", "10.0.0.1").pem == first.pem
    assert caplog.records == []
    second = start("Two.test", host="192.0.2.9")
    said = [record.message for record in caplog.records]
    assert said == [f"{first.path} now also signs for 192.0.2.9, two.test; clients must load it again"]
    assert start("one.test", "two.test").pem == second.pem
    shake(make_context(first, ["one.test"]), trusting(second.path), "one.test")


def test_uncovered_host_name_does_not_prevent_start(tmp_path: Path) -> None:
    """The certificate of a server leaves out what its authority does not sign for."""
    settings = Settings(tls=True, tls_dir=tmp_path)
    made = open_tls(settings).authority
    assert made is not None
    own = find_uncovered(made.certificate, ["renamed", "localhost"])
    assert own == ["renamed"]
    foreign = sign_for_another_machine(made)
    made.path.write_bytes(foreign.public_bytes(serialization.Encoding.PEM))
    again = open_tls(settings)
    assert again.context is not None
    shake(again.context, trusting(made.path), "localhost")
    assert made.path.read_bytes() == foreign.public_bytes(serialization.Encoding.PEM)


def sign_for_another_machine(made: Authority) -> x509.Certificate:
    """Return the authority that a machine of another name would have created."""
    builder = x509.CertificateBuilder(
        made.certificate.subject,
        made.certificate.subject,
        made.certificate.public_key(),
        7,
        made.certificate.not_valid_before_utc,
        made.certificate.not_valid_after_utc,
    )
    addresses = [name for name in read_permitted(made.certificate) or () if isinstance(name, x509.IPAddress)]
    for extension in made.certificate.extensions:
        value = extension.value
        if isinstance(value, x509.NameConstraints):
            value = x509.NameConstraints([x509.DNSName("localhost"), *addresses, x509.DNSName("another-machine")], None)
        builder = builder.add_extension(value, critical=extension.critical)
    assert isinstance(made.key, ec.EllipticCurvePrivateKey)
    return builder.sign(made.key, hashes.SHA256())
