"""Tests of the coverage of failures: in a test run, under xdist, and from reports."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from emulator.cli import main
from emulator.control.models import RequestEntry
from emulator.sweep.cells import FAULTS, KINDS
from emulator.sweep.coverage import Coverage, parse_coverage
from tests.test_pytest_plugin import run, suite

__all__ = ["suite"]  # a fixture

SUITE = """
    RATE = {"name": "a", "times": {"first": 1}, "error": {"kind": "rate_limited"}}
    CUT = {"name": "b", "faults": [{"type": "extra_fields"}, {"type": "empty_body"}]}

    @pytest.mark.emulator(rules=[RATE])
    def test_rate(emulator):
        assert [ask(emulator.url("databricks")) for _ in range(2)] == [429, 200]

    @pytest.mark.emulator(rules=[CUT])
    def test_cut(emulator):
        ask(emulator.url("databricks"))

    def test_no_call(emulator):
        pass
"""
WHOLE = len(KINDS) + len(FAULTS) - 2  # no tool is called, and a whole answer has no events
LAST = f"failure coverage: 3 of {WHOLE} cells, {int(300 / WHOLE)} %"


def call(**fields: object) -> RequestEntry:
    known: dict[str, object] = {
        "vendor": "azure",
        "operation": "chat",
        "deployment": "gpt-4o",
        "path": "/openai/v1/chat/completions",
    }
    known |= {"stream": False, "error": None, "faults": [], "finish_reason": "stop"}
    return RequestEntry.model_construct(None, **known | fields)


@pytest.mark.covers("promises/plugin", "coverage of failures")
def test_run_ends_with_what_its_calls_met(suite: pytest.Pytester) -> None:
    options = "--emulator-coverage", "--emulator-report=run.html", "--emulator-coverage-file=out/run.json"
    result = run(suite, SUITE, *options)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            f"databricks chat: 3 of {WHOLE}",
            "  met: rate_limited, empty_body, extra_fields",
            "  at stake: *attempts*",
            LAST,
        ]
    )
    for file in ("run.html", "out/run.json"):
        coverage = parse_coverage((suite.path / file).read_text(encoding="utf-8"), file)
        assert (coverage.met, coverage.cells) == (3, WHOLE)
        assert coverage.calls["databricks chat"]["rate_limited"] == 1


def test_calls_outside_sessions_are_covered(suite: pytest.Pytester) -> None:
    source = """
        def test_it(emulator_server, emulator):
            emulator_server.load("rules: [{name: a, times: {first: 1}, error: {kind: overloaded}}]")
            assert [ask(emulator_server.url("databricks")) for _ in range(2)] == [503, 200]
            assert ask(emulator.url("databricks")) == 503  # in a session with the server's scenario
    """
    result = run(suite, source, "--emulator-coverage", "--emulator-report=run.html")
    result.stdout.fnmatch_lines([f"databricks chat: 1 of {WHOLE}", "  met: overloaded"])
    read = parse_coverage((suite.path / "run.html").read_text(encoding="utf-8"), "run.html")
    assert read.calls["databricks chat"]["overloaded"] == 2


def test_too_little_coverage_fails_the_run(suite: pytest.Pytester) -> None:
    result = run(suite, SUITE, "--emulator-fail-under=90")
    assert result.ret == 1
    assert "less than 90 %" in result.outlines


@pytest.mark.slow
def test_workers_of_xdist_have_one_coverage(suite: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    suite.makepyfile(test_it="import pytest\nfrom app import ask\n" + dedent(SUITE))
    result = suite.runpytest_subprocess(
        "-p", "xdist", "-p", "emulator.pytest_plugin", "-n", "2", "--emulator-coverage", "--emulator-fail-under=90"
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["less than 90 %", LAST])
    assert result.ret == 1


@pytest.mark.covers("language/commands", "coverage")
def test_command_joins_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, files = Coverage(), Coverage(), [str(tmp_path / name) for name in ("1.json", "2.json")]
    one.add(call(error="rate_limited", finish_reason=None))
    one.add(call(stream=True, faults=["truncate", "split"]))
    two.add(call(faults=["bad_arguments"], finish_reason="tool_calls"))
    two.add(call(path="/openai/v1/responses", error="forbidden"))
    two.add(call(error="unmatched"))
    two.add(call(deployment=None, error="invalid_request"))  # no call yet
    for file, coverage in zip(files, (one, two), strict=True):
        Path(file).write_text(coverage.dump(), encoding="utf-8")
    cells = (WHOLE + 1) + (WHOLE + 1) + WHOLE
    assert main(["coverage", *files]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"failure coverage: 5 of {cells} cells, {int(500 / cells)} %"
    assert f"azure chat: 2 of {WHOLE + 1}" in said
    assert f"azure responses: 1 of {WHOLE}" in said
    assert main(["coverage", *files, "--fail-under", "50", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["calls"]["azure chat stream"]["split"] == 1
    assert main(["coverage", __file__]) == 2
    assert "neither a coverage nor a report" in capsys.readouterr().err


def test_no_call_is_no_coverage() -> None:
    assert [*Coverage().format()] == ["failure coverage: 0 of 0 cells, 0 %"]
    assert Coverage().is_under(1)
