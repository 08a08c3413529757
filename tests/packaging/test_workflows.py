"""What each workflow may do, and what it runs of others."""

import os
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in [*FILES, ROOT / "action.yml"]}
WORKFLOWS = {path.name: yaml.load(TEXTS[path.name], yaml.BaseLoader) for path in FILES}  # BaseLoader: `on` is a word
JOBS = {f"{file} {name}": job for file, workflow in WORKFLOWS.items() for name, job in workflow["jobs"].items()}
WRITES = {
    "site.yml publish": {"pages": "write", "id-token": "write"},
    "release.yml image": {"packages": "write", "contents": "read"},
    "release.yml index": {"id-token": "write"},
    "release.yml github": {"contents": "write"},
}
RELEASE = WORKFLOWS["release.yml"]["jobs"]


@pytest.mark.parametrize("file", TEXTS)
def test_actions_are_pinned_by_commit(file: str) -> None:
    used = re.findall(r"uses: (\S+)(.*)", TEXTS[file])
    assert used
    for action, comment in used:
        if action != "./":
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


def test_action_has_one_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for text in TEXTS.values():
        for action, pin in re.findall(r"uses: ([\w./-]+)@([0-9a-f]{40} # \S+)", text):
            pins.setdefault(action, set()).add(pin)
    assert {action for action, found in pins.items() if len(found) > 1} == set()


@pytest.mark.parametrize("file", WORKFLOWS)
def test_workflow_has_no_default_permissions(file: str) -> None:
    assert WORKFLOWS[file]["permissions"] == {}
    assert "concurrency" in WORKFLOWS[file]
    assert "pull_request_target" not in WORKFLOWS[file]["on"]


@pytest.mark.parametrize("name", JOBS)
def test_job_has_minimal_permissions_and_timeout(name: str) -> None:
    job = JOBS[name]
    assert job["permissions"] == WRITES.get(name, job["permissions"])
    if name not in WRITES:
        assert job["permissions"] in ({}, {"contents": "read"})
    assert 0 < int(job["timeout-minutes"]) <= 60


def steps(job: dict[str, Any]) -> list[str]:
    """What the steps of a job run, in words of ours or another's."""
    return [step.get("run") or step["uses"].partition("@")[0] for step in job["steps"]]


def test_publishing_job_runs_no_source() -> None:
    assert steps(RELEASE["index"]) == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert RELEASE["index"]["environment"]["name"] == "pypi"


def test_release_is_built_once_and_tested_before_publishing() -> None:
    builds = [name for name, job in RELEASE.items() if any(".ci/package" in step for step in steps(job))]
    assert builds == ["build"]
    assert {name: job.get("needs") for name, job in RELEASE.items()} == {
        "build": None,
        "wheel": "build",
        "alpine": "build",
        "compiled": "build",
        "wheels": None,
        "sdist": "build",
        "image": ["wheel", "alpine", "compiled", "wheels", "sdist"],
        "index": ["wheel", "alpine", "compiled", "wheels", "sdist", "image"],
        "github": "index",
    }


def test_release_tries_every_supported_system() -> None:
    matrix = RELEASE["wheel"]["strategy"]["matrix"]
    systems = {*matrix["system"], *(row["system"] for row in matrix["include"])}
    linux = {"ubuntu-24.04", "ubuntu-24.04-arm"}
    assert systems == linux | {"macos-15", "macos-15-intel", "windows-latest", "windows-11-arm"}
    assert set(RELEASE["alpine"]["strategy"]["matrix"]["system"]) == linux


def test_release_has_compiled_wheels_for_every_python_version() -> None:
    assert {*RELEASE["compiled"]["strategy"]["matrix"]["system"]} <= {*RELEASE["wheel"]["strategy"]["matrix"]["system"]}
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    versions = RELEASE["sdist"]["strategy"]["matrix"]["python"]
    assert config["build"] == [f"cp{version.replace('.', '')}-*" for version in versions]
    uploaded = [step["with"]["name"] for step in RELEASE["compiled"]["steps"] if "upload" in step.get("uses", "")]
    for job in ("index", "github"):
        taken = [step["with"].get("pattern") for step in RELEASE[job]["steps"] if "download" in step.get("uses", "")]
        assert fnmatch(uploaded[0], taken[0])
        assert fnmatch("dist", taken[0])


def test_release_uses_no_cache() -> None:
    assert not re.findall(r"^ +cache(?:-from|-to|-image|-binary)?: (?!false).*", TEXTS["release.yml"], re.MULTILINE)


def test_images_have_provenance_and_sbom() -> None:
    builds = [step["with"] for step in RELEASE["image"]["steps"] if "build-push-action" in step.get("uses", "")]
    assert ["PYTHON=" in build["build-args"] for build in builds] == [False, True]  # the second on Alpine
    for build in builds:
        assert (build["provenance"], build["sbom"]) == ("mode=max", "true")
        assert build["platforms"] == "linux/amd64,linux/arm64"


def test_every_python_version_is_tested() -> None:
    matrix = WORKFLOWS["checks.yml"]["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {row["system"].partition("-")[0] for row in matrix["include"]} == {"macos", "windows"}
    assert RELEASE["sdist"]["strategy"]["matrix"]["python"] == matrix["python"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    assert [each.rpartition(" ")[2] for each in classifiers if ":: Python ::" in each] == matrix["python"]


@pytest.mark.parametrize(
    ("tag", "tags"),
    [
        pytest.param("v1.2.3", ["1.2.3", "1.2", "latest"], id="a release"),
        pytest.param("v1.2.3rc1", ["1.2.3rc1"], id="one before it"),
    ],
)
def test_images_are_named_by_repository_and_tag(tmp_path: Path, tag: str, tags: list[str]) -> None:
    (naming,) = [step["run"] for step in RELEASE["image"]["steps"] if step.get("id") == "names"]
    output = tmp_path / "output"
    given = {"GITHUB_REF_NAME": tag, "GITHUB_REPOSITORY": "Some/Fork", "GITHUB_OUTPUT": str(output)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", naming]  # as a runner does
    subprocess.run(command, cwd=ROOT, env={**os.environ, **given}, check=True, timeout=60)
    (alpine,) = re.findall(r"^ALPINE_TAG=(.+)$", (ROOT / "deploy" / "images.env").read_text("utf-8"), re.MULTILINE)
    assert output.read_text().splitlines() == [
        f"version={tag.removeprefix('v')}",
        *("tags<<END", *(f"ghcr.io/some/fork:{name}" for name in tags), "END"),
        *("alpine-tags<<END", *(f"ghcr.io/some/fork:{name}-alpine" for name in tags), "END"),
        f"alpine=python:{alpine}",
    ]
