"""The tutorial from the real service to tests without it, followed step by step; an emulator is the service."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulator import start
from tests.tools.docs.blocks import ROOT, find_blocks

pytestmark = pytest.mark.slow

PATIENCE = 60.0  # seconds
SERVICE = "https://adb-1234.azuredatabricks.net"
BLOCKS = [block for block in find_blocks() if block.page == "offline.md"]


def run(folder: Path, line: str, **more: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    ended = subprocess.run(
        [sys.executable, *line.split()], cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def record(folder: Path, line: str, service: str) -> str:
    """Run the documented recording on free ports, the application against it, and end it as Ctrl-C does."""
    assert line.startswith("emulator record ")
    assert line.endswith(f"databricks={SERVICE}")
    arguments = line.replace(SERVICE, service).split()[1:]
    ports = folder / "ports.json"
    command = [sys.executable, "-m", "emulator", *arguments, "--port", "0", "--port-file", str(ports)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True)
    ends = time.monotonic() + PATIENCE
    while not ports.exists():
        assert process.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.02)
    said = run(folder, "app.py", SERVICE_URL=json.loads(ports.read_text())["databricks"], DATABRICKS_TOKEN="dapi-mine")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "2 calls recorded in calls (2 whole)" in told
    return said


def test_tutorial_runs_from_service_to_suite(tmp_path: Path) -> None:
    app, recorded, ran, scenario, served, again, suite = (block.text for block in BLOCKS)
    for text in (app, scenario, suite):
        (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    assert all(line.endswith(" python app.py\n") for line in (ran, again))
    with start(seed=5) as service:
        said = record(tmp_path, recorded.strip(), service.url("databricks"))
    assert len(said.splitlines()) == len(list((tmp_path / "calls").iterdir())) == 2
    assert served == "emulator serve scenario.yaml\n"
    with start(str(tmp_path / "scenario.yaml")) as emulator:
        assert run(tmp_path, "app.py", SERVICE_URL=emulator.url("databricks")) == said
    out = run(tmp_path, "-m pytest -q -p no:cacheprovider -W ignore", PYTEST_ADDOPTS="")
    assert "2 passed" in out
