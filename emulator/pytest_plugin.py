"""pytest plugin: fixtures and a marker that give each test an emulator with a session, ports and a journal of its own.

Slow imports are deferred until they are needed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.scope import ScopeName

    from emulator.client import EmulatorClient
    from emulator.client.scenario import Source, Value
    from emulator.control.report_page import Report
    from emulator.recording.modes import ModePlan
    from emulator.serve.in_process import LocalEmulator
    from emulator.sweep.coverage import Coverage

_CLIENT = pytest.StashKey["EmulatorClient"]()
_SINCE = pytest.StashKey[int]()  # number of the last call before the test, in a session that tests share
_BEGAN = pytest.StashKey[float]()  # Unix time at which the run began
_WRITTEN = pytest.StashKey[dict[str, list[Path]]]()  # what each test recorded in this run
_REPORT: pytest.StashKey[Report] = pytest.StashKey()
_COVERAGE: pytest.StashKey[Coverage] = pytest.StashKey()
_SWEEP = "EMULATOR_SWEEP"  # as emulator.sweep.swept_tests names it
_MAX_NAME = 48  # characters of the test's name in its session's name
_MARKER = """emulator(*paths, seed=…, clock=…, strict=…, unused=…, **keys): the scenario of this test: files, joined,
and keys of the scenario language, which win over the files; replay=FOLDER and record="once" as vcrpy has it"""
_UNUSED = ("error", "ignore")
_SCOPES = ("function", "class", "module", "package", "session")


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
    group.addoption("--emulator-coverage", action="store_true", help="which errors and faults the tests met")
    group.addoption("--emulator-coverage-file", metavar="FILE", help="the same as JSON, for emulator coverage")
    group.addoption(
        "--emulator-fail-under", metavar="PERCENT", type=float, help="fail if the tests met fewer errors and faults"
    )
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
    parser.addini("emulator_unused", "error: fail tests with rules that took no call", default="ignore")
    parser.addini("emulator_session_scope", "scope of the fixture emulator_session", default="module")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--emulator-url") and config.getoption("--emulator-command"):
        raise pytest.UsageError("--emulator-url names an emulator that runs, --emulator-command starts one: give one")
    for name, known in (("emulator_unused", _UNUSED), ("emulator_session_scope", _SCOPES)):
        if config.getini(name) not in known:
            raise pytest.UsageError(f"{name} is one of {', '.join(known)}, not {config.getini(name)!r}")
    config.stash[_BEGAN] = getattr(config, "workerinput", {}).get("emulator_began") or time.time()
    config.stash[_WRITTEN] = {}
    _read_upstreams(config)  # a wrong one ends the run, not each test
    config.addinivalue_line("markers", " ".join(_MARKER.split()))
    if config.getoption("--emulator-report"):
        from emulator.control.report_page import Report

        config.stash[_REPORT] = Report("the calls of all tests")
    if any(config.getoption(f"--emulator-{name}") for name in ("coverage", "coverage-file", "fail-under")):
        from emulator.sweep.coverage import Coverage

        config.stash[_COVERAGE] = Coverage()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker of pytest-xdist collected to the process that reports it; there, judge the coverage."""
    config = session.config
    report, coverage = config.stash.get(_REPORT, None), config.stash.get(_COVERAGE, None)
    output = getattr(config, "workeroutput", None)
    if output is not None:
        if report is not None:
            output["emulator_calls"] = [report.calls, report.details, report.tests, report.dump_accounts()]
        if coverage is not None:
            output["emulator_coverage"] = coverage.dump()
    elif coverage is not None:
        file = config.getoption("--emulator-coverage-file")
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(coverage.dump(), encoding="utf-8")
        if session.exitstatus == pytest.ExitCode.OK and coverage.is_under(_read_wanted(config)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _read_wanted(config: pytest.Config) -> float:
    return config.getoption("--emulator-fail-under") or 0.0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print which failures the tests met."""
    coverage = config.stash.get(_COVERAGE, None)
    if coverage is None:
        return
    terminalreporter.section("failures that calls met")
    wanted = _read_wanted(config)
    *rows, last = coverage.format()
    for line in rows:
        terminalreporter.write_line(line)
    if coverage.is_under(wanted):
        terminalreporter.write_line(f"less than {wanted:g} %", red=True)
    terminalreporter.write_line(last)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker of pytest-xdist when the run began; one that replaces a crashed worker starts later."""
    node.workerinput["emulator_began"] = node.config.stash[_BEGAN]  # type: ignore[attr-defined]  # a WorkerController


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Add the calls of a worker that ended; one that crashed sends none."""
    report = node.config.stash.get(_REPORT, None)  # type: ignore[attr-defined]  # a WorkerController
    calls, details, tests, accounts = getattr(node, "workeroutput", {}).get("emulator_calls", ((), (), (), ()))
    if report is not None:
        report.calls += calls
        report.details += details
        report.tests += tests
        report.add_accounts(accounts)
    coverage = node.config.stash.get(_COVERAGE, None)  # type: ignore[attr-defined]
    counts = getattr(node, "workeroutput", {}).get("emulator_coverage")
    if coverage is not None and counts:
        from emulator.sweep.coverage import parse_coverage

        coverage.join(parse_coverage(counts, "a worker"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the report at the end of the run."""
    report = config.stash.get(_REPORT, None)
    if report is None or not report.calls or hasattr(config, "workerinput"):
        return
    file = Path(config.getoption("--emulator-report"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(report.render(), encoding="utf-8")


@pytest.fixture(scope="session")
def emulator_server(pytestconfig: pytest.Config) -> Iterator[EmulatorClient]:
    """Emulator shared by all tests of this process, started on first use; in a sweep that of the sweep."""
    with _open_server(pytestconfig) as client:
        yield client
        if not pytestconfig.getoption("--emulator-url"):  # others may call that one
            _report_calls(pytestconfig, client)


@contextmanager
def _open_server(config: pytest.Config) -> Iterator[EmulatorClient]:
    url, token = config.getoption("--emulator-url"), config.getoption("--emulator-token")
    command = config.getoption("--emulator-command") or config.getini("emulator_command")
    paths, strict = _read_ini(config)
    log = config.getoption("--emulator-log")
    if _SWEEP in os.environ:
        with _join_sweep() as client:
            yield client
    elif url:
        with _reach(url, token) as client:
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

        targets = _read_upstreams(config)
        with start(*paths, strict=strict or None, log=log, forward=targets) as client:
            yield client


def _report_calls(config: pytest.Config, client: EmulatorClient) -> None:
    """Add the calls of a session, or those outside all sessions, to report and coverage of the run."""
    report, coverage = config.stash.get(_REPORT, None), config.stash.get(_COVERAGE, None)
    found = [] if report is None and coverage is None else client.requests()
    calls = [call for call in found if (call.session or "") == client.session_name]
    for call in calls:
        if report is not None:
            report.add(call)
        if coverage is not None:
            coverage.add(call)
    if report is not None and calls:
        report.accounts.append(client.usage())
    if coverage is not None and calls:
        coverage.add_verdict(client.verdict())


def _reach(url: str, token: str | None) -> EmulatorClient:
    from emulator.client import EmulatorClient

    return EmulatorClient(url, via="path", token=token)


def _join_sweep() -> EmulatorClient:
    from emulator.sweep.swept_tests import SweptClient, read_run

    return SweptClient(read_run())


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
    with _open_session(emulator_server, node) as client:
        node.stash[_CLIENT] = client
        yield client
        del node.stash[_CLIENT]


def _read_scope(fixture_name: str, config: pytest.Config) -> ScopeName:
    scope: ScopeName = config.getini("emulator_session_scope")
    return scope


@pytest.fixture(scope=_read_scope)
def emulator_session(request: pytest.FixtureRequest, emulator_server: EmulatorClient) -> Iterator[EmulatorClient]:
    """Emulator bound to a session that the tests of a module share, or those of another scope.

    The ini setting ``emulator_session_scope`` sets the scope for all, and
    ``parametrize("emulator_session", ["class"], indirect=True, scope="class")`` for some.
    """
    with _open_session(emulator_server, request.node) as client:
        yield client
        if _is_unused_error(request.node) and (text := _explain_unused(client)):
            pytest.fail(text, pytrace=False)


@contextmanager
def _open_session(server: EmulatorClient, node: pytest.Item) -> Iterator[EmulatorClient]:
    """Open a session with the scenario of a node's markers; its calls go into the report at the end."""
    with server.session(_name_session(node)) as client, _recording(server, client, node) as keys:
        if hasattr(client, "begin_test"):  # in a sweep
            client.begin_test(node.nodeid)
        _load_scenario(client, node, keys)
        try:
            yield client
        finally:
            _report_calls(node.config, client)


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
    """Return the keys of all markers of a test: of a single value the nearest, of lists all, the nearest first."""
    keys: dict[str, Value] = {}
    for marker in item.iter_markers("emulator"):
        for name, value in marker.kwargs.items():
            before = keys.get(name)
            if isinstance(before, list | tuple) and isinstance(value, list | tuple):
                keys[name] = [*before, *value]
            elif name != "unused":
                keys.setdefault(name, value)
            elif value not in _UNUSED:
                pytest.fail(f"unused is one of {', '.join(_UNUSED)}, not {value!r}", pytrace=False)
    return keys


@contextmanager
def _recording(server: EmulatorClient, client: EmulatorClient, item: pytest.Item) -> Iterator[dict[str, Value]]:
    """Yield the keys of the test's markers, with its replay as a scenario has it; record inside the block if asked."""
    keys = _read_keys(item)
    replay, record = keys.pop("replay", None), keys.pop("record", None)
    if replay is None:
        if record is not None:
            pytest.fail(f"record={record!r} needs replay=FOLDER", pytrace=False)
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
    recorder = _require_recorder(server, item)
    if not plan.replays:
        _delete_recorded(item, plan)  # only once there is a service to record
    with recorder.recording(client.session_name, folder) as written:
        yield keys
    item.config.stash[_WRITTEN].setdefault(item.nodeid, []).extend(written)


def _delete_recorded(item: pytest.Item, plan: ModePlan) -> None:
    """Delete what a test shall record again: what earlier runs recorded, and the test itself before it was repeated.

    Other tests of the run may record to the same folder.
    """
    from emulator.recording.modes import delete_older

    delete_older(plan.deletes, item.config.stash[_BEGAN])
    if isinstance(item, pytest.Item):  # tests may share a session, which begins several times with parameters
        for file in item.config.stash[_WRITTEN].pop(item.nodeid, ()):
            file.unlink(missing_ok=True)


def _plan_mode(item: pytest.Item, mode: str, folder: Path) -> ModePlan:
    from emulator.recording.modes import plan_mode

    try:
        return plan_mode(item.config.getoption("--emulator-record") or mode, folder)
    except ValueError as error:
        text = str(error)
    pytest.fail(text, pytrace=False)


def _require_recorder(server: EmulatorClient, item: pytest.Item) -> LocalEmulator:
    """Return the emulator that records; the test fails if it runs elsewhere, or there is no service to record."""
    from emulator.serve.in_process import LocalEmulator

    if not isinstance(server, LocalEmulator):
        pytest.fail("tests record only with an emulator in their own process", pytrace=False)
    if not item.config.getoption("--emulator-upstream"):
        pytest.fail("there is no service to record: name it with --emulator-upstream VENDOR=URL", pytrace=False)
    return server


def _load_scenario(client: EmulatorClient, item: pytest.Item, keys: dict[str, Value]) -> None:
    """Activate the scenario of the test's markers; a mistake in it fails the test with its text alone."""
    from emulator.client import EmulatorError
    from emulator.scenario.parsed import ScenarioError

    try:
        _load_markers(client, item, keys)
    except (EmulatorError, ScenarioError) as error:
        text = str(error)
    else:
        return
    pytest.fail(text, pytrace=False)  # outside the handler: pytest prints the error that it handled too


def _load_markers(client: EmulatorClient, item: pytest.Item, keys: dict[str, Value]) -> None:
    """Load the files of the nearest marker that has some, and the keys of all."""
    given = next((marker.args for marker in item.iter_markers("emulator") if marker.args), ())
    paths, strict = _read_ini(item.config)
    is_elsewhere = bool(item.config.getoption("--emulator-url")) or _SWEEP in os.environ
    if strict and (given or is_elsewhere):
        keys.setdefault("strict", True)
    sources = [_find(item, source) for source in given] or (paths if is_elsewhere else [])
    if sources:
        client.load(*sources, **keys)
    elif keys:
        before = client.scenario().document
        client.load(before if isinstance(before, dict) else {}, **keys)


def _find(item: pytest.Item, source: Source) -> Source:
    """Resolve a file, relative to the root folder, else to the folder of the test; YAML text stays as it is."""
    if not isinstance(source, str | Path) or _is_yaml(str(source)):
        return source
    in_root, near_test = item.config.rootpath / source, item.path.parent / source
    for file in (in_root, near_test):
        if file.exists():
            return file
    sought = " and ".join(dict.fromkeys([str(in_root), str(near_test)]))
    pytest.fail(f"there is no scenario {source}; looked for {sought}", pytrace=False)


def _is_yaml(text: str) -> bool:
    """Return whether a text is a scenario and no path."""
    return "\n" in text or (": " in text and not text.endswith((".yaml", ".yml", ".json")))


def _is_unused_error(item: pytest.Item) -> bool:
    """Return whether a rule that took no call is a failure, by the nearest marker or the ini setting."""
    marked = [marker.kwargs["unused"] for marker in item.iter_markers("emulator") if "unused" in marker.kwargs]
    wanted: str = marked[0] if marked else item.config.getini("emulator_unused")
    return wanted == "error"


def _explain_unused(client: EmulatorClient) -> str:
    try:
        client.assert_no_unused_rules()
    except AssertionError as error:
        return str(error)
    return ""


def _explain_conduct(client: EmulatorClient, item: pytest.Item) -> str:
    """Return the rules for sound clients that a test's calls broke, if its scenario says what it expects.

    What a bundled scenario expects counts only where a marker asks for it.
    """
    document, keys = client.scenario().document, _read_keys(item)
    if not isinstance(document, dict) or not document.keys() & {"expect", "budget"}:
        return ""
    if not keys.keys() & {"expect", "budget"} and _is_bundled(document, keys.keys()):
        return ""
    try:
        client.assert_sound()
    except AssertionError as error:
        return str(error)
    return ""


def _is_bundled(document: dict[str, Value], given: Set[str]) -> bool:
    """Return whether a scenario is a bundled one, but for its credentials and the keys that a marker gave."""
    from emulator.scenario.load import find_bundled, load_scenario

    file = find_bundled() / f"{document.get('name')}.yaml"
    if not file.is_file():
        return False
    data = load_scenario([file]).data
    given = {*given, "keys"}
    return isinstance(data, dict) and all(
        document.get(key) == data.get(key) for key in {*document, *data} if key not in given
    )


def _find_client(item: pytest.Item) -> EmulatorClient | None:
    """Return the client of the test's own session, or of the one that it shares."""
    own = item.stash.get(_CLIENT, None)
    return own or getattr(item, "funcargs", {}).get("emulator_session")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that made unmatched calls under a strict scenario, or left rules unused where that is an error."""
    client, own = _find_client(item), item.stash.get(_CLIENT, None)
    if client is not None and own is None:
        item.stash[_SINCE] = max((call.seq for call in client.requests(limit=1)), default=0)
    yield
    if client is None:
        return
    error = client.take_function_error() if hasattr(client, "take_function_error") else None
    if error is not None:
        raise error
    unmatched = client.requests(error="unmatched", since=item.stash.get(_SINCE, 0))
    if unmatched:
        from emulator.client.call_report import describe_unmatched

        pytest.fail(describe_unmatched(unmatched), pytrace=False)
    if own is not None and (text := _explain_conduct(own, item)):
        pytest.fail(text, pytrace=False)
    if own is not None and _is_unused_error(item) and (text := _explain_unused(own)):
        pytest.fail(text, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the recorded calls to the report of a failed test."""
    report = yield
    client = _find_client(item)
    if client is not None and report.failed:
        report.sections.append(("emulator", "\n".join(_describe(item, client, report))))
    page = item.config.stash.get(_REPORT, None)
    if page is not None and client is not None and (report.when == "call" or not report.passed):
        page.tests.append({"name": report.nodeid, "outcome": report.outcome, "session": client.session_name})
    return report


def _describe(item: pytest.Item, client: EmulatorClient, report: pytest.TestReport) -> Iterator[str]:
    from emulator.client import EmulatorError
    from emulator.client.call_report import describe_calls

    try:
        calls = client.requests(since=item.stash.get(_SINCE, 0))
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
