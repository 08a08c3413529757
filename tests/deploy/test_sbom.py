"""The software bill of materials of the image."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.untyped_json import JSON

ROOT = Path(__file__).parent.parent.parent
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def make() -> JSON:
    command = [sys.executable, "deploy/sbom.py", "requirements.lock"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


def test_every_locked_package_is_component_with_hashes() -> None:
    sbom = make()
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    locked = re.findall(r"^([a-z0-9-]+)==([0-9.]+)", LOCK, re.MULTILINE)
    assert [(each["name"], each["version"]) for each in sbom["components"]] == locked
    assert sum(len(each["hashes"]) for each in sbom["components"]) == LOCK.count("--hash=sha256:")
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in sbom["components"])
    assert sbom["dependencies"][0]["dependsOn"] == [each["bom-ref"] for each in sbom["components"]]


def test_sbom_is_reproducible() -> None:
    assert make() == make()
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", make()["serialNumber"])


def test_image_contains_sbom() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "python deploy/sbom.py installed.lock > /install/share/llm-emulator/sbom.cdx.json" in dockerfile
