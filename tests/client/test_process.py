"""An emulator in a process of its own."""

import os
import sys
import urllib.request
from pathlib import Path

import pytest

from emulator.client import EmulatorClient, EmulatorError
from emulator.client.process import run_command, split_command

pytestmark = pytest.mark.slow

EMULATOR = [sys.executable, "-m", "emulator"]
SHELL = ["sh", "-c", '"$0" "$@"; exit $?', *EMULATOR]  # as `uvx`, a process between the tests and the server


@pytest.mark.parametrize("command", [pytest.param(EMULATOR, id="directly"), pytest.param(SHELL, id="behind another")])
def test_run_command_serves_until_block_ends(tmp_path: Path, command: list[str]) -> None:
    log = tmp_path / "logs" / "calls.log"
    with run_command(command, log) as front:
        with EmulatorClient(front) as client, client.session("a") as bound:
            bound.load({"rules": [{"name": "busy", "error": {"kind": "overloaded"}}]})
            assert bound.requests() == []
        with urllib.request.urlopen(f"{front}/_emulator/health", timeout=10) as answer:
            assert answer.status == 200
    with pytest.raises(ConnectionError, match="no emulator answers"), EmulatorClient(front) as client:
        client.requests()
    assert front in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param([*EMULATOR, "--nonsense"], "ended with 2:\n.*nonsense", id="wrong usage"),
        pytest.param(["sh", "-c", "exit 3"], "ended with 3 and printed nothing", id="no emulator"),
        pytest.param(["no-such-command", "x"], "cannot run 'no-such-command x': .*no-such-command", id="no command"),
    ],
)
def test_run_command_reports_why_command_does_not_serve(command: list[str], message: str) -> None:
    with pytest.raises(EmulatorError, match=f"(?s){message}"), run_command(command):
        pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uvx llm-emulator", ["uvx", "llm-emulator"]),
        ("uvx --from 'llm-emulator==0.1.0' emulator", ["uvx", "--from", "llm-emulator==0.1.0", "emulator"]),
    ],
)
def test_split_command_follows_shell_rules(text: str, words: list[str]) -> None:
    assert split_command(text) == words


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are POSIX's")
def test_run_command_ends_every_started_process(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with run_command(["sh", "-c", 'echo $$ > "$0"; "$@" & wait', str(file), *EMULATOR]) as front:
        pass
    with pytest.raises(ConnectionError), EmulatorClient(front) as client:
        client.requests()
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)
