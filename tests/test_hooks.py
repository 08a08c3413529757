"""The pre-commit hook and the GitHub Action, by the commands they run."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.test_check import BAD, GOOD, ODD

ROOT = Path(__file__).parent.parent
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Somebody's, with scenarios of every kind, and the commands a runner has."""
    (tmp_path / "scenarios").mkdir()
    for name, text in (("good", GOOD), ("odd", ODD), ("bad", BAD)):
        (tmp_path / "scenarios" / f"{name}.yaml").write_text(text)
    for name, skipped in (("emulator", 1), ("pipx", 5)):  # pipx run --spec FOLDER emulator …
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/bash\nexec {shlex.quote(sys.executable)} -m emulator "${{@:{skipped}}}"\n')
        script.chmod(0o755)
    return tmp_path


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["scenarios/good.yaml", "scenarios/odd.yaml"], 0, id="files without a mistake"),
        pytest.param(["scenarios/good.yaml", "scenarios/bad.yaml"], 1, id="a file with one"),
        pytest.param(["--strict", "scenarios/odd.yaml"], 1, id="a warning where it counts"),
    ],
)
def test_the_hook_checks_each_file_that_is_committed(repository: Path, arguments: list[str], code: int) -> None:
    assert run([*shlex.split(HOOK["entry"]), *arguments], repository).returncode == code


@pytest.mark.parametrize(
    ("path", "is_meant"),
    [
        pytest.param("scenarios/a.yaml", True, id="in the folder"),
        pytest.param("tests/scenarios/a.yml", True, id="in such a folder further down"),
        pytest.param("api.emulator.yaml", True, id="by its name"),
        pytest.param("scenarios/schema.json", False, id="no YAML"),
        pytest.param("deploy/values.yaml", False, id="any other YAML"),
    ],
)
def test_the_hook_is_about_scenarios(path: str, is_meant: bool) -> None:
    assert bool(re.search(HOOK["files"], path)) is is_meant


@pytest.fixture
def act(repository: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run_steps(**inputs: str) -> subprocess.CompletedProcess[str]:
        given = {name: inputs.get(name, declared["default"]) for name, declared in ACTION["inputs"].items()}
        (step,) = ACTION["runs"]["steps"]
        variables = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], value)
            for name, value in step["env"].items()
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]  # as a runner does
        return run(command, repository, GITHUB_ACTIONS="true", GITHUB_ACTION_PATH=str(ROOT), **variables)

    return run_steps


@pytest.mark.parametrize(
    ("inputs", "code", "says"),
    [
        pytest.param({}, 1, "::error file=scenarios/bad.yaml,line=2,col=19::", id="the folder"),
        pytest.param({"paths": "scenarios/odd.yaml"}, 0, "::warning file=scenarios/odd.yaml", id="a warning"),
        pytest.param({"paths": "scenarios/odd.yaml", "strict": "true"}, 1, "::warning", id="a warning that counts"),
        pytest.param(
            {"paths": "scenarios/good.yaml scenarios/odd.yaml", "join": "true"}, 1, "the name is taken", id="joined"
        ),
    ],
)
def test_the_action_annotates(
    act: Callable[..., subprocess.CompletedProcess[str]], inputs: dict[str, str], code: int, says: str
) -> None:
    ended = act(**inputs)
    assert (ended.returncode, ended.stderr.count("Traceback")) == (code, 0)
    assert says in ended.stdout
