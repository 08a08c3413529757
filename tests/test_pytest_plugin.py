"""The emulator as users of pytest have it."""

import importlib
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from emulator import start
from emulator.control.auth import ControlAuth
from emulator.core.json import as_array, as_object
from emulator.recording.modes import delete_older
from emulator.scenario.load import find_bundled
from tests.http_client import Running
from tests.report_page import read_details, read_run
from tests.tools.docs.blocks import find_blocks

ROOT = Path(__file__).parent.parent
APP = (ROOT / "tests" / "client" / "app.py").read_text(encoding="utf-8")
BASE = """
import pytest
from app import ask
"""
RULES = '[{"name": "busy", "times": {"first": 1}, "error": {"kind": "rate_limited"}}]'


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Run another suite in this process; only our plugin and those of the arguments are loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(app=APP)
    return pytester


def run(suite: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    suite.makepyfile(test_it=BASE + dedent(source))
    return suite.runpytest_inprocess("-p", "emulator.pytest_plugin", "--strict-markers", *arguments)


@pytest.mark.covers("promises/plugin", "a session a test")
def test_each_test_has_separate_session(suite: pytest.Pytester) -> None:
    source = f"""
        @pytest.mark.parametrize("text", ["a b", "c/ä" * 99])
        def test_it(emulator, text):
            emulator.load({{"rules": {RULES}}})
            assert [ask(emulator.url("databricks")) for _ in range(2)] == [429, 200]
            emulator.assert_called(times=2)
            assert emulator.last().session == emulator.session_name
    """
    run(suite, source).assert_outcomes(passed=2)


def test_broken_rule_fails_a_test_that_expects_soundness(suite: pytest.Pytester) -> None:
    source = """
        @pytest.mark.emulator(rules=[{"name": "busy", "error": {"kind": "overloaded"}}])
        class TestIt:
            @pytest.mark.emulator(expect={"robust": False, "attempts": 2})
            def test_strict(self, emulator):
                assert [ask(emulator.url("databricks")) for _ in range(3)] == [503] * 3

            @pytest.mark.emulator(expect={"robust": False, "attempts": 3})
            def test_patient(self, emulator):
                assert [ask(emulator.url("databricks")) for _ in range(3)] == [503] * 3

            def test_without(self, emulator):
                assert [ask(emulator.url("databricks")) for _ in range(9)] == [503] * 9
    """
    result = run(suite, source)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*attempts: Call #* is attempt 3 of the same request; *gives up after 2."])


def test_suites_of_one_process_are_judged_alike(suite: pytest.Pytester) -> None:
    """Pytester forgets what the first suite imported, but packages that this process had before keep their modules."""
    source = """
        def test_it(emulator):
            emulator.assert_sound()
            from emulator.verdicts.calls import CallHistory
            from emulator.verdicts.judge import judge

            assert judge(CallHistory([], [])).ok
    """
    importlib.import_module("emulator.verdicts")
    for _ in range(2):
        run(suite, source).assert_outcomes(passed=1)


def test_bundled_scenario_judges_only_where_a_marker_asks(suite: pytest.Pytester) -> None:
    source = f"""
        from pathlib import Path
        FILE = {str(find_bundled() / "expired-key.yaml")!r}
        CHANGED = Path(FILE).read_text().replace("after: 2", "after: 1")

        def ask_often(emulator):
            for _ in range(5):
                ask(emulator.url("databricks"))

        @pytest.mark.emulator(FILE)
        def test_plain(emulator):
            ask_often(emulator)

        @pytest.mark.emulator(FILE, seed=3)
        def test_with_a_seed(emulator):
            ask_often(emulator)

        @pytest.mark.emulator(FILE, expect="robust")
        def test_asks(emulator):
            ask_often(emulator)

        def test_changed(emulator):
            emulator.load(CHANGED)
            ask_often(emulator)
    """
    result = run(suite, source)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*no_useless_retry: Call #* repeats #*"])


@pytest.mark.covers("promises/plugin", "one server a process")
def test_server_is_shared_and_forgets_finished_tests(suite: pytest.Pytester) -> None:
    source = """
        seen = []
        @pytest.mark.parametrize("time", [1, 2])
        def test_it(emulator, emulator_server, time):
            ask(emulator.url("databricks"))
            seen.append(emulator.front)
            assert len(set(seen)) == 1
            assert len(emulator_server.requests()) == 1
    """
    run(suite, source).assert_outcomes(passed=2)


@pytest.mark.covers("promises/plugin", "the marker")
def test_marker_sets_scenario(suite: pytest.Pytester) -> None:
    (suite.path / "busy.yaml").write_text(f"rules: {RULES}\nseed: 3\n")
    (suite.mkdir("deep") / "beside.yaml").write_text("seed: 8\n")
    (suite.path / "deep" / "test_deep.py").write_text(
        "import pytest\n@pytest.mark.emulator('beside.yaml')\n"
        "def test_it(emulator):\n    assert emulator.scenario().seed == 8\n"
    )
    source = """
        pytestmark = pytest.mark.emulator("busy.yaml", seed=1)

        @pytest.mark.emulator(seed=5, clock="frozen", strict=True)
        def test_keys_win_over_the_file_and_those_of_a_marker_further_off(emulator):
            state = emulator.scenario()
            assert (state.rules, state.seed, state.strict) == (["busy"], 5, True)
            assert emulator.clock().kind == "frozen"

        def test_the_nearest_marker_is_that_of_the_module(emulator):
            assert emulator.scenario().seed == 1

        @pytest.mark.emulator({"rules": []})
        def test_a_mapping_is_no_path(emulator):
            assert emulator.scenario().rules == []
    """
    run(suite, source).assert_outcomes(passed=4)


@pytest.mark.covers("promises/plugin", "settings of the suite")
def test_ini_settings_set_suite_scenario(suite: pytest.Pytester) -> None:
    (suite.path / "busy.yaml").write_text(f"rules: {RULES}\nseed: 3\n")
    suite.makeini("[pytest]\nemulator_scenario = busy.yaml\nemulator_strict = true\n")
    source = """
        def test_it_begins_with_that(emulator):
            state = emulator.scenario()
            assert (state.rules, state.seed, state.strict) == (["busy"], 3, True)

        @pytest.mark.emulator(seed=4, strict=False)
        def test_a_marker_wins_over_it(emulator):
            state = emulator.scenario()
            assert (state.rules, state.seed, state.strict) == (["busy"], 4, False)

        @pytest.mark.emulator({"name": "other"})
        def test_another_scenario_is_as_strict(emulator):
            state = emulator.scenario()
            assert (state.rules, state.strict) == ([], True)
    """
    run(suite, source).assert_outcomes(passed=3)
    with start() as elsewhere:
        run(suite, source, f"--emulator-url={elsewhere.front}").assert_outcomes(passed=3)


@pytest.mark.covers("promises/plugin", "unmatched calls fail the test")
def test_unmatched_call_fails_strict_test(suite: pytest.Pytester) -> None:
    source = """
        @pytest.mark.emulator(strict=True, rules=[{"name": "hello", "when": {"prompt": "Hello"}, "pass": True}])
        def test_it(emulator):
            ask(emulator.url("databricks"), "Hello")
            ask(emulator.url("databricks"), "Good-bye")

        @pytest.mark.xfail(strict=True)
        @pytest.mark.emulator(strict=True)
        def test_that_is_expected(emulator):
            ask(emulator.url("databricks"))
    """
    result = run(suite, source)
    result.assert_outcomes(failed=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "1 call matches no rule, and the scenario is strict:",
            "  #2 POST /serving-endpoints/chat/completions 501  unmatched*",
            "*nearest is 'hello': prompt does not hold*",
            "FAILED test_it.py::test_it*",
        ]
    )


