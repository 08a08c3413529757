"""Tests of suites whose tests have sessions of their own: a sweep sees their calls, and one test meets the fault."""

import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from emulator import start
from emulator.core.json import Object
from emulator.sweep.command import Command, CommandResult
from emulator.sweep.plan import Key, SweepPlan
from emulator.sweep.report import list_scenarios
from emulator.sweep.run import Row, Sweep, SweepOptions
from emulator.sweep.swept_tests import SWEEP_VARIABLE, SweptClient, SweptRun, read_tests
from tests.sweep.programs import PATH, Failure, send

BODY: Object = {"messages": [{"role": "user", "content": "What moves the tides?"}], "max_tokens": 8}
RULE: Object = {"name": "overloaded before the head", "times": {"first": 1}, "error": {"kind": "overloaded"}}
SUITE = """
    import pytest
    from tests.sweep.programs import PATH, Failure, send

    def ask(emulator, **more):
        body = {"messages": [{"role": "user", "content": "What moves the tides?"}], "max_tokens": 8, **more}
        return send(emulator.url("databricks"), "POST", PATH, body).decode()

    def test_of_a_careless_program(emulator):
        emulator.reply("The moon.")
        for _ in range(3):
            try:
                assert "The moon." in ask(emulator)
                break
            except Failure:
                pass

    @pytest.mark.emulator(rules=[{"name": "greets", "reply": {"text": "Good day"}}])
    def test_of_another_call(emulator):
        ask(emulator, stream=True)

    def test_of_the_same_call(emulator):
        emulator.reply("The sun.")
        assert "The sun." in ask(emulator)

    def test_without_calls(emulator_server):
        assert emulator_server.scenario().document["clock"] == "instant"
"""


def ask(client: SweptClient) -> int:
    try:
        send(client.url("databricks"), "POST", PATH, BODY)
    except Failure as failure:
        return failure.status
    return 200


def test_session_of_a_test_has_clock_and_fault_of_the_run(tmp_path: Path) -> None:
    with start() as server, server.session("run") as parent:
        parent.load({"seed": 7}, clock="instant")
        run = SweptRun(
            url=server.front, session="run", folder=str(tmp_path), clock="instant", test="test_it", rule=RULE
        )
        with SweptClient(run) as shared:
            with shared.session("other").begin_test("test_other") as other:
                assert ask(other) == 200
            with shared.session("own").begin_test("test_it") as own:
                assert own.scenario().document == {
                    "version": 1,
                    "name": "test",
                    "seed": 7,
                    "clock": "instant",
                    "rules": [RULE],
                }
                own.reply("The moon.")
                own.load("rules: [{name: mine, reply: {text: Yes}}]", clock="frozen")
                own.add_rule({"name": "also mine", "reply": {"text": "No"}})
                assert own.scenario().rules == ["overloaded before the head", "also mine", "mine"]
                assert [ask(own) for _ in range(2)] == [503, 200]
                assert own.clock().kind == "frozen"
            assert ask(shared) == 200  # in the session of the run
        assert len(parent.requests()) == 1
        assert [session for session in ("own", "other") if server.session(session).requests()] == []
    first, second = read_tests(tmp_path)
    assert [(one.test, [call.status for call in one.calls]) for one in (first, second)] == [
        ("test_other", [200]),
        ("test_it", [503, 200]),
    ]


class Suite(Command):
    """A suite of tests with the fixture, run as users run it."""

    def __init__(self, folder: Path) -> None:
        flags = ("-q", "-p", "emulator.pytest_plugin", "-p", "no:cacheprovider", f"--rootdir={folder}")
        super().__init__([sys.executable, "-m", "pytest", *flags, str(folder)])
        (folder / "test_app.py").write_text(dedent(SUITE), encoding="utf-8")

    def run(self, variables: Mapping[str, str], limit: float) -> CommandResult:
        assert SWEEP_VARIABLE in variables
        return super().run(variables, 60.0)


@pytest.mark.slow
def test_sweep_sees_the_calls_of_tests_with_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    rows: dict[Key, Row] = {}

    def add(row: Row, made: int, left: int) -> None:
        rows[row.key] = row

    with start() as server:
        sweep = Sweep(server, SweepOptions(["databricks"], jobs=2), Suite(tmp_path), add)
        baseline = sweep.run_baseline()
        assert [(one.name, one.test) for one in baseline.classes] == [
            ("databricks chat", "test_app.py::test_of_a_careless_program"),
            ("databricks chat stream", "test_app.py::test_of_another_call"),
        ]
        plan = sweep.plan(baseline)
        units = [unit for unit in plan.units if unit.groups[0][0].fault in {"invalid_request", "wrong_content_type"}]
        sweep.run(baseline, SweepPlan(units, ()), lambda cell, scenario: None)
    refused = {call: row for (call, fault, _), row in rows.items() if fault == "invalid_request"}
    whole, stream = refused["databricks chat"], refused["databricks chat stream"]
    assert whole.breaches == ("failed silently", ("no_useless_retry",))
    assert "test_of_a_careless_program: Call #2 repeats #1" in whole.broken[0]
    assert stream.outcome == "failed loudly"
    assert "text: Good day" in stream.scenario
    written = list_scenarios([stream], "pytest")["databricks-chat-stream-invalid-request-before-the-head.yaml"]
    assert 'before-the-head.yaml") before the calls of test_app.py::test_of_another_call' in written
    assert {row.outcome for (_, fault, _), row in rows.items() if fault == "wrong_content_type"} == {"survived"}
