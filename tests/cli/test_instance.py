"""``emulator instance``: one schema, or one a line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.cli import main

pytestmark = pytest.mark.slow

LINES = ['{"type":"integer"}', '{"type":"string","minLength":2,"maxLength":1}', "no", '{"const":"ü"}', "true"]


@pytest.mark.covers("language/commands", "instance")
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], ids=["in order", "the other way round"])
def test_instance_handles_each_line_independently(order: list[int]) -> None:
    command = [sys.executable, "-m", "emulator", "instance", "-", "--seed", "3"]
    text = "\n".join(LINES[n] for n in order)
    ended = subprocess.run(command, input=text.encode(), capture_output=True, timeout=20, check=True)
    found = dict(zip(order, map(json.loads, ended.stdout.splitlines()), strict=True))
    assert isinstance(found[0], int)
    assert set(found[1]) == set(found[2]) == {"error"}
    assert found[3] == "ü"
    again = subprocess.run(command, input=LINES[0].encode(), capture_output=True, timeout=20, check=True)
    assert json.loads(again.stdout) == found[0]


def test_instance_reads_schema_file(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "array", "minItems": 2, "items": {"enum": [1, 2]}}')
    assert main(["instance", str(path), "--mode", "minimal"]) == 0
    assert len(json.loads(capsysbinary.readouterr().out)) == 2
    path.write_text("false")
    assert main(["instance", str(path)]) == 1
    assert main(["instance", str(tmp_path / "none.json")]) == 2
