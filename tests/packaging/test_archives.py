"""``.ci/archives.py``, and what pyproject.toml puts into the sdist."""

import importlib.util
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = {"pyproject.toml", "tests/test_a.py", "scenarios/calm.yaml", "emulator/__init__.py"}
PACKAGE = {"emulator/__init__.py", "emulator/shipped/calm.yaml"}

_spec = importlib.util.spec_from_file_location("archives", ROOT / ".ci" / "archives.py")
assert _spec
assert _spec.loader
archives = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(archives)


def test_sdist_includes_every_tracked_file() -> None:
    """`pyproject.toml` is always in it, and an unpacked sdist has `PKG-INFO` besides."""
    included = {entry.removeprefix("/") for entry in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    tracked = archives.list_tracked()
    there = {name.partition("/")[0] for name in tracked} or {path.name for path in ROOT.iterdir()}
    assert included <= there
    assert not tracked or there - included == {"pyproject.toml"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with a wheel and an sdist of `SOURCES`."""
    write_sdist(tmp_path, SOURCES | {"PKG-INFO"})
    write_wheel(tmp_path, PACKAGE | {"made-1.dist-info/METADATA"})
    return tmp_path


def write_sdist(folder: Path, names: set[str]) -> None:
    with tarfile.open(folder / "made-1.tar.gz", "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"made-1/{name}"))


def write_wheel(folder: Path, names: set[str], text: str = "") -> None:
    with zipfile.ZipFile(folder / "made-1-py3-none-any.whl", "w") as archive:
        for name in names:
            archive.writestr(name, text)


def test_archive_report_accepts_complete_archives(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert archives.report(built, SOURCES) == 0
    assert capsys.readouterr().out == "made-1.tar.gz: 5 files; made-1-py3-none-any.whl: 2 files\n"


@pytest.mark.parametrize(
    ("in_sdist", "in_wheel", "says"),
    [
        pytest.param(
            SOURCES - {"tests/test_a.py"} | {"PKG-INFO"},
            PACKAGE,
            "made-1.tar.gz: tests/test_a.py is missing",
            id="a test that the sdist lacks",
        ),
        pytest.param(
            SOURCES | {"PKG-INFO", "secret.key"},
            PACKAGE,
            "made-1.tar.gz: secret.key does not belong there",
            id="an untracked file",
        ),
        pytest.param(
            SOURCES | {"PKG-INFO"},
            PACKAGE | {"tests/test_a.py"},
            "made-1-py3-none-any.whl: tests/test_a.py does not belong there",
            id="a test in the wheel",
        ),
        pytest.param(
            SOURCES | {"PKG-INFO"},
            PACKAGE - {"emulator/shipped/calm.yaml"},
            "made-1-py3-none-any.whl: emulator/shipped/calm.yaml is missing",
            id="a scenario that the wheel lacks",
        ),
    ],
)
def test_archive_report_names_missing_and_extra_files(
    tmp_path: Path, in_sdist: set[str], in_wheel: set[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sdist(tmp_path, in_sdist)
    write_wheel(tmp_path, in_wheel)
    assert archives.report(tmp_path, SOURCES) == 1
    assert capsys.readouterr().out == f"{says}\n"


def test_archive_report_names_relative_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sdist(tmp_path, SOURCES | {"PKG-INFO"})
    write_wheel(tmp_path, PACKAGE | {"made-1.dist-info/METADATA"}, "[a](docs/a.md) [b](https://b.test/) [c](#c)")
    assert archives.report(tmp_path, SOURCES) == 1
    assert capsys.readouterr().out == "made-1-py3-none-any.whl: the description links docs/a.md\n"