@pytest.mark.covers("promises/plugin", "a section and a page of a failure")
def test_failed_test_reports_calls_and_writes_page(suite: pytest.Pytester) -> None:
    source = """
        def test_it(emulator):
            ask(emulator.url("databricks"), "<b>Hello</b>")
            ask(emulator.url("databricks") + "/nowhere")
            emulator.assert_called(prompt={"contains": "tides"})
    """
    result = run(suite, source, "--emulator-artifacts=pages")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*emulator.assert_called(*",
            "E*expected at least 1 call whose prompt contains 'tides'; there was none.",
            "*- emulator -*",
            "2 calls made:",
            "  #1 POST /serving-endpoints/chat/completions 200*",
            "  #2 POST /nowhere/serving-endpoints/chat/completions 404  not_found*",
            "*has no such path*",
            "page: pages*test_it.*.html",
        ]
    )
    assert "steps.py" not in result.stdout.str()  # the traceback ends in the test
    (page,) = (suite.path / "pages").iterdir()
    text = page.read_text(encoding="utf-8")
    assert "<b>Hello" in read_details(text)[0]
    assert "<b>Hello" not in text
    assert "expected at least 1 call" in text


def test_report_option_writes_calls_of_every_test(suite: pytest.Pytester) -> None:
    source = """
        def test_one(emulator): ask(emulator.url("databricks"), "Hello")
        def test_two(emulator):
            ask(emulator.url("databricks"), "Goodbye")
            assert False
        def test_none(): pass
    """
    run(suite, source, "--emulator-report=pages/run.html").assert_outcomes(passed=2, failed=1)
    page = (suite.path / "pages" / "run.html").read_text(encoding="utf-8")
    tests = [as_object(test) for test in as_array(read_run(page)["tests"])]
    assert [(test["name"], test["outcome"]) for test in tests] == [
        ("test_it.py::test_one", "passed"),
        ("test_it.py::test_two", "failed"),
    ]
    usage = as_object(as_object(read_run(page)["answers"])["/usage"])
    tokens = as_object(usage["output_tokens"])
    assert (usage["calls"], usage["amplification"], tokens["wasted"]) == (2, 1.0, 0)
    assert tokens["sent"] == tokens["delivered"] != 0
    said = read_details(page)
    assert ['"content":"Hello"' in said[0], '"content":"Goodbye"' in said[1], len(said)] == [True, True, 2]


