"""``emulator ca``: what a shell gives to clients."""

from pathlib import Path

import pytest

from emulator.cli import main


@pytest.mark.covers("language/commands", "ca")
@pytest.mark.covers("promises/first steps", "the authority's path")
def test_ca_prints_same_path_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ca", "--tls-dir", str(tmp_path)]) == 0
    first = capsys.readouterr().out
    assert main(["ca", "--tls-dir", str(tmp_path)]) == 0
    assert first == capsys.readouterr().out
    assert Path(first.strip()).read_text().startswith("-----BEGIN CERTIFICATE-----")


@pytest.mark.parametrize("arguments", [["ca"], ["serve", "--tls"]], ids=" ".join)
def test_damaged_authority_prints_one_line_and_exits_2(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ca", "--tls-dir", str(tmp_path)]) == 0
    Path(capsys.readouterr().out.strip()).write_text("rust")
    assert main([*arguments, "--tls-dir", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "ca.pem is damaged" in printed.err
