"""What tests share with the pytest plugin: markers, a session for several, unused rules, one report of many workers."""

import re
from textwrap import dedent

import pytest

from tests.report_page import read_details
from tests.test_pytest_plugin import RULES, run, suite

__all__ = ["suite"]


def test_markers_of_class_and_method_join(suite: pytest.Pytester) -> None:
    source = """
        more = {"name": "more", "when": {"prompt": "x"}, "pass": True}

        @pytest.mark.emulator(rules=[{"name": "busy", "pass": True}], clock="frozen", seed=3)
        class TestIt:
            @pytest.mark.emulator(rules=[more], seed=4)
            def test_it(self, emulator):
                state = emulator.scenario()
                assert (state.rules, state.seed, emulator.clock().kind) == (["more", "busy"], 4, "frozen")
    """
    run(suite, source).assert_outcomes(passed=1)


def test_a_missing_file_and_a_mistake_are_told_without_frames(suite: pytest.Pytester) -> None:
    source = """
        @pytest.mark.emulator("scenarios/nowhere.yaml")
        def test_none(emulator): pass

        @pytest.mark.emulator(rules=[{"name": "a", "eror": {}}])
        def test_wrong(emulator): pass

        @pytest.mark.emulator(rules=[{"name": "a", "pass": True}, {"name": "a", "pass": True}])
        def test_twice(emulator): pass

        @pytest.mark.emulator(unused="eror")
        def test_unused(emulator): pass

        @pytest.mark.emulator("rules: [{name: a, eror: {}}]")
        def test_text(emulator): pass

        @pytest.mark.emulator("{rules: [{name: a, pass: true}]}", "scenarios: no path.yaml")
        def test_text_and_path(emulator): pass

        def test_loaded(emulator):
            emulator.load({"rules": [{"name": "a", "eror": {}}]})

        def test_helper(emulator):
            emulator.fault("stal")

        def test_vendor(emulator):
            emulator.url("nowhere")
    """
    result = run(suite, source)
    result.assert_outcomes(errors=6, failed=3)
    text = result.stdout.str()
    assert f"there is no scenario scenarios/nowhere.yaml; looked for {suite.path}/scenarios/nowhere.yaml\n" in text
    assert text.count("rules[0].eror: unknown key; did you mean error?") >= 2
    assert "unused is one of error, ignore, not 'eror'" in text
    assert "there is no scenario scenarios: no path.yaml; looked for" in text
    assert "rules[1].name: the name is taken by another rule" in text
    frames = re.findall(r"^(\S+\.py):\d+: ", text, re.MULTILINE)
    assert set(frames) == {"test_it.py"}  # the tracebacks end in the test


@pytest.mark.covers("promises/plugin", "rules that took no call")
def test_unused_rules_fail_where_that_is_an_error(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\nemulator_unused = error\n")
    source = f"""
        @pytest.mark.emulator(rules={RULES})
        def test_unused(emulator): pass

        @pytest.mark.emulator(rules={RULES})
        def test_used(emulator): ask(emulator.url("databricks"))

        @pytest.mark.emulator(rules={RULES}, unused="ignore")
        def test_ignored(emulator): pass
    """
    result = run(suite, source)
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["1 rule took no call:", "  'busy'", "FAILED test_it.py::test_unused*"])
    suite.makeini("[pytest]\nemulator_unused = yes\n")
    assert "emulator_unused is one of error, ignore, not 'yes'" in run(suite, source).stderr.str()


@pytest.mark.covers("promises/plugin", "a session that tests share")
def test_session_of_a_class(suite: pytest.Pytester) -> None:
    source = f"""
        names = []

        @pytest.mark.parametrize("emulator_session", ["class"], indirect=True, scope="class")
        @pytest.mark.emulator(rules={RULES}, strict=True)
        class TestOne:
            def test_first(self, emulator_session):
                names.append(emulator_session.session_name)
                assert ask(emulator_session.url("databricks")) == 429

            def test_second(self, emulator_session):
                names.append(emulator_session.session_name)
                assert ask(emulator_session.url("databricks")) == 501

            def test_third(self, emulator_session):
                assert len(emulator_session.requests()) == 2

        class TestTwo:
            def test_other(self, emulator_session):
                assert emulator_session.session_name not in names
                assert emulator_session.scenario().rules == []
                assert len(set(names)) == 1
    """
    result = run(suite, source)
    result.assert_outcomes(passed=3, failed=1)  # the second made a call that no rule takes
    result.stdout.fnmatch_lines(["1 call matches no rule, and the scenario is strict:", "FAILED *test_second*"])


@pytest.mark.parametrize(("scope", "sessions"), [("function", 4), ("class", 3), ("module", 2), ("session", 1)])
def test_scope_of_the_suite(suite: pytest.Pytester, scope: str, sessions: int) -> None:
    suite.makeini(f"[pytest]\nemulator_session_scope = {scope}\n")
    source = """
        import names
        class TestIt:
            def test_a(self, emulator_session): names.add(emulator_session.session_name)
            def test_b(self, emulator_session): names.add(emulator_session.session_name)
        def test_c(emulator_session): names.add(emulator_session.session_name)
    """
    suite.makepyfile(names="seen = set()\nadd = seen.add\n")
    last = "import names\ndef test_d(emulator_session):\n    names.add(emulator_session.session_name)\n"
    suite.makepyfile(test_last=last + f"    assert len(names.seen) == {sessions}\n")
    run(suite, source).assert_outcomes(passed=4)


@pytest.mark.slow
def test_workers_write_one_report(suite: pytest.Pytester) -> None:
    source = """
        @pytest.mark.parametrize("number", range(6))
        def test_one(emulator, number): ask(emulator.url("databricks"), f"call {number}")
    """
    suite.makepyfile(test_it="import pytest\nfrom app import ask\n" + dedent(source))
    options = ("-p", "xdist", "-p", "emulator.pytest_plugin", "-n", "2", "--emulator-report=pages/run.html")
    suite.runpytest_subprocess(*options).assert_outcomes(passed=6)
    (page,) = (suite.path / "pages").iterdir()
    text = page.read_text(encoding="utf-8")
    assert '"calls":6,"amplification":1.0' in text
    said = read_details(text)
    assert sorted(number for number in range(6) for text in said if f"call {number}" in text) == [*range(6)]
