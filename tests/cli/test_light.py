"""Commands that are asked often import nothing heavy."""

import subprocess
import sys
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parent.parent.parent / "scenarios"
SCRIPT = """
import sys
from emulator.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
print("heavy:", *(name for name in ("aiohttp", "numpy", "faker") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["serve", "--help"], id="help for a verb"),
        pytest.param(["check", str(SHIPPED)], id="check"),
        pytest.param(["health", "--port", "1"], id="health"),
        pytest.param(["env", "azure"], id="env"),
        pytest.param(["models", "openvino"], id="models"),
        pytest.param(["completion", "bash"], id="completion"),
    ],
)
def test_a_quick_command_is_light(arguments: list[str]) -> None:
    command = [sys.executable, "-c", SCRIPT.format(arguments=arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines()[-1] == "heavy:"
