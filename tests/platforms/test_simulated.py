"""Parts of the suite on the simulated Proactor and selector loops of Windows, and with what macOS lacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="epoll is beneath the simulated port"),
    pytest.mark.timeout(280),
]
_ROOT = Path(__file__).parents[2]
_OPTIONS = ["-q", "-n", "0", "-p", "tests.platforms.simulation", "-p", "no:cacheprovider"]
_OF_LINUX = (  # asks for asyncio's own class of a loop; returns memory by glibc
    "tests/serve/test_server.py::test_server_works_on_each_event_loop",
    "tests/serve/test_warmup.py::test_tidy_returns_free_memory_to_system",
)
_SERVER = ["tests/platforms/test_connections.py", "tests/platforms/test_tick.py", "tests/faults", "tests/serve"]
_OTHERS = ["tests/http", "tests/client", "tests/cli", "tests/test_pytest_plugin.py"]


@pytest.mark.parametrize(
    ("system", "paths", "marks"),
    [
        pytest.param("proactor", _SERVER, "", id="Windows"),
        pytest.param("proactor", _OTHERS, "not slow", id="Windows, other parts"),
        pytest.param("selector", _SERVER, "", id="Windows, selector loop"),
        pytest.param("darwin", [_SERVER[0], "tests/faults/test_wire.py", "tests/serve"], "not slow", id="macOS"),
    ],
)
def test_suite_passes_in_simulation(system: str, paths: list[str], marks: str) -> None:
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *_OPTIONS, "-m", marks),
            *(f"--deselect={name}" for name in _OF_LINUX),
            *paths,
        ],
        cwd=_ROOT,
        env={**os.environ, "SIMULATED": system},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-10_000:]
