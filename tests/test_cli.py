"""The command line as a user types it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator import __version__
from emulator.cli import VENDOR_NAMES, main
from emulator.vendors import VENDORS


def test_the_names_offered_are_the_vendors() -> None:
    assert tuple(vendor.name for vendor in VENDORS) == VENDOR_NAMES


def test_without_a_verb_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "serve" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"emulator {__version__}\n")


def test_help_shows_flag_variable_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    text = capsys.readouterr().out
    assert "--log-level" in text
    assert "[EMULATOR_LOG_LEVEL] (default info)" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["serve", "--port", "x"], "--port takes a whole number", id="a port that is text"),
        pytest.param(["serve", "--ttft", "100"], "'100' is not a duration", id="a duration without a unit"),
        pytest.param(["serve", "no-such-file.yaml"], "no-such-file.yaml", id="a file that is not there"),
        pytest.param(
            ["serve", "--tls", "--tls-cert", "no.pem", "--tls-key", "no.key"], "TLS certificate", id="no certificate"
        ),
    ],
)
def test_wrong_usage_is_one_clear_line_and_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_unknown_flag_is_2() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--no-such-flag"])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("vendor", "lines"),
    [
        pytest.param(
            "databricks",
            ["export DATABRICKS_HOST=http://127.0.0.1:4011", "export DATABRICKS_TOKEN="],
            id="Databricks",
        ),
    ],
)
def test_env_prints_what_to_export(vendor: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", vendor]) == 0
    printed = capsys.readouterr().out
    assert all(line in printed for line in lines)
    assert all(line.startswith("export ") for line in printed.splitlines())


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_env_points_every_vendor_at_its_own_port(vendor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", vendor, "--port", "5000", "--tls"]) == 0
    assert f"https://127.0.0.1:{5001 + VENDOR_NAMES.index(vendor)}" in capsys.readouterr().out


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """``emulator serve`` in a process of its own, and its base URLs."""
    ports = folder / "ports.json"
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--port-file", str(ports), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not ports.exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process, json.loads(ports.read_text())
    finally:
        process.kill()
        process.communicate()


def test_serve_answers_and_ends_with_0(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, urls):
        assert list(urls) == ["front", *VENDOR_NAMES]
        with urllib.request.urlopen(urls["front"] + "/_emulator/health") as answer:
            health = json.load(answer)
        assert (health["status"], health["version"]) == ("ok", __version__)
        assert main(["health", "--url", urls["front"]]) == 0
        process.send_signal(signal.SIGTERM)
        _, banner = process.communicate(timeout=20)
        assert process.returncode == 0
        assert all(urls[name] in banner for name in VENDOR_NAMES)


def test_a_stream_that_is_open_at_sigterm_ends_whole(tmp_path: Path) -> None:
    with serving(tmp_path, "--ttft", "200ms", "--itl", "10ms") as (process, urls):
        body = {"model": "llama3", "stream": True, "max_tokens": 30, "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:  # returns with the head, before the first token
            process.send_signal(signal.SIGTERM)
            assert answer.read().endswith(b"data: [DONE]\n\n")
        assert process.wait(timeout=20) == 0


def test_a_port_in_use_is_one_clear_line_and_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "emulator", "serve", "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert f"127.0.0.1:{port}" in ended.stderr


def test_tls_is_trusted_by_the_line_the_banner_prints(tmp_path: Path) -> None:
    import ssl

    with serving(tmp_path, "--tls") as (process, urls):
        assert all(url.startswith("https://") for url in urls.values())
        assert process.stderr is not None
        line = next(line for line in process.stderr if "SSL_CERT_FILE=" in line)
        context = ssl.create_default_context(cafile=line.split("SSL_CERT_FILE=")[1].strip())
        for url in urls.values():
            with urllib.request.urlopen(url + "/_emulator/ready", context=context) as answer:
                assert answer.status == 200
        assert main(["health", "--url", urls["front"]]) == 0


def test_health_of_nothing_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["health", "--port", str(port)]) == 1
    assert "not ready" in capsys.readouterr().err


def test_the_environment_is_read(tmp_path: Path) -> None:
    ports = tmp_path / "ports.json"
    variables = {**os.environ, "EMULATOR_PORT": "0", "EMULATOR_PORT_FILE": str(ports), "EMULATOR_SEDE": "1"}
    command = [sys.executable, "-m", "emulator", "serve"]
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process:
        while not ports.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "EMULATOR_SEDE is not a setting; did you mean EMULATOR_SEED?" in printed
