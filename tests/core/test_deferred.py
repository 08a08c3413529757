"""Packages whose ``__init__`` runs when it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, folder: Path) -> list[str]:
    """Return the lines that a program prints which has deferred the package ``late`` in a folder."""
    package = folder / "late"
    package.mkdir()
    (package / "__init__.py").write_text("print('runs')\nfrom .part import NAME\nfrom . import other\nVALUE = 1\n")
    (package / "part.py").write_text("from . import other\nNAME = 'part'\n")
    (package / "other.py").write_text("NAME = 'other'\n")
    begin = f"import sys\nsys.path.append({str(folder)!r})\nfrom emulator.core.deferred import defer_package\n"
    command = [sys.executable, "-c", f"{begin}defer_package('late')\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param("import late", [], id="its import"),
        pytest.param("import late.part\nprint(late.part.NAME)", ["part"], id="a module"),
        pytest.param("from late import part, other\nprint(part.other is other)", ["True"], id="modules from it"),
        pytest.param("import late\nprint(late.other.NAME)", ["other"], id="a module that __init__ imports"),
        pytest.param("import late\nprint(late.VALUE, late.NAME)", ["runs", "1", "part"], id="names"),
        pytest.param("from late import VALUE\nprint(VALUE)", ["runs", "1"], id="a name from it"),
        pytest.param("import late\nprint(hasattr(late, 'none'), late.VALUE)", ["runs", "False", "1"], id="no name"),
        pytest.param("defer_package('late')\nfrom late import VALUE", ["runs"], id="deferred twice"),
        pytest.param("defer_package('json')\nimport json\njson.loads", [], id="a package that has run"),
        pytest.param("defer_package('absent')\nprint('absent' in sys.modules)", ["False"], id="no package"),
    ],
)
def test_package_runs_when_its_own_names_are_used(code: str, printed: list[str], tmp_path: Path) -> None:
    assert run(code, tmp_path) == printed


def test_server_runs_without_client_of_aiohttp_and_control_api(tmp_path: Path) -> None:
    code = """
defer_package("aiohttp")
import emulator.serve.main
print(any(name in sys.modules for name in ("aiohttp.client", "emulator.control.api", "emulator.control.models")))
import emulator.recording.relay, aiohttp
print(aiohttp.client.ClientSession is aiohttp.ClientSession)
"""
    assert run(code, tmp_path) == ["False", "True"]
