"""Tests of ``emulator timeline``."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from emulator.cli import main
from tests.cli.test_serve import serving
from tests.untyped_json import JSON

OUTAGES = """
version: 1
name: outages
clock: instant
outages:
  - {name: north, kind: region, deployments: [a, b], between: [60s, 120s]}
  - {name: south, kind: slow_recovery, between: [10m, 12m], for: 5m}
  - {name: "<old> & gone", kind: retirement, between: [1m, 15m]}
  - {name: drawn, kind: brown_out, share: 0.25, random: {every: 5m, mean: 1m, seed: 3}}
"""
BEGIN = 1767225600.0
CALL: JSON = {
    "id": "1", "seq": 1, "time": BEGIN, "vendor": "azure", "session": "a", "principal": "", "method": "POST",
    "path": "/chat", "operation": "chat", "deployment": "gpt-4o", "stream": False, "status": 200, "attempt": 1,
    "retry_of": None, "retries": 0, "rule": None, "faults": [], "error": None, "finish_reason": None,
    "prompt_tokens": 1, "completion_tokens": 1, "sent_tokens": 1, "planned_ttft": None, "ttft": None,
    "planned_end": None, "last_token": None, "duration": 2.0, "lateness_p99": None, "whole": True,
    "client_left": False, "summary": "",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "outages.yaml"
    file.write_text(OUTAGES, encoding="utf-8")
    return file


def titles(picture: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}title")]


@pytest.mark.covers("language/commands", "timeline")
def test_timeline_draws_each_outage(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", str(file), "--until", "20m"]) == 0
    picture = capsys.readouterr().out
    assert titles(picture)[1:6] == [
        "north: 60 s to 2 min",
        "south: 10 min to 12 min",
        "south: quotas are back at 17 min",
        "<old> & gone: 60 s to 15 min, warned",
        "<old> & gone: gone from 15 min",
    ]
    north = next(line for line in picture.splitlines() if "north (region)" in line)
    assert 'x="277.0" y="4" width="37.00"' in north  # of 740 pixels for 20 minutes, from 240 on
    assert sum(text.startswith("drawn: ") for text in titles(picture)) > 1
    assert main(["timeline", str(file), "--out", str(file.with_suffix(".svg")), "--until", "20m"]) == 0
    assert file.with_suffix(".svg").read_text(encoding="utf-8") == picture


def test_calls_of_a_journal_are_drawn_beneath(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [
        CALL,
        {**CALL, "seq": 2, "time": BEGIN + 70, "status": 503, "error": "overloaded", "rule": "outage north"},
        {**CALL, "seq": 3, "session": "b", "deployment": "b", "whole": False, "client_left": True},
    ]
    journal = file.with_name("journal.json")
    journal.write_text(json.dumps({"requests": calls, "total": 3}), encoding="utf-8")
    assert main(["timeline", str(file), "--journal", str(journal)]) == 0
    picture = capsys.readouterr().out
    assert "azure/gpt-4o: 2 calls, 1 not whole" in picture
    assert "azure/b: 1 calls, 1 not whole" in picture
    assert ">1 calls, 1 not whole</tspan>" in picture
    assert "#2 503 overloaded, rule outage north, 2.000 s" in titles(picture)
    assert main(["timeline", str(file), "--journal", str(journal), "--session", "b"]) == 0
    assert "gpt-4o" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["nowhere.yaml"], 1, "no such file", id="no scenario"),
        pytest.param(["FILE", "--journal", "nowhere.json"], 2, "--journal: cannot read nowhere.json", id="no journal"),
        pytest.param(["FILE", "--journal", "FILE"], 2, "is not what GET /_emulator/requests gives", id="no JSON"),
        pytest.param(["FILE", "--url", "http://127.0.0.1:9"], 1, "no calls: ", id="no emulator"),
        pytest.param(["FILE", "--until", "soon"], 2, "--until: ", id="no time"),
        pytest.param(["FILE", "--url", "http://a", "--journal", "b"], 2, "give one", id="two sources"),
        pytest.param(["FILE", "--out", "/nowhere/a.svg"], 2, "--out: cannot write /nowhere/a.svg", id="no folder"),
        pytest.param(["EMPTY"], 1, "nothing to draw: ", id="no outages"),
    ],
)
def test_mistakes_are_one_line(
    file: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = file.with_name("empty.yaml")
    empty.write_text("version: 1\n", encoding="utf-8")
    places = {"FILE": str(file), "EMPTY": str(empty)}
    assert main(["timeline", *(places.get(one, one) for one in arguments)]) == code
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


@pytest.mark.slow
def test_calls_of_a_running_emulator_are_drawn(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, str(file)) as (_, urls):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urls["front"] + "/_s/a/openvino/v1/nothing")
        assert main(["timeline", str(file), "--url", urls["front"], "--session", "a"]) == 0
    assert "1 calls, 1 not whole" in capsys.readouterr().out


@pytest.mark.slow
def test_timeline_is_the_same_in_every_process(file: Path) -> None:
    command = [sys.executable, "-m", "emulator", "timeline", str(file)]
    drawn = {
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert len(drawn) == 1
