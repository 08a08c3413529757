"""pytest plugin: an emulator with a session, ports and journal per test.

Slow imports are deferred until they are needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from emulator.client import EmulatorClient
    from emulator.client.scenario import Source, Value
    from emulator.control.report_page import Report

_CLIENT = pytest.StashKey["EmulatorClient"]()
_REPORT: pytest.StashKey[Report] = pytest.StashKey()
_MAX_NAME = 48  # characters of the test's name in its session's name
_MARKER = """emulator(*paths, seed=…, clock=…, strict=…, **keys): the scenario of this test: files, joined, and keys of
the scenario language, which win over the files"""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("emulator", "LLM vendors, emulated")
    group.addoption("--emulator-url", metavar="URL", help="front URL of a running emulator; default: start one")
    group.addoption(
        "--emulator-command", metavar="COMMAND", help='command that starts the emulator, such as "uvx llm-emulator"'
    )
    group.addoption("--emulator-token", metavar="TOKEN", help="control token [EMULATOR_CONTROL_TOKEN]")
    group.addoption("--emulator-log", metavar="FILE", help="access log of the emulator that is started")
    group.addoption("--emulator-artifacts", metavar="DIR", help="folder for an HTML page per failed test")
    group.addoption("--emulator-report", metavar="FILE", help="HTML page with the calls of all tests")
    parser.addini(
        "emulator_command", "command that starts the emulator, such as one in its own environment", default=""
    )
    parser.addini("emulator_scenario", "scenario files that tests begin with", type="paths", default=[])
    parser.addini("emulator_strict", "fail tests that make calls which no rule matches", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--emulator-url") and config.getoption("--emulator-command"):
        raise pytest.UsageError("--emulator-url names an emulator that runs, --emulator-command starts one: give one")
    config.addinivalue_line("markers", " ".join(_MARKER.split()))
    if config.getoption("--emulator-report"):
        from emulator.control.report_page import Report

        config.stash[_REPORT] = Report("the calls of all tests")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the report at the end of the run; with pytest-xdist each worker process that made calls writes its own."""
    report = config.stash.get(_REPORT, None)
    if report is None or not report.calls:
        return
    file = Path(config.getoption("--emulator-report"))
    worker = getattr(config, "workerinput", None)  # of pytest-xdist
    file = file.with_suffix(f".{worker['workerid']}{file.suffix}") if worker else file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(report.render(), encoding="utf-8")


@pytest.fixture(scope="session")
def emulator_server(pytestconfig: pytest.Config) -> Iterator[EmulatorClient]:
    """Emulator shared by all tests of this process, started on first use; not bound to a session."""
    url, token = pytestconfig.getoption("--emulator-url"), pytestconfig.getoption("--emulator-token")
    command = pytestconfig.getoption("--emulator-command") or pytestconfig.getini("emulator_command")
    paths, strict = _read_ini(pytestconfig)
    log = pytestconfig.getoption("--emulator-log")
    if url:
        from emulator.client import EmulatorClient

        with EmulatorClient(url, via="path", token=token) as client:
            yield client
    elif command:
        from emulator.client import EmulatorClient
        from emulator.client.process import run_command, split_command

        with (
            run_command(split_command(command), Path(log) if log else None) as front,
            EmulatorClient(front, token=token) as client,
        ):
            if paths or strict:
                client.load(*paths, strict=strict or None)
            yield client
    else:
        from emulator import start

        with start(*paths, strict=strict or None, log=log) as client:
            yield client


@pytest.fixture
def emulator(request: pytest.FixtureRequest, emulator_server: EmulatorClient) -> Iterator[EmulatorClient]:
    """Emulator bound to a session of this test: its scenario, counters and journal are isolated from other tests."""
    node: pytest.Item = request.node
    with emulator_server.session(_name_session(node)) as client:
        _load_scenario(client, node)
        node.stash[_CLIENT] = client
        yield client
        report = node.config.stash.get(_REPORT, None)
        if report is not None:
            for call in client.requests():
                report.add(call)
        del node.stash[_CLIENT]


@pytest.fixture
def emulator_env(emulator: EmulatorClient, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, str]]:
    """Function that sets the environment variables of a vendor's clients for the test: ``emulator_env("azure")``."""

    def set_variables(vendor: str) -> dict[str, str]:
        variables = emulator.env(vendor)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return variables

    return set_variables


def _name_session(item: pytest.Item) -> str:
    """Return a session name that is unique among test runs on the same server."""
    words = re.sub(r"[^a-z0-9_]+", "-", item.name.lower()).strip("-")
    return f"{words[:_MAX_NAME]}.{os.urandom(6).hex()}"


def _read_ini(config: pytest.Config) -> tuple[list[Path], bool]:
    return config.getini("emulator_scenario"), config.getini("emulator_strict")


def _load_scenario(client: EmulatorClient, item: pytest.Item) -> None:
    """Activate the scenario of the test's markers; the nearest marker wins."""
    markers = [*item.iter_markers("emulator")]
    given = next((marker.args for marker in markers if marker.args), ())
    keys: dict[str, Value] = {name: value for marker in reversed(markers) for name, value in marker.kwargs.items()}
    paths, strict = _read_ini(item.config)
    is_elsewhere = bool(item.config.getoption("--emulator-url"))
    if strict and (given or is_elsewhere):
        keys.setdefault("strict", True)
    sources = [_find(item, source) for source in given] or (paths if is_elsewhere else [])
    if sources:
        client.load(*sources, **keys)
    elif keys:
        before = client.scenario().document
        client.load(before if isinstance(before, dict) else {}, **keys)


def _find(item: pytest.Item, source: Source) -> Source:
    """Resolve a scenario file: relative to the root folder, else to the folder of the test."""
    if not isinstance(source, str | Path) or "\n" in str(source):
        return source
    in_root, near_test = item.config.rootpath / source, item.path.parent / source
    return near_test if near_test.exists() and not in_root.exists() else in_root


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that made unmatched calls under a strict scenario."""
    yield
    client = item.stash.get(_CLIENT, None)
    if client is None:
        return
    unmatched = client.requests(error="unmatched")
    if unmatched:
        from emulator.client.call_report import describe_unmatched

        pytest.fail(describe_unmatched(unmatched), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the recorded calls to the report of a failed test."""
    report = yield
    client = item.stash.get(_CLIENT, None)
    if client is not None and report.failed:
        report.sections.append(("emulator", "\n".join(_describe(item, client, report))))
    return report


def _describe(item: pytest.Item, client: EmulatorClient, report: pytest.TestReport) -> Iterator[str]:
    from emulator.client import EmulatorError
    from emulator.client.call_report import describe_calls

    try:
        calls = client.requests()
    except (EmulatorError, OSError) as error:
        yield str(error)
        return
    yield describe_calls(calls)
    folder = item.config.getoption("--emulator-artifacts")
    if folder:
        yield f"page: {_write_page(Path(folder), client, report)}"


def _write_page(folder: Path, client: EmulatorClient, report: pytest.TestReport) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{client.session_name}.html"
    page.write_text(client.report(report.nodeid, report.longreprtext), encoding="utf-8")
    return page
