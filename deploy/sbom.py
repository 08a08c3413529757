"""Print what an image contains of Python, by its lock file, as CycloneDX 1.6.

``python deploy/sbom.py requirements.lock``
"""

import json
import re
import sys
import uuid
from pathlib import Path

_PACKAGE = re.compile(
    r"^([a-z0-9-]+)==([0-9.]+)((?:.*\\\n)(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+)", re.MULTILINE
)
_SPACE = uuid.UUID("5e7b1f0a-3f52-5a0c-9b6e-0d1d0f4b8c11")  # of serial numbers, which the content decides


def make_sbom(lock: str) -> dict[str, object]:
    """One component a package; it has a hash for each file that may be installed for a platform."""
    components = []
    for name, version, rest in _PACKAGE.findall(lock):
        hashes = sorted(re.findall(r"sha256:([0-9a-f]{64})", rest))
        components.append(
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in hashes],
            }
        )
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, lock)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "llm-emulator", "name": "llm-emulator"}},
        "components": components,
        "dependencies": [{"ref": "llm-emulator", "dependsOn": [each["bom-ref"] for each in components]}],
    }


if __name__ == "__main__":
    print(json.dumps(make_sbom(Path(sys.argv[1]).read_text(encoding="utf-8")), indent=1))
