"""An emulator in this process."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from emulator import start
from emulator.scenario.parsed import ScenarioError
from tests.client.app import ask

pytestmark = pytest.mark.slow

_HEAVY = ("aiohttp", "asyncio", "faker", "numpy", "pydantic", "yaml")


def loaded_by(statement: str) -> list[str]:
    """Return the heavy libraries that a statement imports."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return [name for name in _HEAVY if name in imported]


@pytest.mark.covers("promises/clients", "to import it is light")
@pytest.mark.parametrize("module", ["emulator", "emulator.pytest_plugin"])
def test_import_loads_no_heavy_modules(module: str) -> None:
    bare = loaded_by("import pytest") if module == "emulator.pytest_plugin" else []
    assert loaded_by(f"import {module}") == bare


def test_client_import_loads_only_pydantic() -> None:
    assert loaded_by("from emulator.client import *; EmulatorClient(); AsyncEmulatorClient()") == ["pydantic"]


def test_vendor_is_imported_on_first_request() -> None:
    code = """
import sys, urllib.request
from emulator import start
from emulator.vendors import VENDORS
imported = lambda: [name for name in VENDORS if f"emulator.vendors.{name}.routes" in sys.modules]
with start() as emulator:
    assert imported() == [], imported()
    urllib.request.urlopen(emulator.url("openvino") + "/v1/config").read()
    assert imported() == ["openvino"], imported()
"""
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_later_start_imports_nothing() -> None:
    with start():
        before = set(sys.modules)
        with start():
            assert set(sys.modules) == before


@pytest.mark.covers("promises/clients", "on a thread, on free ports, and gone")
def test_close_ends_thread_and_frees_port() -> None:
    with start() as emulator:
        url = emulator.url("databricks")
        assert ask(url) == 200
        assert "emulator" in [thread.name for thread in threading.enumerate()]
    emulator.close()
    with pytest.raises(OSError, match="refused"):
        ask(url)


def fail(url: str) -> None:
    with pytest.raises(OSError, match="closed"):
        ask(url)


def test_hanging_response_does_not_delay_close() -> None:
    with start(rules=[{"name": "hang", "faults": [{"type": "hang"}]}]) as emulator:
        url = emulator.url("databricks")
        caller = threading.Thread(target=fail, args=(url,))
        caller.start()
        time.sleep(0.1)
        began = time.perf_counter()
    assert time.perf_counter() - began < 5
    caller.join()


@pytest.mark.covers("promises/clients", "seeds, two at once")
def test_two_emulators_have_separate_journals_and_seeds() -> None:
    with start(seed=1) as one, start(seed=2) as two:
        ask(one.url("databricks"))
        assert (len(one.requests()), len(two.requests())) == (1, 0)
        assert (one.scenario().seed, two.scenario().seed) == (1, 2)


@pytest.mark.covers("promises/clients", "files and keys")
def test_start_takes_file_keys_clock_and_strict(tmp_path: Path) -> None:
    file = tmp_path / "busy.yaml"
    file.write_text("rules:\n  - {name: busy, times: {first: 1}, error: {kind: rate_limited}}\n")
    with start(file, {"limits": []}, clock="instant", strict=True) as emulator:
        assert [ask(emulator.url("databricks")), ask(emulator.url("databricks"))] == [429, 501]
        assert emulator.clock().kind == "instant"


def test_start_reports_scenario_error_with_line_and_starts_no_thread(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("rules:\n  - name: a\n    eror: {}\n")
    before = threading.active_count()
    with pytest.raises(ScenarioError, match=r"bad\.yaml:3:5: rules\[0\]\.eror: unknown key; did you mean error\?"):
        start(str(file))
    assert threading.active_count() == before


def test_start_writes_calls_to_log_file(tmp_path: Path) -> None:
    with start(log=tmp_path / "logs" / "calls.log") as emulator:
        ask(emulator.url("databricks"))
    assert "/serving-endpoints/chat/completions" in (tmp_path / "logs" / "calls.log").read_text()
