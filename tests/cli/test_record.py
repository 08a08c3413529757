"""``emulator record`` in a process of its own."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from emulator import start
from emulator.recording.exchange import load_folder

pytestmark = pytest.mark.slow
PATIENCE = 30.0  # seconds
SECRET = f"dapi{'0123456789abcdef' * 2}"


@pytest.mark.covers("language/commands", "record")
@pytest.mark.parametrize(("said", "code"), [("hello", 0), (f"my key is {SECRET}", 1)])
def test_records_until_a_signal(said: str, code: int, tmp_path: Path) -> None:
    ports, folder = tmp_path / "ports.json", tmp_path / "calls"
    with start() as emulator:
        command = [sys.executable, "-m", "emulator", "record", "--to", str(folder), "--fail-on-secret", "--port", "0"]
        command += ["--port-file", str(ports), f"databricks={emulator.url('databricks')}"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        ends = time.monotonic() + PATIENCE
        while not ports.exists():
            assert process.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.02)
        request = urllib.request.Request(
            json.loads(ports.read_text())["databricks"] + "/serving-endpoints/chat/completions",
            json.dumps(
                {
                    "model": "databricks-meta-llama-3-3-70b-instruct",
                    "messages": [{"role": "user", "content": said}],
                    "max_tokens": 5,
                }
            ).encode(),
            {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            body = response.read()
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=PATIENCE)
    (exchange,) = load_folder(folder)
    assert (process.returncode, exchange.body, ports.exists()) == (code, body, False)
    assert SECRET not in told + "".join(file.read_text() for file in folder.iterdir())
    assert "1 calls recorded in" in told
    assert "DATABRICKS_HOST=" in told
    assert "TOKEN=" not in told  # the service takes none of ours
    assert ("not credential headers" in told) == bool(code)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody=http://a"], "unknown vendor 'nobody'"),
        (["tgi=http://a", "--upstream-ca", "missing.pem"], "--upstream-ca: no such file or directory"),
        (["tgi=http://a", "--silence", "5"], "--silence: "),
        (["tgi=http://a", "--to", __file__], "file exists; name a folder"),
    ],
)
def test_wrong_arguments_exit_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "emulator", "record", "--to", str(tmp_path), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    assert message in ended.stderr
