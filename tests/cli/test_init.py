"""``emulator init``: the files pass every check as they are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.cli.init import SCENARIO
from emulator.cli.schema import render_schema

FILES = ["scenarios/schema.json", "scenarios/starter.yaml", "test_emulator.py"]


@pytest.mark.covers("language/commands", "init")
def test_init_writes_a_scenario_its_schema_and_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert main(["init", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert sorted(str(Path(line).relative_to(folder).as_posix()) for line in out.splitlines()) == FILES
    assert "emulator serve scenarios/starter.yaml" in err
    assert json.loads((folder / "scenarios" / "schema.json").read_text(encoding="utf-8")) == json.loads(render_schema())
    assert main(["check", "--strict", str(folder / "scenarios")]) == 0


def test_init_replaces_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_emulator.py").write_text("mine", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == 2
    assert "test_emulator.py exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["test_emulator.py"]
    assert (tmp_path / "test_emulator.py").read_text(encoding="utf-8") == "mine"


def test_init_names_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["init", str(tmp_path / "file")]) == 2
    assert f"cannot write {tmp_path / 'file'}" in capsys.readouterr().err


@pytest.mark.slow
def test_first_test_passes_at_once(tmp_path: Path) -> None:
    main(["init", str(tmp_path)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "emulator.pytest_plugin", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, "1 passed" in ran.stdout) == (0, True), ran.stdout
    assert "warning" not in ran.stdout


def test_starter_has_no_notes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "starter.yaml").write_text(SCENARIO, encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "0 errors, 0 warnings\n"
