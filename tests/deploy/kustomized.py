"""What an overlay of the manifests is once it is built, by the tool that a cluster's users have."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.untyped_json import JSON

FOLDER = Path(__file__).parent.parent.parent / "deploy" / "kubernetes"
BASE, REPLICAS = FOLDER / "base", FOLDER / "overlays" / "replicas"

Built = dict[tuple[str, str], JSON]


def find_builder() -> list[str] | None:
    """The command that builds an overlay, where there is one."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


@cache
def build(overlay: Path) -> Built:
    """Every resource of an overlay, by its kind and name."""
    command = find_builder()
    if command is None:
        pytest.skip("neither kustomize nor kubectl is installed")
    built = subprocess.run([*command, str(overlay)], capture_output=True, text=True, timeout=60, check=False)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""  # a field that kustomize no longer accepts
    documents = yaml.safe_load_all(built.stdout)
    return {(document["kind"], document["metadata"]["name"]): document for document in documents}
