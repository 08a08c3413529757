"""``emulator serve`` in a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator import __version__
from emulator.cli import main
from emulator.cli.names import VENDOR_NAMES

GOOD = "version: 1\nrules: [{name: a, when: {vendor: databricks}, error: {kind: timeout}}]\n"


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


def test_the_environment_is_read_and_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    ports = tmp_path / "ports.json"
    variables = {**os.environ, "EMULATOR_PORT": "0", "EMULATOR_PORT_FILE": str(ports), "EMULATOR_SEDE": "1"}
    command = [sys.executable, "-m", "emulator", "serve"]
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process:
        while not ports.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "EMULATOR_SEDE is not a setting; did you mean EMULATOR_SEED?" in printed


def test_a_file_that_changes_is_served_anew(tmp_path: Path, scenario: Callable[[str], str]) -> None:
    path = Path(scenario("version: 1\nname: first\n"))
    with serving(tmp_path, "--watch", str(path)) as (_, urls):
        path.write_text("version: 1\nname: second, and longer\n")
        deadline = time.monotonic() + 20
        name = ""
        while name != "second, and longer" and time.monotonic() < deadline:
            with urllib.request.urlopen(urls["front"] + "/_emulator/health") as answer:
                name = json.load(answer)["scenario"]["name"]
            time.sleep(0.02)
        assert name == "second, and longer"


def test_strict_on_the_command_line_refuses_what_no_rule_takes(tmp_path: Path, scenario: Callable[[str], str]) -> None:
    with serving(tmp_path, "--strict", "--no-watch", scenario(GOOD)) as (_, urls):
        body = {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 501
        assert "'a': vendor does not hold" in refused.value.read().decode()
        refused.value.close()
