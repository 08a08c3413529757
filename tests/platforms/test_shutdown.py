"""Ctrl-C ends a server in order on every system: open responses are drained, the report and the log are written."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
_ROOT = Path(__file__).parents[2]
_CASES = [("", "SIGINT", 130)]
if sys.platform == "linux":
    _CASES += [(name, "SIGINT", 130) for name in ("proactor", "selector", "darwin")] + [("proactor", "SIGTERM", 0)]
    _CASES += [(name, "SIGUSR1", 0) for name in ("proactor", "selector")]  # Ctrl-Break in the simulation
_SERVE = "import sys, tests.platforms.simulation\nfrom emulator.cli import main\nsys.exit(main(sys.argv[1:]))\n"
_RULE = """
version: 1
rules:
- name: slow
  reply: {text: one two three four five six seven eight nine ten}
  latency: {ttft: 20ms, itl: 60ms}
"""
_BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": True}
_PATIENCE = 60  # seconds


@pytest.mark.parametrize(("system", "name", "code"), _CASES)
def test_signal_drains_stream_and_writes_report(tmp_path: Path, system: str, name: str, code: int) -> None:
    (tmp_path / "slow.yaml").write_text(_RULE, encoding="utf-8")
    report, ports = tmp_path / "report.html", tmp_path / "ports.json"
    command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--port-file", str(ports), "--no-watch"]
    server = subprocess.Popen(
        [*command, "--report", str(report), str(tmp_path / "slow.yaml")],
        cwd=_ROOT,
        env={**os.environ, "SIMULATED": system, "PYTHONPATH": str(_ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    try:
        until = time.monotonic() + _PATIENCE
        while not ports.exists():
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        url = json.loads(ports.read_text(encoding="utf-8"))["azure"] + "/openai/v1/chat/completions"
        headers = {"api-key": "k", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(_BODY).encode(), headers)) as answer:
            first = answer.readline()
            _send(server, name)
            received = first + answer.read()
        said = server.communicate(timeout=_PATIENCE)[1]
    finally:
        server.kill()
    assert received.endswith(b"data: [DONE]\n\n")
    assert received.count(b"data: ") > 10
    assert "stopping: 1 response is still open" in said
    assert '"path": "/openai/v1/chat/completions", "status": 200' in said
    assert "slow" in report.read_text(encoding="utf-8")
    assert not ports.exists()
    if os.name != "nt":  # Windows has Ctrl-Break alone for a process of a group of its own
        assert server.returncode == code


def _send(server: "subprocess.Popen[str]", name: str) -> None:
    server.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.Signals[name]))
