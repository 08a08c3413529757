"""Remove from an installation what the emulator never reads: tests, sources, other languages, commands of others.

``python deploy/prune.py PREFIX``, with the Python that will run it.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

_SOURCES = {".a", ".c", ".h", ".hpp", ".pxd", ".pyi", ".pyx"}
_TESTS = {"test", "tests"}
_COMMANDS = {"emulator", "llm-emulator"}
_LANGUAGES = """
import sys
from faker import Faker
Faker("en_US")
print(*(name for name in sys.modules if name.startswith("faker.providers.")))
"""  # what is imported for the one language that texts are made in


def prune(prefix: Path) -> int:
    """How many bytes were removed below a prefix."""
    (site,) = prefix.glob("lib/python3.*/site-packages")
    before = _size(prefix)
    for path in [*_find_unused(site), *_find_languages(site), *_find_commands(prefix)]:
        if path.is_dir():
            rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return before - _size(prefix)


def _find_unused(site: Path) -> Iterator[Path]:
    for path in site.rglob("*"):
        is_tests = path.is_dir() and path.name in _TESTS and path.relative_to(site).parts[0] != "emulator"
        if is_tests or (path.suffix in _SOURCES and path.is_file()):
            yield path


def _find_languages(site: Path) -> Iterator[Path]:
    """Folders of Faker's providers, one a language, that are not imported."""
    command = [sys.executable, "-c", _LANGUAGES]
    environment = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    imported = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    for path in (site / "faker" / "providers").glob("*/*/"):
        if (path / "__init__.py").is_file() and ".".join(path.relative_to(site).parts) not in imported:
            yield path


def _find_commands(prefix: Path) -> Iterator[Path]:
    for path in (prefix / "bin").iterdir():
        if path.name not in _COMMANDS:
            yield path


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    print(f"{prune(Path(sys.argv[1])) / 1e6:.0f} MB are not needed")
