"""What the machine refuses, in words."""

import errno
import socket
import ssl
from pathlib import Path

import pytest

from emulator.core.os_errors import explain_address, explain_certificate
from emulator.http.certificates import load_authority
from emulator.http.tls import load_context


@pytest.mark.parametrize(
    ("error", "says"),
    [
        pytest.param(OSError(errno.EADDRINUSE, "long"), "address already in use; try --port 0", id="taken"),
        pytest.param(OSError(errno.EACCES, "long"), "permission denied; try --port 0", id="a port of the system"),
        pytest.param(OSError(10048, "long"), "address already in use; try --port 0", id="taken on Windows"),
        pytest.param(
            OSError(10013, "long"), "permission denied; try --port 0, which takes free ports; Hyper-V", id="10013"
        ),
        pytest.param(OSError(10049, "Not valid here."), "not valid here.", id="another number of Winsock"),
        pytest.param(OSError(errno.EADDRNOTAVAIL, "long"), "cannot assign requested address", id="not of this machine"),
        pytest.param(socket.gaierror(-2, "unknown"), "no address of that name", id="an unknown name"),
        pytest.param(UnicodeError("label empty"), "no address of that name", id="no name at all"),
    ],
)
def test_explain_address_names_listen_failure(error: OSError | UnicodeError, says: str) -> None:
    assert explain_address("h", 1, "front", error).startswith(f"cannot listen on h:1 for front: {says}")


@pytest.mark.parametrize(
    ("certificate", "key", "says"),
    [
        pytest.param("a/emulator-cert.pem", "b/emulator-key.pem", "is not the key of", id="another's key"),
        pytest.param("junk.pem", "a/emulator-key.pem", "junk.pem holds no certificate in PEM", id="no certificate"),
        pytest.param("a/emulator-cert.pem", "junk.pem", "junk.pem holds no private key in PEM", id="no key"),
        pytest.param("a/emulator-key.pem", "a/emulator-cert.pem", "holds no certificate in PEM", id="exchanged"),
        pytest.param("a/emulator-cert.pem", "locked.pem", "is locked with a password", id="a locked key"),
        pytest.param("none.pem", "junk.pem", "none.pem: no such file or directory", id="no file"),
        pytest.param("a", "junk.pem", "a: is a directory", id="a folder"),
    ],
)
def test_explain_certificate_names_unusable_file(tmp_path: Path, certificate: str, key: str, says: str) -> None:
    for name in ("a", "b"):
        made = load_authority(tmp_path / name).path.parent
        (made / "ca.pem").rename(tmp_path / name / "emulator-cert.pem")
        (tmp_path / name / "private" / "ca.key").rename(tmp_path / name / "emulator-key.pem")
    (tmp_path / "junk.pem").write_text("junk")
    (tmp_path / "locked.pem").write_text(
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
    )
    with pytest.raises((ssl.SSLError, FileNotFoundError, IsADirectoryError)) as caught:
        load_context(tmp_path / certificate, tmp_path / key)
    text = explain_certificate(tmp_path / certificate, tmp_path / key, caught.value)
    assert says in text
    assert "\n" not in text