def test_report_without_calls_is_not_written(suite: pytest.Pytester) -> None:
    run(suite, "def test_it(): pass", "--emulator-report=run.html").assert_outcomes(passed=1)
    assert not (suite.path / "run.html").exists()


def test_passing_test_writes_no_section_or_page(suite: pytest.Pytester) -> None:
    result = run(suite, "def test_it(emulator): ask(emulator.url('databricks'))", "--emulator-artifacts=pages", "-rA")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*- emulator -*")
    assert not (suite.path / "pages").exists()


@pytest.mark.covers("promises/plugin", "variables for one test")
def test_emulator_env_sets_variables_for_one_test(suite: pytest.Pytester) -> None:
    source = """
        import os
        def test_they_are_set(emulator, emulator_env):
            variables = emulator_env("azure")
            assert variables["AZURE_AI_ENDPOINT"] == os.environ["AZURE_AI_ENDPOINT"] == emulator.url("azure")
        def test_they_are_undone():
            assert "AZURE_AI_ENDPOINT" not in os.environ
    """
    run(suite, source).assert_outcomes(passed=2)


@pytest.mark.covers("promises/plugin", "by path with a server elsewhere")
def test_external_emulator_is_reached_by_session_path(suite: pytest.Pytester) -> None:
    source = f"""
        @pytest.mark.emulator(rules={RULES})
        def test_it(emulator):
            assert emulator.url("databricks").endswith(f"/_s/{{emulator.session_name}}/databricks")
            assert [ask(emulator.url("databricks")) for _ in range(2)] == [429, 200]
            emulator.assert_called(times=2)
    """
    with start() as elsewhere:
        run(suite, source, f"--emulator-url={elsewhere.front}").assert_outcomes(passed=1)
        assert elsewhere.requests() == []  # the session is over


def test_unreachable_emulator_url_is_reported(suite: pytest.Pytester, unused_tcp_port: int) -> None:
    result = run(suite, "def test_it(emulator): pass", f"--emulator-url=http://127.0.0.1:{unused_tcp_port}")
    result.stdout.fnmatch_lines([f"E*no emulator answers at http://127.0.0.1:{unused_tcp_port}*"])


