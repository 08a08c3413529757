"""What a suite leaves of a test that fails: its output and its page hold no credential."""

import pytest

from tests.report_page import read_details

pytest_plugins = ("pytester",)
SUITE = """
from urllib.request import Request, urlopen

SECRET = "zqx1-" + "MARK" + "ER" + "-of-a-secret"


def test_it(emulator):
    url = emulator.url("databricks") + "/serving-endpoints/chat/completions?access_token=" + SECRET
    headers = {"Authorization": "Bearer " + SECRET, "Cookie": "sid=" + SECRET + "; a=b"}
    headers["Content-Type"] = "application/json"
    body = '{"model": "databricks-gpt-5", "messages": [{"role": "user", "content": "Hi"}], "password": "%s"}' % SECRET
    try:
        urlopen(Request(url, body.encode(), headers)).read()
    except OSError:
        pass
    wanted = {"header.authorization": "Bearer other-" + SECRET, "query.access_token": SECRET[5:] + "--"}
    emulator.assert_called(**wanted)
"""


def test_failed_test_artifacts_contain_no_credential(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_inprocess(
        "-p", "emulator.pytest_plugin", "--emulator-artifacts=pages", "--emulator-report=run.html"
    )
    result.assert_outcomes(failed=1)
    pages = [*(pytester.path / "pages").iterdir(), pytester.path / "run.html"]
    assert len(pages) == 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        details = "".join(read_details(text))
        assert "sid=zqx1…" in details
        assert "MARKER" not in text + details
    assert "header.authorization is" in result.stdout.str()
    assert "MARKER" not in result.stdout.str()
