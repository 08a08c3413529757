"""pytest plugin: an emulator with a session, ports and journal per test.

Slow imports are deferred until they are needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from emulator.client import EmulatorClient
    from emulator.client.scenario import Source, Value
    from emulator.control.report_page import Report
    from emulator.recording.modes import ModePlan
    from emulator.serve.in_process import LocalEmulator

_CLIENT = pytest.StashKey["EmulatorClient"]()
_REPORT: pytest.StashKey[Report] = pytest.StashKey()
_MAX_NAME = 48  # characters of the test's name in its session's name
_MARKER = """emulator(*paths, seed=…, clock=…, strict=…, **keys): the scenario of this test: files, joined, and keys of
the scenario language, which win over the files; replay=FOLDER and record="once" as vcrpy has it"""


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
    group.addoption(
        "--emulator-record",
        choices=("none", "once", "new_episodes", "all"),
        help="whether tests with a replay record, in place of what they say",
    )
    group.addoption(
        "--emulator-upstream",
        metavar="VENDOR=URL",
        action="append",
        default=[],
        help="service to record; repeatable",
    )
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

        targets = _read_upstreams(pytestconfig)
        with start(*paths, strict=strict or None, log=log, forward=targets) as client:
            yield client


def _read_upstreams(config: pytest.Config) -> dict[str, str]:
    """Return the services of ``--emulator-upstream`` by vendor."""
    texts = config.getoption("--emulator-upstream")
    if not texts:
        return {}
    from emulator.recording.relay import UpstreamError, parse_upstreams
    from emulator.vendors import VENDORS

    try:
        return parse_upstreams(texts, VENDORS)
    except UpstreamError as error:
        raise pytest.UsageError(f"--emulator-upstream: {error}") from None


@pytest.fixture
def emulator(request: pytest.FixtureRequest, emulator_server: EmulatorClient) -> Iterator[EmulatorClient]:
    """Emulator bound to a session of this test: its scenario, counters and journal are isolated from other tests."""
    node: pytest.Item = request.node
    with emulator_server.session(_name_session(node)) as client, _recording(emulator_server, client, node) as keys:
        _load_scenario(client, node, keys)
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


def _read_keys(item: pytest.Item) -> dict[str, Value]:
    """Return the keys of the test's markers; the nearest marker wins."""
    markers = [*item.iter_markers("emulator")]
    return {name: value for marker in reversed(markers) for name, value in marker.kwargs.items()}


@contextmanager
def _recording(server: EmulatorClient, client: EmulatorClient, item: pytest.Item) -> Iterator[dict[str, Value]]:
    """Yield the keys of the test's markers, with its replay as a scenario has it; record inside the block if asked."""
    keys = _read_keys(item)
    replay, record = keys.pop("replay", None), keys.pop("record", None)
    if replay is None:
        if record is not None:
            raise pytest.UsageError(f"record={record!r} needs replay=FOLDER")
        yield keys
        return
    settings = dict(replay) if isinstance(replay, dict) else {"from": str(replay)}
    folder = item.config.rootpath / str(settings.get("from", ""))
    if not folder.exists() and (item.path.parent / str(settings.get("from", ""))).exists():
        folder = item.path.parent / str(settings["from"])
    plan = _plan_mode(item, str(record or "none"), folder)
    if plan.replays:
        keys["replay"] = {**settings, "from": str(folder)} if "from" in settings else settings
    if not plan.records:
        yield keys
        return
    keys["unmatched"] = "record"
    with _require_recorder(server, item).recording(client.session_name, folder):
        yield keys


def _plan_mode(item: pytest.Item, mode: str, folder: Path) -> ModePlan:
    from emulator.recording.modes import plan_mode

    try:
        return plan_mode(item.config.getoption("--emulator-record") or mode, folder)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def _require_recorder(server: EmulatorClient, item: pytest.Item) -> LocalEmulator:
    """Return the emulator that records.

    Raises:
        pytest.UsageError: it runs elsewhere, or there is no service to record.
    """
    from emulator.serve.in_process import LocalEmulator

    if not isinstance(server, LocalEmulator):
        raise pytest.UsageError("tests record only with an emulator in their own process")
    if not item.config.getoption("--emulator-upstream"):
        raise pytest.UsageError("there is nothing to record: name the service with --emulator-upstream VENDOR=URL")
    return server


def _load_scenario(client: EmulatorClient, item: pytest.Item, keys: dict[str, Value]) -> None:
    """Activate the scenario of the test's markers; the nearest marker wins."""
    given = next((marker.args for marker in item.iter_markers("emulator") if marker.args), ())
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