def test_external_emulator_accepts_control_token(
    suite: pytest.Pytester, live_with: Callable[[str], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = live_with("")
    elsewhere.built.control.auth = ControlAuth(token="s3cret")
    source = "def test_it(emulator): emulator.load({'seed': 7})"
    url = f"--emulator-url={elsewhere.urls['front']}"
    run(suite, source, url).assert_outcomes(failed=1, errors=1)
    run(suite, source, url, "--emulator-token=s3cret").assert_outcomes(passed=1)
    monkeypatch.setenv("EMULATOR_CONTROL_TOKEN", "s3cret")
    run(suite, source, url).assert_outcomes(passed=1)


@pytest.mark.covers("promises/plugin", "a log")
def test_log_option_records_every_call(suite: pytest.Pytester) -> None:
    run(suite, "def test_it(emulator): ask(emulator.url('databricks'))", "--emulator-log=calls.log")
    assert "/serving-endpoints/chat/completions" in (suite.path / "calls.log").read_text()


@pytest.mark.covers("promises/plugin", "tests that await")
def test_async_test_uses_emulator_fixture(suite: pytest.Pytester) -> None:
    source = """
        import asyncio
        @pytest.mark.asyncio
        @pytest.mark.emulator(clock="instant")
        async def test_it(emulator):
            await asyncio.to_thread(ask, emulator.url("databricks"))
            emulator.assert_called(times=1)
    """
    suite.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    run(suite, source, "-p", "pytest_asyncio.plugin").assert_outcomes(passed=1)


@pytest.mark.covers("promises/plugin", "it helps")
def test_help_lists_options_and_settings(suite: pytest.Pytester) -> None:
    text = run(suite, "", "--fixtures", "--markers").stdout.str()
    text += suite.runpytest_inprocess("-p", "emulator.pytest_plugin", "--help").stdout.str()
    for name in (
        "--emulator-url",
        "--emulator-log",
        "--emulator-artifacts",
        "--emulator-report",
        "--emulator-token",
        "emulator_scenario",
        "emulator_strict",
    ):
        assert name in text


@pytest.fixture
def installed(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The same in processes of its own, with the plugin found as it is in an installed package."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name, module), *_ = project["entry-points"]["pytest11"].items()
    info = suite.mkdir("site") / "installed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(info.parent), str(suite.path)]))
    return suite


@pytest.mark.slow
@pytest.mark.covers("promises/plugin", "begun by the first test; off on demand")
def test_installed_plugin_loads_lazily_and_can_be_disabled(installed: pytest.Pytester) -> None:
    installed.makepyfile(
        test_it="""
            import sys

            def test_nothing_heavy_is_imported_before_it_is_used():
                assert not {"numpy", "faker", "emulator.http"} & sys.modules.keys()

            def test_it(emulator):
                assert emulator.url("tgi")
        """
    )
    arguments = ("-p", "no:faker", "-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:cacheprovider")
    installed.runpytest_subprocess(*arguments).assert_outcomes(passed=2)
    off = installed.runpytest_subprocess(*arguments, "-p", "no:emulator")
    off.assert_outcomes(passed=1, errors=1)
    off.stdout.fnmatch_lines(["*fixture 'emulator' not found"])


@pytest.mark.slow
def test_documented_settings_work(suite: pytest.Pytester) -> None:
    blocks = [block.text for block in find_blocks() if block.page == "testing.md" and block.language == "toml"]
    settings = "\n".join(dict.fromkeys(line for block in blocks for line in block.splitlines()))
    assert "uvx llm-emulator" in settings
    suite.makepyprojecttoml(settings.replace("uvx llm-emulator", f"{sys.executable} -m emulator"))
    source = """
        from emulator.serve.in_process import LocalEmulator

        def test_it(emulator, emulator_server, request):
            assert ask(emulator.url("databricks")) == 200
            emulator.assert_called(times=1)
            assert not isinstance(emulator_server, LocalEmulator)
            assert not request.config.pluginmanager.has_plugin("faker")
    """
    run(suite, source, "--strict-config").assert_outcomes(passed=1)


@pytest.mark.slow
def test_command_server_starts_with_suite_scenario(suite: pytest.Pytester) -> None:
    (suite.path / "busy.yaml").write_text(f"rules: {RULES}\n")
    suite.makeini("[pytest]\nemulator_scenario = busy.yaml\nemulator_strict = true\n")
    source = """
        def test_it(emulator):
            assert ask(emulator.url("databricks")) == 429
            assert emulator.scenario().strict
    """
    run(suite, source, "--emulator-command", f"{sys.executable} -m emulator").assert_outcomes(passed=1)


def test_url_and_command_together_are_refused(suite: pytest.Pytester) -> None:
    ran = run(suite, "def test_it(): ...", "--emulator-url", "http://127.0.0.1:1", "--emulator-command", "x")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*--emulator-url names an emulator that runs, --emulator-command starts one: give one"])


RECORDED = """
    @pytest.mark.emulator(replay="calls", record="once")
    def test_it(emulator):
        assert ask(emulator.url("databricks")) == 200
"""


def count_calls(suite: pytest.Pytester) -> int:
    return len(list((suite.path / "calls").rglob("*.exchange")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "recorded", "calls", "outcome"),
    [
        pytest.param([], False, 0, {"errors": 1}, id="once, but there is no service"),
        pytest.param(["upstream"], False, 1, {"passed": 1}, id="once records where nothing is"),
        pytest.param([], True, 1, {"passed": 1}, id="once replays without a service"),
        pytest.param(["--emulator-record=none"], False, 0, {"errors": 1}, id="none replays only"),
        pytest.param(
            ["upstream", "--emulator-record=new_episodes"], True, 1, {"passed": 1}, id="new episodes: none new"
        ),
        pytest.param(["upstream", "--emulator-record=all"], True, 1, {"passed": 1}, id="all records again"),
        pytest.param(["--emulator-record=all"], True, 1, {"errors": 1}, id="all deletes nothing without a service"),
    ],
)
def test_record_modes_are_those_of_vcrpy(
    arguments: list[str], recorded: bool, calls: int, outcome: dict[str, int], suite: pytest.Pytester
) -> None:
    with start() as service:
        upstream = f"--emulator-upstream=databricks={service.url('databricks')}"
        if recorded:
            run(suite, RECORDED, upstream).assert_outcomes(passed=1)
            service.reset()
        given = [upstream if argument == "upstream" else argument for argument in arguments]
        run(suite, RECORDED, *given).assert_outcomes(**outcome)
        assert count_calls(suite) == calls
        reached = (not recorded or "--emulator-record=all" in arguments) and "upstream" in arguments
        assert len(service.requests()) == reached


@pytest.mark.slow
def test_tests_that_share_a_recording_keep_each_others_calls(suite: pytest.Pytester) -> None:
    """``all`` deletes what was recorded before the run, and nothing that the run itself recorded."""
    second = RECORDED.replace("test_it", "test_new").replace('url("databricks")', 'url("databricks"), "new"')
    with start() as service:
        upstream = f"--emulator-upstream=databricks={service.url('databricks')}"
        for _ in range(2):
            run(suite, RECORDED + second, upstream, "--emulator-record=all").assert_outcomes(passed=2)
            assert count_calls(suite) == 2
    run(suite, RECORDED + second).assert_outcomes(passed=2)


@pytest.mark.slow
def test_repeated_test_records_again(suite: pytest.Pytester) -> None:
    """As plugins that repeat failed tests do it; ``all`` keeps the calls of the last attempt, and of other tests."""
    suite.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            if item.name == "test_it":
                runtestprotocol(item, nextitem=nextitem, log=False)
        """
    )
    second = RECORDED.replace("test_it", "test_before").replace('url("databricks")', 'url("databricks"), "new"')
    with start() as service:
        upstream = f"--emulator-upstream=databricks={service.url('databricks')}"
        run(suite, second + RECORDED, upstream, "--emulator-record=all").assert_outcomes(passed=2)
        assert len(service.requests()) == 3
    assert count_calls(suite) == 2
    suite.path.joinpath("conftest.py").unlink()
    run(suite, second + RECORDED).assert_outcomes(passed=2)


@pytest.mark.slow
def test_worker_that_replaces_another_keeps_its_calls(suite: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    second = RECORDED.replace("test_it", "test_new").replace('url("databricks")', 'url("databricks"), "new"')
    crash = """
    def test_crash():
        import os

        os._exit(1)
    """
    source = RECORDED + crash + second
    with start() as service:
        upstream = f"--emulator-upstream=databricks={service.url('databricks')}"
        ran = run(suite, source, upstream, "--emulator-record=all", "-p", "xdist", "-n", "1")
        ran.assert_outcomes(passed=2, failed=1)
    assert count_calls(suite) == 2


def test_only_older_files_are_deleted(tmp_path: Path) -> None:
    """Processes that record to one folder list the same files, and each deletes some."""
    old, new, gone = (tmp_path / name for name in ("old", "new", "gone"))
    for file, time in ((old, 99), (new, 100)):
        file.touch()
        os.utime(file, (time, time))
    delete_older([gone, old, new], 100.0)
    assert [*tmp_path.iterdir()] == [new]


def test_wrong_upstream_ends_the_run_at_its_start(suite: pytest.Pytester) -> None:
    result = run(suite, RECORDED, "--emulator-upstream=nowhere=http://a")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --emulator-upstream: *nowhere*"])


@pytest.mark.slow
def test_new_call_of_a_recorded_test_fails(suite: pytest.Pytester) -> None:
    with start() as service:
        run(suite, RECORDED, f"--emulator-upstream=databricks={service.url('databricks')}").assert_outcomes(passed=1)
    result = run(suite, RECORDED.replace('ask(emulator.url("databricks"))', 'ask(emulator.url("databricks"), "new")'))
    result.assert_outcomes(failed=1)
