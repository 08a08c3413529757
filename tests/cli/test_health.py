"""``emulator health``: its sources of the URL, and its messages if no emulator runs."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import main
from tests.http_client import Running


@pytest.mark.covers("language/commands", "health")
def test_health_without_server_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["health", "--port", str(port)]) == 1
    assert "not ready" in capsys.readouterr().err


def test_health_reads_url_from_port_file(live: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ports.json"
    monkeypatch.setenv("EMULATOR_PORT_FILE", str(file))
    file.write_text(json.dumps({"front": live.urls["front"]}))
    assert main(["health"]) == 0


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"back": 1}'])
def test_port_file_missing_or_invalid_exits_1(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ports.json"
    monkeypatch.setenv("EMULATOR_PORT_FILE", str(file))
    if text is not None:
        file.write_text(text)
    assert main(["health"]) == 1
    assert capsys.readouterr().err == f"not ready: no emulator has written {file}\n"


def test_port_flag_takes_precedence_over_port_file(
    live: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMULATOR_PORT_FILE", str(tmp_path / "ports.json"))
    assert main(["health", "--port", live.urls["front"].rpartition(":")[2]]) == 0


SCRIPT = """
import sys
from emulator.cli import main
code = main(["health"])
print(code, *(name for name in ("argparse", "json", "ssl", "http", "urllib") if name in sys.modules))
"""


def run_probe(file: Path) -> tuple[str, str]:
    """Run the probe with a port file in a process; return its output, exit code and imports."""
    environment = {"EMULATOR_PORT_FILE": str(file), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{SCRIPT}"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    said, _, rest = ended.stdout.rstrip("\n").rpartition("\n")
    return said or ended.stderr.rstrip("\n"), rest


def test_probe_by_port_file_avoids_heavy_imports(live: Running, tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    assert run_probe(file) == (f"not ready: no emulator has written {file}", "1")
    file.write_text(json.dumps({"front": live.urls["front"]}, indent=1))
    said, rest = run_probe(file)
    assert said == "ready"
    assert rest.split()[0] == "0"
    assert not {"argparse", "json", "ssl", "http", "urllib"} & set(rest.split())


@pytest.mark.slow
def test_probe_of_closed_port_prints_reason(tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        file.write_text(json.dumps({"front": f"http://127.0.0.1:{free.getsockname()[1]}"}))
    said, rest = run_probe(file)
    assert said.startswith("not ready: http://127.0.0.1:")
    assert "connection refused" in said
    assert rest.split()[0] == "1"
