"""``emulator report``, and the page of ``emulator serve --report``."""

import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.client import EmulatorClient
from tests.cli.test_serve import serving

pytestmark = pytest.mark.slow


@pytest.mark.covers("language/commands", "report")
def test_report_writes_page_to_requested_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = tmp_path / "left.html"
    with serving(tmp_path, "--report", str(left)) as (process, urls):
        with urllib.request.urlopen(f"{urls['openvino']}/v1/config"):
            pass
        file = tmp_path / "run.html"
        assert main(["report", "--url", urls["front"], "--out", str(file)]) == 0
        assert capsys.readouterr().out == f"{file}\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    for page in (file, left):
        assert page.read_text(encoding="utf-8").count(',"/v1/config",') == 1


def test_report_of_session_contains_only_its_calls(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, urls):
        client = EmulatorClient(urls["front"])
        for path in ("/_s/a/openvino/v1/config", "/openvino/v1/config"):
            with urllib.request.urlopen(urls["front"] + path):
                pass
        file = tmp_path / "run.html"
        assert main(["report", "--url", urls["front"], "--out", str(file), "--session", "a"]) == 0
        client.close()
    assert file.read_text(encoding="utf-8").count(',"/v1/config",') == 1


def test_report_without_server_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert main(["report", "--url", url, "--out", str(tmp_path / "run.html")]) == 1
    assert capsys.readouterr().err.startswith("no report: ")


def test_report_to_unwritable_file_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as (_, urls):
        assert main(["report", "--url", urls["front"], "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"emulator: error: --out: cannot write {tmp_path}: is a directory\n"
