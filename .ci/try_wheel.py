"""Use an installed emulator as a newcomer does, on any system: ``try_wheel.py serve``, ``try_wheel.py pytest``.

``try_wheel.py light COMMAND`` is for an environment that has the wheel without its dependencies, pydantic and pytest:
COMMAND starts the emulator of another environment.

``serve`` needs the standard library, the others pytest. Run it with ``-I``, so that it imports what is installed.
"""

import json
import signal
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
LIGHT = """

def test_the_server_is_not_imported():
    import sys

    absent = {"aiohttp", "faker", "multidict", "numpy", "orjson", "prometheus_client", "re2", "yaml"}
    assert absent.isdisjoint(sys.modules)
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
    assert not (folder / "ports.json").exists(), "the port file was left behind"


@contextmanager
def serving(command: list[str], ports: Path) -> Iterator[dict[str, str]]:
    """Base URLs of a server of its own, which ends in order."""
    group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows sends Ctrl-Break to a whole group
    words = [*command, "serve", "--port", "0", "--port-file", str(ports)]
    server = subprocess.Popen(words, cwd=ports.parent, creationflags=group)
    try:
        until = time.monotonic() + PATIENCE
        while not ports.exists():
            assert server.poll() is None, f"emulator serve ended with {server.returncode}"
            assert time.monotonic() < until, f"emulator serve is not ready after {PATIENCE} s"
            time.sleep(0.05)
        yield json.loads(ports.read_text(encoding="utf-8"))
        server.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))
        ended = server.wait(PATIENCE)
        assert ended == 0, f"emulator serve ended with {ended}"
    finally:
        server.kill()
        server.wait()


def try_pytest(folder: Path) -> None:
    """Run a test that uses the fixture."""
    run_pytest(folder, TEST, 1)


def try_light(folder: Path) -> None:
    """Run the same test with an emulator of another environment, and none of the server's libraries imported."""
    run_pytest(folder, TEST + LIGHT, 2, "--emulator-command", sys.argv[2])


def run_pytest(folder: Path, source: str, passed: int, *options: str) -> None:
    """Run tests in the order of their source, with every warning an error."""
    (folder / "test_tides.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-I", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *options]
    ended = subprocess.run(
        [*command, str(folder)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode, f"{passed} passed" in ended.stdout) == (0, True), ended.stdout + ended.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        {"serve": try_serve, "pytest": try_pytest, "light": try_light}[sys.argv[1]](Path(made))
    print(f"llm-emulator {version('llm-emulator')}: {sys.argv[1]} works on Python {sys.version.split()[0]}")
