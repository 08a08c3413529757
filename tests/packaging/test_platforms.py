"""The list of what cannot run on an operating system, and that the rest can at least be collected there."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from tests.platforms.cannot import CANNOT, find_reason

ROOT = Path(__file__).parents[2]
POSIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
POSIX_NAMES = {"SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SO_REUSEPORT", "AF_UNIX"}
BY_HAND = {"tests/tools/soak/streams.py", "tests/tools/attack/__main__.py"}  # programs that no test imports


@pytest.mark.parametrize("system", CANNOT)
def test_excluded_tests_exist(system: str) -> None:
    for name in CANNOT[system]:
        file, _, test = name.partition("::")
        assert (ROOT / file).exists(), name
        assert not test or f"def {test}" in (ROOT / file).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("system", "name", "runs"),
    [
        pytest.param("win32", "tests/test_hooks.py::test_action_annotates[joined]", False, id="a file"),
        pytest.param("win32", "tests/tools/bench/test_load.py::test_a", False, id="a folder"),
        pytest.param("win32", "tests/packaging/test_workflows.py::test_an_action_has", True, id="another test of it"),
        pytest.param("linux", "tests/test_hooks.py::test_action_annotates[joined]", True, id="another system"),
    ],
)
def test_find_reason_matches_excluded_tests(system: str, name: str, runs: bool) -> None:
    assert (find_reason(system, name) is None) is runs


def test_excluded_tests_are_skipped(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest(
        "from tests.platforms.cannot import skip\n\n\n"
        "def pytest_collection_modifyitems(items):\n    skip(items, 'win32')\n"
    )
    for folder in ("tools/bench", "core"):
        path = pytester.path / "tests" / folder / f"test_{Path(folder).name}.py"
        path.parent.mkdir(parents=True)
        path.write_text("def test_it(): pass\n")
    pytester.inline_run("tests").assertoutcome(passed=1, skipped=1)


def list_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported: all but the bodies of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for outside in [*node.decorator_list, node.args]:
                yield from ast.walk(outside)
        else:
            yield node
            yield from list_at_import(node)


def find_posix(source: str) -> list[str]:
    """What an import of a module takes of POSIX alone."""
    found = []
    for node in list_at_import(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in POSIX_MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] if node.module in POSIX_MODULES else []
        elif isinstance(node, ast.Attribute) and node.attr in POSIX_NAMES:
            found.append(node.attr)
    return found


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_checkout_of_windows_keeps_line_ends(tmp_path: Path) -> None:
    (tmp_path / ".gitattributes").write_bytes((ROOT / ".gitattributes").read_bytes())
    files = {"run": b"#!/bin/sh\ntrue\n", "page.md": b"a\nb\n", "golden.http": b"GET / HTTP/1.1\r\n\r\na\nb\n"}
    git = ["git", "-c", "core.autocrlf=true", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    for name in files:
        (tmp_path / name).unlink()
    subprocess.run([*git, "checkout", "-q", "."], cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


@pytest.mark.slow
def test_every_test_module_imports_without_posix() -> None:
    """One that cannot ends the whole run."""
    names = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("*.py"))}
    found = {name: find_posix(path.read_text(encoding="utf-8")) for name, path in names.items() if name not in BY_HAND}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("import resource\n", ["resource"], id="a module"),
        pytest.param("from fcntl import ioctl\n", ["fcntl"], id="a member"),
        pytest.param("@given([signal.SIGHUP])\ndef f(): ...\n", ["SIGHUP"], id="a decorator"),
        pytest.param("def f(name=signal.SIGKILL): ...\n", ["SIGKILL"], id="a default"),
        pytest.param("def f():\n    import pty\n    os.kill(1, signal.SIGHUP)\n", [], id="within a function"),
    ],
)
def test_find_posix_reports_import_time_use(source: str, found: list[str]) -> None:
    assert find_posix(source) == found
