"""Node and the packages that it finds, for tests of clients for Node."""

import json
import os
import shutil
from pathlib import Path

NODE = shutil.which("node")


def find_reason(*packages: str) -> str:
    """Return why no program with these packages can run here; empty: it can."""
    if NODE is None:
        return "node is not installed"
    missing = [package for package in packages if not find_release(package)]
    return f"not installed where NODE_PATH says: {', '.join(missing)}" if missing else ""


def find_release(package: str) -> str:
    """Return the release of a package in the folders that Node searches for a program of these tests, empty if none."""
    above = [str(folder / "node_modules") for folder in Path(__file__).parents]
    for folder in [*above, *filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep))]:
        described = Path(folder, package, "package.json")
        if described.is_file():
            return str(json.loads(described.read_text(encoding="utf-8"))["version"])
    return ""
