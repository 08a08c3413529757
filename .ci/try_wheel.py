"""Use an installed emulator as a newcomer does, on any system: ``try_wheel.py serve``, ``try_wheel.py pytest``.

It needs the standard library and, for ``pytest``, pytest. Run it with ``-I``, so that it imports what is installed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

PATIENCE = 60  # seconds
CHAT = {
    "model": "databricks-meta-llama-3-3-70b-instruct",
    "messages": [{"role": "user", "content": "Hello"}],
    "stream": True,
}
TEST = """
import json
import urllib.request


def test_the_fixture_answers(emulator):
    emulator.load({"rules": [{"name": "tides", "reply": {"text": "The moon."}}]})
    body = {"messages": [{"role": "user", "content": "What moves the tides?"}]}
    url = emulator.url("databricks") + "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
    headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert json.load(answer)["choices"][0]["message"]["content"] == "The moon."
    emulator.assert_called(times=1)
"""


def try_serve(folder: Path) -> None:
    """Start ``emulator serve``, hear a stream to its end, ask after its health and stop it."""
    command = [sys.executable, "-I", "-m", "emulator"]
    said = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
    assert version("llm-emulator") in said, said
    with serving(command, folder / "ports.json") as urls:
        url = urls["databricks"] + "/serving-endpoints/chat/completions"
        headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
        asked = urllib.request.Request(url, json.dumps(CHAT).encode(), headers)  # noqa: S310  # of its own making
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:  # noqa: S310
            heard = answer.read().decode()
        assert heard.startswith("data: {"), heard
        assert heard.endswith("data: [DONE]\n\n"), heard
        subprocess.run([*command, "health", "--port-file", str(folder / "ports.json")], check=True)
    assert os.name == "nt" or not (folder / "ports.json").exists(), "the port file was left behind"


@contextmanager
def serving(command: list[str], ports: Path) -> Iterator[dict[str, str]]:
    """Base URLs of a server of its own, which ends in order."""
    server = subprocess.Popen([*command, "serve", "--port", "0", "--port-file", str(ports)], cwd=ports.parent)
    try:
        until = time.monotonic() + PATIENCE
        while not ports.exists():
            assert server.poll() is None, f"emulator serve ended with {server.returncode}"
            assert time.monotonic() < until, f"emulator serve is not ready after {PATIENCE} s"
            time.sleep(0.05)
        yield json.loads(ports.read_text(encoding="utf-8"))
        server.terminate()
        ended = server.wait(PATIENCE)
        assert os.name == "nt" or ended == 0, f"emulator serve ended with {ended}"
    finally:
        server.kill()
        server.wait()


def try_pytest(folder: Path) -> None:
    """Run a test that uses the fixture, with every warning an error."""
    (folder / "test_tides.py").write_text(TEST, encoding="utf-8")
    command = [sys.executable, "-I", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(folder)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, "1 passed" in ended.stdout) == (0, True), ended.stdout + ended.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        {"serve": try_serve, "pytest": try_pytest}[sys.argv[1]](Path(made))
    print(f"llm-emulator {version('llm-emulator')}: {sys.argv[1]} works on Python {sys.version.split()[0]}")
