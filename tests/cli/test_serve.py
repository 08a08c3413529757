"""``emulator serve`` in a process of its own."""

import http.client
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
from urllib.parse import urlsplit

import pytest

from emulator import __version__, start
from emulator.cli import main
from emulator.cli.choices import VENDOR_NAMES

pytestmark = pytest.mark.slow

PATIENCE = 120  # seconds until what should have come is given up; however busy the machine is
GOOD = "version: 1\nrules: [{name: a, when: {vendor: databricks}, error: {kind: timeout}}]\n"


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """``emulator serve`` in a process of its own, and its base URLs."""
    ports = folder / "ports.json"
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--port-file", str(ports), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + PATIENCE
        while not ports.exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process, json.loads(ports.read_text())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.covers("language/control plane", "GET /ready")
@pytest.mark.covers("language/commands", "serve")
@pytest.mark.covers("promises/first steps", "roots lead the banner")
def test_serve_responds_and_exits_0_on_sigterm(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-format", "text") as (process, urls):
        assert list(urls) == ["front", *VENDOR_NAMES]
        with urllib.request.urlopen(urls["front"] + "/_emulator/health") as answer:
            health = json.load(answer)
        assert (health["status"], health["version"]) == ("ok", __version__)
        assert main(["health", "--url", urls["front"]]) == 0
        process.send_signal(signal.SIGTERM)
        _, banner = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        lines = banner.splitlines()[1:]
        assert [line.split()[:2] for line in lines[: len(VENDOR_NAMES)]] == [
            [name, urls[name]] for name in VENDOR_NAMES
        ]


@pytest.mark.parametrize("form", ["json", "auto"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_json_log_starts_with_one_listening_object(tmp_path: Path, form: str, workers: str) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("version: 1\nname: one\n")
    with serving(tmp_path, str(file), "--seed", "7", "--log-format", form, "--workers", workers) as (process, urls):
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    row, *rest = map(json.loads, log.splitlines())
    assert row.pop("time").endswith("Z")
    assert row == {
        "level": "info",
        "message": "listening",
        "version": __version__,
        "scenario": "one",
        "sources": [str(file)],
        "seed": 7,
        "urls": urls,
        "console": f"{urls['front']}/_emulator/",
        "ca": None,
    }
    assert rest == []


@pytest.mark.parametrize("form", ["json", "text"])
def test_start_names_the_services_that_calls_go_to(tmp_path: Path, form: str) -> None:
    target, folder = "http://127.0.0.1:9", tmp_path / "calls"
    flags = ("--forward", f"azure={target}", "--record-to", str(folder), "--log-format", form)
    with serving(tmp_path, *flags) as (process, _):
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    if form == "json":
        row = json.loads(log.splitlines()[0])
        assert (row["forward"], row["record_to"]) == ({"azure": target}, str(folder))
    else:
        assert f"azure: calls that the scenario forwards go to {target}, recorded to {folder}" in log


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_open_stream_completes_on_signal(tmp_path: Path, name: str) -> None:
    with serving(tmp_path, "--ttft", "200ms", "--itl", "10ms") as (process, urls):
        body = {"model": "llama3", "stream": True, "max_tokens": 30, "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:  # returns with the head, before the first token
            process.send_signal(signal.Signals[name])
            assert answer.read().endswith(b"data: [DONE]\n\n")
        assert process.wait(timeout=PATIENCE) == 0
    assert not (tmp_path / "ports.json").exists()


@pytest.mark.covers("promises/first steps", "one interrupt, and two")
def test_second_interrupt_ends_open_response_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--ttft", "60s", "--log-format", "text") as (process, urls):
        body = {"model": "llama3", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request):  # returns with the head, before the first token
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            line = next(line for line in process.stderr if "stopping" in line)
            assert "1 response is still open; a second Ctrl-C or SIGTERM ends at once" in line
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == 130


HALF_A_BODY = b"POST /v3/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"
HALF_A_HEAD = b"POST /v3/chat/completions HTTP/1.1\r\nHos"


@pytest.mark.parametrize("again", [None, signal.SIGINT, signal.SIGTERM], ids=["the time is over", "SIGINT", "SIGTERM"])
def test_drain_limit_or_second_signal_ends_hanging_response(tmp_path: Path, again: signal.Signals | None) -> None:
    drain = "100ms" if again is None else "1h"
    with serving(tmp_path, "--ttft", "1h", "--drain", drain, "--log-format", "text") as (process, urls):
        body = {"model": "llama3", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        address = urlsplit(urls["openvino"])
        with (
            socket.create_connection((address.hostname, address.port)) as one,
            socket.create_connection((address.hostname, address.port)) as two,
            urllib.request.urlopen(request) as sleeping,  # returns with the head, before the first token
        ):
            one.sendall(HALF_A_BODY)
            two.sendall(HALF_A_HEAD)
            process.send_signal(signal.SIGTERM)
            if again is not None:
                assert process.stderr is not None
                assert next(line for line in process.stderr if "stopping" in line)
                process.send_signal(again)
            assert process.wait(timeout=PATIENCE) == 0
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                sleeping.read()
        assert not (tmp_path / "ports.json").exists()


def test_stale_port_file_is_removed_when_start_fails(tmp_path: Path) -> None:
    ports = tmp_path / "ports.json"
    ports.write_text('{"front": "http://127.0.0.1:1"}')
    command = [sys.executable, "-m", "emulator", "serve", "--port-file", str(ports), str(tmp_path / "none.yaml")]
    ended = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 2
    assert not ports.exists()


@pytest.mark.covers("promises/first steps", "a folder that leaves the choice")
@pytest.mark.parametrize(
    "files",
    [
        pytest.param([], id="an empty folder"),
        pytest.param(["a.yaml", "b.yaml"], id="several and no default"),
    ],
)
def test_ambiguous_scenario_folder_prints_one_line_and_exits_2(
    tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in files:
        (tmp_path / name).write_text(GOOD)
    assert main(["serve", "--port", "0", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.covers("promises/first steps", "a port file that cannot be written")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(
            ["--port-file", "no-such-folder/ports.json"],
            "--port-file: cannot write no-such-folder/ports.json: no such file or directory",
            id="a port file that cannot be written",
        ),
        pytest.param(
            ["--host", "a..b"], "cannot listen on a..b:0 for front: no address of that name", id="a host that is none"
        ),
    ],
)
def test_start_failure_prints_one_line_and_exits_2(arguments: list[str], says: str) -> None:
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stderr) == (2, f"emulator: error: {says}\n")


@pytest.mark.covers("promises/first steps", "a port that is taken")
def test_port_in_use_prints_one_line_and_exits_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "emulator", "serve", "--port", str(port)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert f"127.0.0.1:{port} for front: address already in use; try --port 0" in ended.stderr


def test_serve_reads_environment_and_exits_130_on_interrupt(tmp_path: Path) -> None:
    ports = tmp_path / "ports.json"
    variables = {**os.environ, "EMULATOR_PORT": "0", "EMULATOR_PORT_FILE": str(ports), "EMULATOR_SEDE": "1"}
    command = [sys.executable, "-m", "emulator", "serve"]
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process:
        while not ports.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "EMULATOR_SEDE is not a setting; did you mean EMULATOR_SEED?" in printed


def test_watch_serves_changed_scenario_file(tmp_path: Path, scenario: Callable[[str], str]) -> None:
    path = Path(scenario("version: 1\nname: first\n"))
    with serving(tmp_path, "--watch", str(path)) as (_, urls):
        path.write_text("version: 1\nname: second, and longer\n")
        deadline = time.monotonic() + PATIENCE
        name = ""
        while name != "second, and longer" and time.monotonic() < deadline:
            with urllib.request.urlopen(urls["front"] + "/_emulator/health") as answer:
                name = json.load(answer)["scenario"]["name"]
            time.sleep(0.02)
        assert name == "second, and longer"


def test_strict_flag_refuses_unmatched_request(tmp_path: Path, scenario: Callable[[str], str]) -> None:
    with serving(tmp_path, "--strict", "--no-watch", scenario(GOOD)) as (_, urls):
        body = {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(urls["openvino"] + "/v3/chat/completions", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 501
        assert "'a': vendor does not hold" in refused.value.read().decode()
        refused.value.close()


@pytest.mark.slow
def test_open_shows_the_console_in_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, shown = tmp_path / "browser.py", tmp_path / "shown"
    script.write_text("import sys\nopen(sys.argv[1], 'w').write(sys.argv[2])\n", encoding="utf-8")
    monkeypatch.setenv("BROWSER", f"{sys.executable} {script} {shown} %s")
    with serving(tmp_path, "--open") as (_, urls):
        deadline = time.monotonic() + PATIENCE
        while not (shown.exists() and shown.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert shown.read_text() == f"{urls['front']}/_emulator/"


@pytest.mark.slow
def test_openai_shows_why_a_strict_scenario_refuses_and_sends_one_request() -> None:
    openai = pytest.importorskip("openai")
    with start("version: 1\nstrict: true\nrules: [{name: a, when: {prompt: tides}, reply: {text: x}}]\n") as emulator:
        client = openai.OpenAI(base_url=emulator.url("databricks") + "/serving-endpoints", api_key="any")
        with pytest.raises(openai.InternalServerError, match="The nearest is 'a': prompt does not hold"):
            client.chat.completions.create(
                model="databricks-meta-llama-3-3-70b-instruct", messages=[{"role": "user", "content": "rivers"}]
            )
        client.close()
        assert len(emulator.requests()) == 1
