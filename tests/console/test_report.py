"""A run that is kept as one page, and looked at without the emulator."""

from pathlib import Path

import pytest

from emulator.client import EmulatorClient
from tests.console.conftest import Open
from tests.console.test_console import ROWS, chat, wait_for_rows


@pytest.fixture
def page_of_a_run(emulator_at_work: EmulatorClient, tmp_path: Path) -> str:
    chat(emulator_at_work, "Hello </script><b>there", "rivers of ink")
    chat(emulator_at_work, "tides", session="a")
    file = tmp_path / "run.html"
    file.write_text(emulator_at_work.report("my run", "it failed"), encoding="utf-8")
    return file.as_uri()


def test_a_report_opens_offline_and_finds_a_call_by_session_rule_and_text(look: Open, page_of_a_run: str) -> None:
    page = look(page_of_a_run)
    page.context.set_offline(True)
    wait_for_rows(page, 3)
    for words in ("session:a", "rule:busy", "of ink"):
        page.fill("#filter", words)
        wait_for_rows(page, 1)
    page.locator(ROWS).first.click()
    page.locator("#detail").get_by_text("rivers of ink").first.wait_for()
    assert "my run" in page.locator("#link").inner_text()
    page.locator("summary", has_text="What became of it").wait_for()


@pytest.mark.parametrize(
    ("view", "says"),
    [
        pytest.param("scenario", "greets", id="the scenario and its hits"),
        pytest.param("limits", "limits[0]", id="the limits"),
        pytest.param("models", "databricks-meta-llama", id="the models"),
        pytest.param("health", "calls in the journal", id="the health"),
        pytest.param("time", "first token", id="how late it was"),
    ],
)
def test_a_report_has_the_views_of_the_console(look: Open, page_of_a_run: str, view: str, says: str) -> None:
    page = look(page_of_a_run, view)
    page.get_by_text(says).first.wait_for()
