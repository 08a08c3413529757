"""The files of docs/ci: shown as they are, valid, and run with an emulator where that takes no container engine."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator import start
from emulator.cli import main
from emulator.settings import load_settings
from tests.report_page import read_details
from tests.test_pytest_plugin import suite
from tests.tools.docs.blocks import ROOT
from tests.tools.docs.included import PAGES, find_files, render

pytestmark = pytest.mark.slow

__all__ = ["suite"]  # a fixture

CI = ROOT / "docs" / "ci"
SCHEMAS = {
    "compose.yaml": "compose-spec",
    "github-check.yml": "github-workflows",
    "github-plugin.yml": "github-workflows",
    "github-service.yml": "github-workflows",
    "gitlab-ci.yml": "gitlab-ci",
}


def read(name: str) -> Any:
    return yaml.safe_load((CI / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_current_files(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == render(page), "python -m tests.tools.docs"


def test_every_file_is_shown() -> None:
    files = {file for file in CI.rglob("*") if file.is_file() and "__pycache__" not in file.parts}
    assert {file for page in PAGES for file in find_files(page)} == files


@pytest.mark.parametrize("name", SCHEMAS)
def test_file_matches_service_schema(name: str) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{SCHEMAS[name]}", str(CI / name)]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_all_files_name_same_release() -> None:
    images = {word for file in CI.iterdir() if file.is_file() for word in _words(file) if word.startswith("ghcr.io/")}
    (image,) = images
    _, _, release = image.rpartition(":")
    assert read("pre-commit-config.yaml")["repos"][0]["rev"] == f"v{release}"
    assert read("github-check.yml")["jobs"]["check"]["steps"][-1]["uses"].endswith(f"@v{release}")


def _words(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").replace('"', " ").split()


def test_scenario_passes_strict_check() -> None:
    assert main(["check", "--strict", str(CI / "scenarios")]) == 0


def steps_of(name: str) -> list[str]:
    """The commands of a job, without those that install packages."""
    job = next(iter(read(name)["jobs"].values())) if "github" in name else read(name)["test"]
    lines = job["script"] + job["after_script"] if "script" in job else [s["run"] for s in job["steps"] if "run" in s]
    return [line for line in lines if not line.startswith("pip ")]


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
@pytest.mark.parametrize(("name", "host"), [("github-service.yml", "127.0.0.1"), ("gitlab-ci.yml", "emulator")])
def test_job_steps_run_against_emulator(name: str, host: str, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    shutil.copytree(CI, tmp_path, dirs_exist_ok=True)
    with start() as emulator:
        environ = {**os.environ, "DATABRICKS_HOST": emulator.url("databricks", via="root")}
        environ.pop("PYTEST_ADDOPTS", None)
        for step in steps_of(name):
            words = shlex.split(step.replace(f"http://{host}:4010", emulator.front))
            if words[0] == "pytest":
                words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", *words[1:]]
            ran = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True)
            assert ran.returncode == 0, step + ran.stdout + ran.stderr
        emulator.assert_order([{"status": 429}, {"attempt": 2, "status": 200}])
    details = read_details((tmp_path / "calls.html").read_text(encoding="utf-8"))
    assert ["How often do tides come?" in detail for detail in details] == [True, True]


def test_plugin_runs_without_container(suite: pytest.Pytester) -> None:
    pytest.importorskip("openai")
    shutil.copytree(CI, suite.path, dirs_exist_ok=True)
    words = shlex.split(steps_of("github-plugin.yml")[-1])
    arguments = ("-p", "emulator.pytest_plugin", "-p", "no:cacheprovider", *words[1:])
    assert words[0] == "pytest"
    suite.runpytest_subprocess(*arguments).assert_outcomes(passed=1)


def test_hook_and_action_usage_matches_declaration() -> None:
    declared = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    used = read("pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {hook["id"] for hook in used} <= {known["id"] for known in declared}
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert read("github-check.yml")["jobs"]["check"]["steps"][-1]["with"].keys() <= inputs.keys()


def test_service_report_folder_is_mounted() -> None:
    services = read("compose.yaml")["services"]
    emulator, app = services["emulator"], services["app"]
    settings = load_settings({}, emulator["environment"])
    assert settings.unknown == ()
    assert settings.report is not None
    targets = {volume.split(":")[1] for volume in emulator["volumes"]}
    assert targets == {"/scenarios", str(settings.report.parent)}
    assert app["depends_on"] == {"emulator": {"condition": "service_healthy"}}
    assert app["environment"]["DATABRICKS_HOST"] == "http://emulator:4011"
