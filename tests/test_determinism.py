"""The same requests get the same bytes in every process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.determinism_probe import REQUESTS, collect

pytestmark = pytest.mark.slow


async def test_responses_are_identical_across_processes() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    process = subprocess.run(
        [sys.executable, "-m", "tests.determinism_probe"],
        env=environment,
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    theirs, ours = json.loads(process.stdout), await collect()
    assert theirs == ours
    assert all(len(set(digests)) > REQUESTS / 2 for digests in ours.values())
