"""The pre-commit hook and the GitHub Action, by the commands they run."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.test_check import BAD, GOOD, ODD

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Repository of a user, with scenarios of every kind, and the commands of a runner."""
    (tmp_path / "scenarios").mkdir()
    for name, text in (("good", GOOD), ("odd", ODD), ("bad", BAD)):
        (tmp_path / "scenarios" / f"{name}.yaml").write_text(text)
    python = shlex.quote(sys.executable)
    write_command(tmp_path / "bin" / "emulator", f'exec {python} -m emulator "$@"')
    # What is installed is this repository, without the index: pip only notes what it is asked for.
    write_command(
        tmp_path / "bin" / "python",
        f'if [ "$3" = pip ]; then printf \'%s\\n\' "$@" > {shlex.quote(str(tmp_path / "pip"))}; exit; fi',
        f'PYTHONPATH={shlex.quote(str(ROOT))} exec {python} "$@"',
    )
    return tmp_path


def write_command(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
    path.chmod(0o755)


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.covers("promises/first steps", "the hook")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["scenarios/good.yaml", "scenarios/odd.yaml"], 0, id="files without a mistake"),
        pytest.param(["scenarios/good.yaml", "scenarios/bad.yaml"], 1, id="a file with one"),
        pytest.param(["--strict", "scenarios/odd.yaml"], 1, id="a warning where it counts"),
    ],
)
def test_hook_checks_given_files(repository: Path, arguments: list[str], code: int) -> None:
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
def test_hook_matches_scenario_files(path: str, is_meant: bool) -> None:
    assert bool(re.search(HOOK["files"], path)) is is_meant


@pytest.fixture
def act(repository: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run_steps(**inputs: str) -> subprocess.CompletedProcess[str]:
        given = {name: inputs.get(name, declared["default"]) for name, declared in ACTION["inputs"].items()}
        values = {f"inputs.{name}": value for name, value in given.items()}
        values["steps.python.outputs.python-path"] = str(repository / "bin" / "python")
        _, step = ACTION["runs"]["steps"]
        variables = {
            name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values[match[1]], value)
            for name, value in step["env"].items()
        }
        variables |= {"GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(repository)}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]  # as a runner does
        return run(command, repository, **variables)

    return run_steps


@pytest.mark.covers("promises/first steps", "the action")
@pytest.mark.parametrize(
    ("inputs", "code", "says"),
    [
        pytest.param({}, 1, "::error file=scenarios/bad.yaml,line=2,col=19::", id="the folder"),
        pytest.param({"paths": "scenarios/odd.yaml"}, 0, "::warning file=scenarios/odd.yaml", id="a warning"),
        pytest.param({"paths": "scenarios/odd.yaml", "strict": "true"}, 1, "::warning", id="a warning that counts"),
        pytest.param(
            {"paths": "scenarios/good.yaml\nscenarios/odd.yaml\n", "join": "true"}, 1, "the name is taken", id="joined"
        ),
    ],
)
def test_action_annotates(
    act: Callable[..., subprocess.CompletedProcess[str]], inputs: dict[str, str], code: int, says: str
) -> None:
    ended = act(**inputs)
    assert (ended.returncode, ended.stderr.count("Traceback")) == (code, 0)
    assert says in ended.stdout


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("x --help y.yaml", id="a flag between blanks"),
        pytest.param("--help", id="a flag alone"),
        pytest.param("*.yaml", id="a pattern"),
        pytest.param("$(touch made).yaml", id="a command"),
    ],
)
def test_file_name_is_not_interpreted_as_command(
    act: Callable[..., subprocess.CompletedProcess[str]], repository: Path, name: str
) -> None:
    (repository / "other.yaml").write_text(BAD)
    (repository / name).write_text(BAD)
    ended = act(paths=f"scenarios/good.yaml\n{name}")
    assert (ended.returncode, "usage" in ended.stdout) == (1, False)
    assert ended.stdout.count("::error file=") == 1
    assert not (repository / "made").exists()


def test_action_fails_without_files(act: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = act(paths="\n")
    assert (ended.returncode, "required: PATH" in ended.stderr) == (2, True)


@pytest.mark.parametrize("module", ["pip", "emulator"])
def test_action_imports_no_module_of_checked_repository(
    act: Callable[..., subprocess.CompletedProcess[str]], repository: Path, module: str
) -> None:
    (repository / f"{module}.py").write_text("raise SystemExit('taken over')")
    ended = act(paths="scenarios/good.yaml")
    assert (ended.returncode, ended.stderr) == (0, "0 errors, 0 warnings\n")
    asked = (repository / "pip").read_text().splitlines()
    assert asked[:4] == ["-I", "-m", "pip", "install"]
    assert asked[-1] == str(ROOT)


def test_action_installs_supported_python() -> None:
    python, _ = ACTION["runs"]["steps"]
    assert re.fullmatch(r"actions/setup-python@[0-9a-f]{40}", python["uses"])
    assert python["with"]["update-environment"] is False
    lowest = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    brought = re.fullmatch(r"3\.(\d+)", python["with"]["python-version"])
    assert lowest
    assert brought
    assert int(brought[1]) >= int(lowest[1])


def test_action_has_branding() -> None:
    assert set(ACTION["branding"]) == {"icon", "color"}
