"""Commands whose reader closes the pipe, as ``head`` does, end in order, and print no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
_ROOT = Path(__file__).parents[2]
_RUN = "import sys\nfrom emulator.cli import main\nsys.exit(main(sys.argv[1:]))\n"
_WINDOWS = """
import errno, io, sys
import tests.platforms.simulation

class Raw(io.FileIO):
    def write(self, data):
        try:
            return super().write(data)
        except BrokenPipeError:
            raise OSError(errno.EINVAL, "Invalid argument") from None

sys.stdout = io.TextIOWrapper(io.BufferedWriter(Raw(1, "w", closefd=False)), encoding="utf-8")
"""


def run(words: list[str], script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-c", script, *words],
            cwd=_ROOT,
            env={**{name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}, **environment},
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--version"], id="version"),
        pytest.param(["schema"], id="more than a buffer"),
        pytest.param(["check", "scenarios"], id="less than a buffer"),
    ],
)
@pytest.mark.parametrize(
    ("script", "environment"),
    [
        pytest.param(_RUN, {}, id="buffered"),
        pytest.param(_RUN, {"PYTHONUNBUFFERED": "1"}, id="unbuffered"),
        pytest.param(
            _WINDOWS + _RUN,
            {"SIMULATED": "proactor"},
            id="Windows",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux simulates Windows"),
        ),
    ],
)
def test_closed_pipe_is_no_traceback(words: list[str], script: str, environment: dict[str, str]) -> None:
    ended = run(words, script, **environment)
    assert ended.returncode in (0, 1)  # argparse ignores that its own words were not written
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
