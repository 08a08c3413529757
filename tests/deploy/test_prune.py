"""What is removed from an installation, and that the emulator misses nothing."""

import subprocess
import sys
import sysconfig
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[2]
SITE = Path(sysconfig.get_paths()["purelib"])
KEPT = """
import sys
from faker import Faker
Faker.seed(7)
one = Faker("en_US")
print(one.name(), one.address(), one.iban(), one.ssn(), one.license_plate(), one.company(), one.job(), one.date())
import numpy
print(numpy.arange(3).sum(), numpy.float16(1.5))
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation with the two packages of which most is never read, after it was pruned."""
    prefix = tmp_path_factory.mktemp("prefix")
    site = prefix / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    for name in ("faker", "numpy", "numpy.libs"):
        if (SITE / name).is_dir():
            copytree(SITE / name, site / name, ignore=ignore_patterns("__pycache__"))  # pip makes them, uv does not
    (site / "emulator" / "tests").mkdir(parents=True)
    (prefix / "bin").mkdir()
    for name in ("emulator", "llm-emulator", "f2py", "faker"):
        (prefix / "bin" / name).touch()
    script = ROOT / "deploy" / "prune.py"
    ran = subprocess.run([sys.executable, script, prefix], capture_output=True, text=True, timeout=60, check=True)
    assert int(ran.stdout.removesuffix(" MB are not needed\n")) > 10
    return prefix


def run(prefix: Path) -> str:
    """Run a program with the packages of a prefix before all others; return its output."""
    (site,) = prefix.glob("lib/python3.*/site-packages")
    script = f"import sys; sys.path.insert(0, {str(site)!r})\n{KEPT}\nprint(numpy.__file__)"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True).stdout


def test_pruned_installation_gives_same_output(prefix: Path) -> None:
    whole = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, timeout=60, check=True).stdout
    *said, file = run(prefix).splitlines(keepends=True)
    assert "".join(said) == whole
    assert file.startswith(str(prefix))


def test_prune_removes_unused_files(prefix: Path) -> None:
    (site,) = prefix.glob("lib/python3.*/site-packages")
    names = {path.name for path in (site / "faker" / "providers" / "person").iterdir() if path.is_dir()}
    assert "en_US" in names
    assert not {"de_DE", "ja_JP", "zh_CN"} & names
    assert not (site / "numpy" / "tests").exists()
    assert not [path for path in site.rglob("*.pyi")]
    assert sorted(path.name for path in (prefix / "bin").iterdir()) == ["emulator", "llm-emulator"]
    assert (site / "emulator" / "tests").is_dir()
