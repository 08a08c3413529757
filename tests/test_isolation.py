"""Tests in any order, on any number of processes, on one server or several, see what they would see alone."""

import json
import os
from pathlib import Path

import pytest

from emulator import start

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
COUNT = int(os.environ.get("ISOLATED_TESTS", "20"))  # 400 before a release
WORKERS = 4 if COUNT > 100 else 2

_CONFTEST = """
import random

def pytest_collection_modifyitems(items):
    random.Random({order}).shuffle(items)
"""

# Each test has retries, streams, faults, quotas or clocks of its own, and writes down all that it can see of its calls.
_SUITE = """
import json, os, pathlib
import pytest
from app import ask

BUSY = {{"name": "busy", "times": {{"first": 2}}, "error": {{"kind": "rate_limited"}}}}
LOST = {{"name": "lost", "times": {{"every": 2}}, "faults": [{{"type": "late_error", "after_tokens": 3}}]}}
MAYBE = {{"name": "maybe", "times": {{"probability": 0.5}}, "error": {{"kind": "overloaded"}}}}
LIMIT = {{"unit": "requests", "amount": 3, "window": "60s", "strategy": "fixed"}}
SCENARIOS = [
    {{"rules": [BUSY]}},
    {{"rules": [LOST]}},
    {{"rules": [MAYBE]}},
    {{"limits": [LIMIT]}},
    {{"rules": [BUSY, LOST, MAYBE]}},
]
VARIES = {{"session", "seq"}}

def read(call):
    whole = call.model_dump(exclude=VARIES)
    whole["request"]["headers"].pop("host")
    return whole

@pytest.mark.parametrize("number", range({count}))
def test_it(emulator, number):
    clock = ("frozen", "instant")[number % 2]
    emulator.load(SCENARIOS[number % len(SCENARIOS)], clock=clock, seed=number % 7)
    url = emulator.url("databricks")
    for turn in range(number % 4 + 2):
        ask(url, f"question {{turn % 2}}", max_tokens=16, stream=number % 3 == 0)
        if turn == 2:
            emulator.advance("61s")
    calls = emulator.requests()
    assert len(calls) == number % 4 + 2
    folder = pathlib.Path(os.environ["JOURNALS"])
    (folder / f"{{number}}.json").write_text(json.dumps([read(call) for call in calls], sort_keys=True))
    with open(folder / f"{{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}}.fronts", "a") as fronts:
        print(emulator.front, file=fronts)
"""


def journals(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str) -> dict[str, object]:
    """What each test of a run has seen."""
    folder = suite.mkdir(name)
    monkeypatch.setenv("JOURNALS", str(folder))
    suite.makeconftest(_CONFTEST.format(order=len(name)))
    plugins = ("-p", "emulator.pytest_plugin", "-p", "xdist.plugin", "-p", "no:cacheprovider")
    suite.runpytest_subprocess(*plugins, *arguments).assert_outcomes(passed=COUNT)
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}


def fronts(suite: pytest.Pytester, name: str) -> list[set[str]]:
    """The servers that each process of a run has asked."""
    return [set(path.read_text().split()) for path in (suite.path / name).glob("*.fronts")]


@pytest.mark.covers("promises/plugin", "one server a worker, or one for all")
def test_parallel_journals_match_serial_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(pytester.path)]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(app=(ROOT / "tests" / "client" / "app.py").read_text(), test_it=_SUITE.format(count=COUNT))
    spread = f"-n{WORKERS}"
    with start() as elsewhere:
        shared = f"--emulator-url={elsewhere.front}"
        serial = journals(pytester, monkeypatch, "serial", shared, "-n0")
        assert len(serial) == COUNT
        assert journals(pytester, monkeypatch, "one_server", shared, spread) == serial
        assert elsewhere.requests() == []
        assert fronts(pytester, "one_server") == [{elsewhere.front}] * WORKERS
    assert journals(pytester, monkeypatch, "a_server_each", spread) == serial
    asked = fronts(pytester, "a_server_each")
    assert [len(each) for each in asked] == [1] * WORKERS
    assert len(set.union(*asked)) == WORKERS
