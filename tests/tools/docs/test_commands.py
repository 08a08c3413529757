"""Lines of a shell that README and docs show, typed: servers start and end, extras are there."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.storage.servers import find_server, running
from tests.tools.bench import __main__ as bench
from tests.tools.bench import compare
from tests.tools.docs.blocks import COMMANDS, ROOT, RUN_BY, find_blocks

pytestmark = pytest.mark.slow

PATIENCE = 60.0  # seconds
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STORE = "redis://127.0.0.1:6379"
SHELL = {(page, begins) for page, _, begins, runner in RUN_BY if runner == COMMANDS}
LINES = [
    part.strip()
    for block in find_blocks()
    if block.language in ("", "sh", "console")
    if any(block.page == page and block.begins.startswith(begins) for page, begins in SHELL)
    for line in block.text.splitlines()
    for part in line.removeprefix("$ ").split("&&")
]


def find_extras(wanted: str) -> set[str]:
    """Of what pip shall install, which must be this package."""
    name, _, extras = wanted.rstrip("]").partition("[")
    assert name in (".", PROJECT["name"]), wanted
    return set(filter(None, extras.split(",")))


def begin(line: str, folder: Path) -> None:
    """Start the server that a line starts, on free ports; once it listens, end it."""
    ports = folder / "ports.json"
    command = f"exec env {sys.executable} -m emulator serve --port 0 --port-file {ports} "
    before, _, after = line.partition("emulator serve")
    environ = {**os.environ, "XDG_DATA_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    typed = f"{f'export {before};' if before else ''} {command}{after}"
    process = subprocess.Popen(typed, shell=True, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True)
    try:
        ends = time.monotonic() + PATIENCE
        while not ports.exists():
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < ends, line
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        assert "Traceback" not in said
    finally:
        process.kill()


@pytest.mark.parametrize("line", LINES)
def test_documented_shell_line_runs(line: str, tmp_path: Path) -> None:
    if line.startswith("pip install "):
        assert find_extras(shlex.split(line)[2]) <= PROJECT["optional-dependencies"].keys()
        return
    if line == "pytest":
        return  # which is what runs this
    for word, needs in (("--tls", "cryptography"), ("emulator ca", "cryptography"), ("OTEL_", "opentelemetry.sdk")):
        if word in line:
            pytest.importorskip(needs)
    with ExitStack() as stack:
        if STORE in line:
            pytest.importorskip("redis")
            if find_server("redis") is None:
                pytest.skip("redis-server is not installed")
            line = line.replace(STORE, stack.enter_context(running("redis", tmp_path)))
        if "emulator serve" in line:
            begin(line, tmp_path)
            return
    name = re.match(r"export (\w+)=", line)
    assert name is not None, line
    typed = f'{line.replace("emulator ", f"{sys.executable} -m emulator ")}; echo "${name[1]}"'
    environ = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    said = subprocess.run(typed, shell=True, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert Path(said.stdout.strip()).read_text(encoding="ascii").startswith("-----BEGIN CERTIFICATE-----")


def test_documented_benchmark_options_parse() -> None:
    (block,) = (block for block in find_blocks() if block.page == "performance.md")
    programs = []
    for line in block.text.splitlines():
        _, _, program, *arguments = shlex.split(line, comments=True)
        programs.append(program)
        commits = ("before", "after") if program == compare.__name__ else ()
        bench.parse("", arguments, *commits)
    assert set(programs) == {"tests.tools.bench", compare.__name__}
