"""What is installed into an image on each C library."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent.parent
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def load(path: str) -> ModuleType:
    """Import a file that belongs to no package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_lock_file_is_taken_whole_unless_packages_lack_wheels() -> None:
    assert load("deploy/lock.py").select(LOCK, set()) == LOCK


def test_package_is_left_out_with_its_hashes() -> None:
    selected = load("deploy/lock.py").select(LOCK, {"google-re2"})
    left_out = re.search(r"(?m)^google-re2==.*\\\n(?: .*\n)+", LOCK)
    assert left_out is not None
    assert left_out[0].count("--hash=") > 1
    assert selected == LOCK.replace(left_out[0], "")


def test_image_and_table_of_systems_agree_about_musl() -> None:
    targets = load(".ci/wheels.py").TARGETS
    lacking = [{package for _, package in each.lacking} for each in targets if "musl" in each.platform]
    assert lacking == [load("deploy/lock.py").WITHOUT_MUSL] * 2
