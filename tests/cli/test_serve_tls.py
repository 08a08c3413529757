"""``emulator serve --tls`` with clients that trust the authority once."""

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import openai
import pytest

from emulator.cli import main
from tests.cli.test_serve import serving
from tests.handler.shakes import trusting
from tests.http_client import Running

pytestmark = pytest.mark.slow


@contextmanager
def serving_tls(folder: Path, *arguments: str) -> Iterator[tuple[dict[str, str], Path]]:
    """Serve TLS; return base URLs and the certificate from the banner; the authority is in ``folder / "tls"``."""
    flags = ["--log-format", "text", "--tls", "--tls-dir", str(folder / "tls"), *arguments]
    with serving(folder, *flags) as (process, urls):
        assert process.stderr is not None
        line = next(line for line in process.stderr if "SSL_CERT_FILE=" in line)
        yield urls, Path(line.split("SSL_CERT_FILE=")[1].strip())


def ready(url: str, trusted: Path) -> bool:
    with urllib.request.urlopen(url + "/_emulator/ready", context=trusting(trusted), timeout=20) as answer:
        return bool(answer.status == 200)


@pytest.mark.covers("promises/first steps", "the authority over HTTP")
def test_banner_ca_path_verifies_every_url(tmp_path: Path) -> None:
    with serving_tls(tmp_path) as (urls, trusted):
        assert all(url.startswith("https://") for url in urls.values())
        assert all(ready(url, trusted) for url in urls.values())
        assert main(["health", "--url", urls["front"]]) == 0
        with urllib.request.urlopen(urls["front"] + "/_emulator/ca.pem", context=trusting(trusted)) as answer:
            assert answer.read() == trusted.read_bytes()


@pytest.mark.covers("promises/first steps", "one authority, and a restart breaks nobody")
def test_restart_keeps_trusted_authority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ca", "--tls-dir", str(tmp_path / "tls")]) == 0
    trusted = Path(capsys.readouterr().out.strip())
    for _ in range(2):
        with serving_tls(tmp_path) as (urls, printed):
            assert printed == trusted
            assert ready(urls["front"], trusted)
        (tmp_path / "ports.json").unlink()


def test_concurrent_starts_share_one_authority(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.json", "other.json")]
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--tls", "--tls-dir", str(tmp_path / "tls")]
    with ExitStack() as stack:
        for file in files:
            process = stack.enter_context(subprocess.Popen([*command, "--port-file", str(file)], stderr=-3))
            stack.callback(process.kill)
        deadline = time.monotonic() + 20
        while not all(file.exists() for file in files) and time.monotonic() < deadline:
            time.sleep(0.01)
        trusted = tmp_path / "tls" / "authority" / "ca.pem"
        assert all(ready(json.loads(file.read_text())["front"], trusted) for file in files)


def test_killed_process_leaves_no_private_key(tmp_path: Path) -> None:
    def keys() -> set[Path]:
        return set(Path(tempfile.gettempdir()).glob("emulator-tls-*/*"))

    before = keys()
    with serving_tls(tmp_path):
        assert keys() <= before
    assert keys() <= before


def test_client_trusts_authority_from_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_tls(tmp_path) as (urls, trusted):
        messages = [{"role": "user", "content": "Hello"}]
        with (
            openai.OpenAI(base_url=urls["openvino"] + "/v3", api_key="any", max_retries=0) as stranger,
            pytest.raises(openai.APIConnectionError),
        ):
            stranger.chat.completions.create(model="llama3", messages=messages)  # type: ignore[arg-type]  # plain dicts do
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        with openai.OpenAI(base_url=urls["openvino"] + "/v3", api_key="any") as client:
            answer = client.chat.completions.create(model="llama3", messages=messages)  # type: ignore[arg-type]
        assert answer.choices[0].message.content


@pytest.mark.covers("promises/first steps", "names that are asked for")
def test_certificate_covers_requested_names(tmp_path: Path) -> None:
    with serving_tls(tmp_path, "--tls-name", "emulator", "--tls-name", "llm.test,other") as (urls, trusted):
        port = urlsplit(urls["front"]).port
        for name in ("emulator", "llm.test", "other"):
            assert asyncio.run(greet(port, trusting(trusted), name)).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(ssl.SSLCertVerificationError):
            asyncio.run(greet(port, trusting(trusted), "stranger"))


async def greet(port: int | None, context: ssl.SSLContext, name: str) -> bytes:
    """Return the first line of a response from a server expected to be ``name``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    writer.write(f"GET /_emulator/health HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return line


def test_certificate_covers_session_host(live_tls: Running) -> None:
    assert live_tls.certificate is not None
    port = urlsplit(live_tls.urls["front"]).port
    context = trusting(live_tls.certificate)
    assert asyncio.run(greet(port, context, "a.localhost")).startswith(b"HTTP/1.1 200 ")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_openssl_verifies_certificate(live_tls: Running) -> None:
    address = urlsplit(live_tls.urls["front"]).netloc
    command = ["openssl", "s_client", "-connect", address, "-CAfile", str(live_tls.certificate), "-x509_strict"]
    shown = subprocess.run(
        [*command, "-verify_return_error", "-verify_ip", "127.0.0.1"], input=b"", capture_output=True, check=False
    )
    assert shown.returncode == 0
    assert b"Verify return code: 0 (ok)" in shown.stdout
