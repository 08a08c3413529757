"""Dependencies of client and plugin with a remote emulator."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report_page import read_details

pytestmark = pytest.mark.slow

SERVER = {"aiohttp", "faker", "multidict", "numpy", "orjson", "prometheus_client", "re2", "yaml"}  # what it needs
# Finds what is not among the installed packages of an application that has pydantic and pytest alone.
ALONE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import pytest
sys.exit(pytest.main({arguments!r}))
"""
SUITE = """
import json
import urllib.error
import urllib.request
import pytest

def ask(url, text="Hi"):
    body = json.dumps({"messages": [{"role": "user", "content": text}], "max_tokens": 4}).encode()
    path = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
    request = urllib.request.Request(url + path, body, {"Authorization": "Bearer any"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()

@pytest.mark.emulator("throttled.yaml", clock="instant")
def test_a_scenario_in_a_file(emulator):
    assert [ask(emulator.url("databricks"))[0] for _ in range(2)] == [429, 200]
    emulator.assert_called(times=2, prompt={"contains": "Hi"})

def test_a_scenario_as_a_mapping(emulator, emulator_env):
    emulator.load("rules: [{name: a, reply: {text: Twice a day.}}]", {"seed": 3})
    assert "Twice a day." in ask(emulator_env("databricks")["DATABRICKS_HOST"])[1]

def test_mistakes_are_shown_where_they_are(emulator):
    with pytest.raises(Exception, match=r"wrong[.]yaml:1:19: rules.0..eror: unknown key"):
        emulator.load("wrong.yaml")

def test_that_fails(emulator):
    ask(emulator.url("databricks"), "What of tides?")
    assert False
"""


def test_plugin_with_emulator_command_needs_only_pydantic(tmp_path: Path) -> None:
    (tmp_path / "test_app.py").write_text(SUITE)
    (tmp_path / "throttled.yaml").write_text("rules: [{name: b, times: {first: 1}, error: {kind: rate_limited}}]\n")
    (tmp_path / "wrong.yaml").write_text("rules: [{name: a, eror: {kind: timeout}}]\n")
    arguments = ["-p", "emulator.pytest_plugin", "--emulator-report", "all.html", "--emulator-artifacts", "pages"]
    arguments += ["--emulator-command", f"{sys.executable} -m emulator", "--emulator-log", "calls.log", "-q"]
    program = ALONE.format(absent=SERVER, arguments=arguments)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
    )
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "1 failed" in ended.stdout
    assert "1 call made:" in ended.stdout
    assert "What of tides?" in read_details((tmp_path / "all.html").read_text(encoding="utf-8"))[-1]
    assert len([*(tmp_path / "pages").iterdir()]) == 1
    assert "429" in (tmp_path / "calls.log").read_text()
