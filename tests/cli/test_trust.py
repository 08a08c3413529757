"""Certificates that commands accept, and servers that get the token."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.core.hosts import is_loopback
from emulator.http.certificates import load_authority, make_context

LOOPBACK = "127.0.0.1"


def find_address() -> str:
    """Return a non-loopback address of this machine; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return LOOPBACK


OWN = find_address()
needs_address = pytest.mark.skipif(OWN == LOOPBACK, reason="the machine has loopback alone")


@contextmanager
def listening(folder: Path, host: str) -> Iterator[tuple[str, list[bytes]]]:
    """Serve TLS by an authority in a folder; return the URL and the request heads."""
    context, heads = make_context(load_authority(folder, [host]), [host]), list[bytes]()
    with socket.create_server((host, 0)) as server:

        def serve() -> None:
            with suppress(OSError):  # closed at the end
                while True:
                    answer(server.accept()[0], context, heads)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://{host}:{server.getsockname()[1]}", heads
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def answer(plain: socket.socket, context: ssl.SSLContext, heads: list[bytes]) -> None:
    with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as client:
        with client.makefile("rb") as stream:
            lines = [*iter(stream.readline, b"\r\n")]
            heads.append(b"".join(lines))
            stream.read(sum(int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")))
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "token", "is_known", "is_asked"),
    [
        pytest.param(LOOPBACK, "", False, True, id="loopback without a token"),
        pytest.param(LOOPBACK, "SECRET", False, False, id="loopback without a trusted certificate"),
        pytest.param(LOOPBACK, "SECRET", True, True, id="loopback by the local authority"),
        pytest.param(OWN, "", False, False, id="an address without a trusted certificate", marks=needs_address),
        pytest.param(OWN, "SECRET", False, False, id="the same with a token", marks=needs_address),
        pytest.param(OWN, "SECRET", True, True, id="an address by the local authority", marks=needs_address),
    ],
)
def test_token_is_sent_only_to_trusted_servers(
    host: str,
    token: str,
    is_known: bool,
    is_asked: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EMULATOR_CONTROL_TOKEN", token)
    monkeypatch.setenv("EMULATOR_TLS_DIR", str(tmp_path / ("theirs" if is_known else "mine")))
    with listening(tmp_path / "theirs", host) as (url, heads):
        code = main(["report", "--url", url, "--out", str(tmp_path / "r.html")])
    assert (code, len(heads)) == ((0, 1) if is_asked else (1, 0))
    assert all((b"x-emulator-token: SECRET\r\n" in head) == bool(token) for head in heads)
    assert ("SSL_CERT_FILE" in capsys.readouterr().err) == (not is_asked)
    assert not (tmp_path / "mine").exists()


@needs_address
def test_health_requires_trusted_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMULATOR_TLS_DIR", str(tmp_path / "mine"))
    with listening(tmp_path / "theirs", OWN) as (url, heads):
        assert main(["health", "--url", url]) == 1
        assert heads == []
        assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err
        monkeypatch.setenv("EMULATOR_TLS_DIR", str(tmp_path / "theirs"))
        assert main(["health", "--url", url]) == 0


@pytest.mark.parametrize(
    ("host", "is_it"),
    [
        ("localhost", True),
        ("a.LocalHost.", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("fe80::1%eth0", False),
        ("::ffff:10.0.0.1", False),
        ("emulator", False),
    ],
)
def test_is_loopback(host: str, is_it: bool) -> None:
    assert is_loopback(host) == is_it
