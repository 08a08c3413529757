"""Tests of ``emulator sweep``: a client without and with retries, run for every fault."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from emulator.cli import main
from emulator.sweep.report import read_json

pytestmark = pytest.mark.slow

APP = """
    import json, os, sys, urllib.error, urllib.request

    def ask(tries=1):
        url = os.environ["DATABRICKS_HOST"] + "/serving-endpoints/databricks-claude-sonnet-4-5/invocations"
        body = json.dumps({"messages": [{"role": "user", "content": "What are tides?"}], "max_tokens": 9}).encode()
        head = {"Authorization": "Bearer k", "Content-Type": "application/json"}
        for left in reversed(range(tries)):
            try:
                with urllib.request.urlopen(urllib.request.Request(url, body, head), timeout=2) as answer:
                    return json.load(answer)["choices"][0]["message"]["content"]
            except Exception:
                if not left:
                    raise
"""
FRAGILE = dedent(APP) + "ask()\n"
STUBBORN = dedent(APP) + "ask(3)\n"


def run(folder: Path, source: str, *flags: str) -> tuple[int, dict[tuple[str, str], Mapping[str, str]]]:
    """Sweep a program; return the exit status and the cells by fault and position."""
    app, report = folder / "app.py", folder / "sweep.json"
    app.write_text(source, encoding="utf-8")
    code = main(["sweep", "--json", str(report), *flags, "--", sys.executable, "-S", str(app)])
    cells = json.loads(report.read_text(encoding="utf-8"))["cells"]
    return code, {(cell["fault"], cell["position"]): cell for cell in cells}


@pytest.mark.covers("language/commands", "sweep")
def test_sweep_tells_what_a_client_survives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = "--junit", str(tmp_path / "j.xml"), "--sarif", str(tmp_path / "s.sarif"), "--jobs", "2"
    code, cells = run(tmp_path, FRAGILE, *files)
    assert code == 1
    outcomes = {key: cell["outcome"] for key, cell in cells.items()}
    assert outcomes["rate_limited", "before the head"] == "failed loudly"
    assert outcomes["disconnect", "half of the body"] == "failed loudly"
    assert outcomes["wrong_usage", ""] == "survived"
    assert "hung" not in outcomes.values()
    said = capsys.readouterr().out
    assert "| databricks chat | rate_limited | before the head | failed loudly |" in said
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    failed = sum(outcome != "survived" for outcome in outcomes.values())
    assert (int(suite.attrib["tests"]), int(suite.attrib["failures"])) == (len(cells), failed)
    sarif = json.loads((tmp_path / "s.sarif").read_text(encoding="utf-8"))
    assert len(sarif["runs"][0]["results"]) == failed
    scenario = tmp_path / "again.yaml"
    scenario.write_text(cells["rate_limited", "before the head"]["scenario"], encoding="utf-8")
    assert main(["check", str(scenario)]) == 0


def test_client_that_repeats_everything_fails_silently(tmp_path: Path) -> None:
    _, cells = run(tmp_path, STUBBORN, "--jobs", "2")
    assert cells["internal", "before the head"]["outcome"] == "survived"
    silent = cells["forbidden", "before the head"]
    assert silent["outcome"] == "failed silently"
    assert "which was refused with 403" in silent["broken"][0]


def test_sweep_goes_on_where_it_ended(tmp_path: Path) -> None:
    _, some = run(tmp_path, FRAGILE, "--max-runs", "1")
    assert len(read_json(tmp_path / "sweep.json")) == len(some)
    _, more = run(tmp_path, FRAGILE, "--max-runs", "1")
    assert some.items() < more.items()


@pytest.mark.parametrize(
    ("source", "flags", "said"),
    [
        pytest.param("", [], "the command made no call to databricks", id="no call"),
        pytest.param("import time; time.sleep(9)", ["--hang-after", "100ms"], "did not end", id="it hangs"),
    ],
)
def test_command_that_cannot_be_swept_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, flags: list[str], said: str
) -> None:
    app = tmp_path / "app.py"
    app.write_text(source, encoding="utf-8")
    assert main(["sweep", *flags, "--", sys.executable, str(app)]) == 2
    assert said in capsys.readouterr().err
