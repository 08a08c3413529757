"""The systems for which wheels are resolved, and what the documentation says of them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "wheels.py"


def say(word: str) -> str:
    return subprocess.run([sys.executable, SCRIPT, word], capture_output=True, text=True, check=True).stdout.strip()


def test_documentation_names_systems_of_wheels() -> None:
    assert say("rows") in (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    assert say("line") in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_extras_are_those_of_the_package() -> None:
    spec = importlib.util.spec_from_file_location("wheels", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["wheels"] = module  # its dataclass looks there
    try:
        spec.loader.exec_module(module)
        assert set(module.EXTRAS) == {"tls", "redis", "speed", "otel"}
        assert {name for target in module.TARGETS for name, _ in target.lacking} <= set(module.EXTRAS)
    finally:
        del sys.modules["wheels"]
