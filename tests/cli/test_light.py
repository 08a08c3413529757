"""Frequent commands import nothing heavy."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).parent.parent.parent / "scenarios"
SCRIPT = """
import sys
from emulator.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
print("heavy:", *(name for name in ("aiohttp", "numpy", "faker") if name in sys.modules))
from emulator.vendors import VENDORS
print("vendors:", *(name for name in VENDORS if "emulator.vendors." + name + ".routes" in sys.modules))
"""


def run_light(*arguments: str) -> list[str]:
    """Return the heavy modules and the vendors that were imported."""
    command = [sys.executable, "-c", SCRIPT.format(arguments=list(arguments))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return ended.stdout.splitlines()[-2:]


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
def test_quick_commands_import_no_heavy_modules(arguments: list[str]) -> None:
    assert run_light(*arguments)[0] == "heavy:"


@pytest.mark.parametrize(
    ("rule", "imported"),
    [
        pytest.param("when: {stream: true}", "", id="none, if no deployment is named"),
        pytest.param("when: {vendor: tgi, deployment: tgi}", " tgi", id="the one that a rule is about"),
    ],
)
def test_check_imports_only_vendors_named_in_rules(tmp_path: Path, rule: str, imported: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(f"version: 1\nrules:\n- {{name: a, {rule}, error: {{kind: timeout}}}}\n", encoding="utf-8")
    assert run_light("check", str(path)) == ["heavy:", f"vendors:{imported}"]
