"""``emulator env``: what a shell reads."""

import pytest

from emulator.cli import main
from emulator.cli.names import VENDOR_NAMES


@pytest.mark.covers("language/commands", "env")
@pytest.mark.parametrize(
    ("vendor", "lines"),
    [
        pytest.param(
            "databricks",
            ["export DATABRICKS_HOST=http://127.0.0.1:4011", "export DATABRICKS_TOKEN="],
            id="Databricks",
        ),
    ],
)
def test_env_prints_export_lines(vendor: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", vendor]) == 0
    printed = capsys.readouterr().out
    assert all(line in printed for line in lines)
    assert all(line.startswith("export ") for line in printed.splitlines())


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_env_uses_port_of_each_vendor(vendor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", vendor, "--port", "5000", "--tls"]) == 0
    assert f"https://127.0.0.1:{5001 + VENDOR_NAMES.index(vendor)}" in capsys.readouterr().out
