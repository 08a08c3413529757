"""A run that is kept as one page, and looked at without the emulator."""

from pathlib import Path

import pytest

from emulator.client import EmulatorClient
from emulator.control.report_page import Report
from tests.console.conftest import Open
from tests.console.test_console import ROWS, chat, wait_for_rows

pytestmark = pytest.mark.slow


@pytest.fixture
def page_of_a_run(emulator_at_work: EmulatorClient, tmp_path: Path) -> str:
    chat(emulator_at_work, "Hello </script><b>there", "rivers of ink")
    chat(emulator_at_work, "tides", session="a")
    file = tmp_path / "run.html"
    file.write_text(emulator_at_work.report("my run", "it failed"), encoding="utf-8")
    return file.as_uri()


def test_report_filters_and_opens_calls_offline(look: Open, page_of_a_run: str) -> None:
    page = look(page_of_a_run, "calls")
    page.context.set_offline(True)
    wait_for_rows(page, 3)
    for words in ("session:a", "rule:busy", "of ink"):
        page.fill("#filter", words)
        wait_for_rows(page, 1)
    page.locator(ROWS).first.click()
    page.locator("#detail").get_by_text("rivers of ink").first.wait_for()
    assert "my run" in page.locator("#link").inner_text()


def test_report_finds_one_of_ten_thousand_calls(look: Open, emulator_at_work: EmulatorClient, tmp_path: Path) -> None:
    chat(emulator_at_work, "Hello")
    one = emulator_at_work.requests()[0]
    report = Report("many", answers={})
    for seq in range(1, 10_001):
        there = seq == 9_950
        request = one.request.model_copy(update={"body": f"of needle {seq} é" if there else "of hay"})
        session, rule = ("a", "rare") if there else ("", "greets")
        changes = {"id": f"{seq:032}", "seq": seq, "session": session, "rule": rule}
        report.add(one.model_copy(update={**changes, "request": request}))
    (tmp_path / "run.html").write_text(report.render(), encoding="utf-8")
    page = look((tmp_path / "run.html").as_uri(), "calls")
    page.context.set_offline(True)
    page.locator("#found", has_text="10,000 of 10,000").wait_for()
    assert page.evaluate("packed === null")  # nothing was unpacked that was not requested
    for words in ("session:a", "rule:rare", "needle 9950 é"):
        page.fill("#filter", words)
        page.locator("#found", has_text="1 of 10,000").wait_for()
    page.locator(ROWS).first.click()
    page.locator("#detail").get_by_text("of needle 9950 é").first.wait_for()
    page.fill("#filter", "needle in hay")
    page.locator("#found", has_text="0 of 10,000").wait_for()


def test_report_begins_with_what_happened(look: Open, page_of_a_run: str) -> None:
    page = look(page_of_a_run.split("#")[0], "")
    page.context.set_offline(True)
    text = page.locator("#main").inner_text()
    for said in ("my run", "hash ", "seed 0", " UTC", "it failed", "error rate", "The ten worst calls", "All calls"):
        assert said in text
    assert page.title().startswith("my run")
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    page.emulate_media(media="screen")
    page.locator("#main table a").first.click()
    page.locator("#detail h2").wait_for()


@pytest.mark.parametrize(
    ("view", "says"),
    [
        pytest.param("scenario", "greets", id="the scenario and its hits"),
        pytest.param("limits", "limits[0]", id="the limits"),
        pytest.param("models", "databricks-meta-llama", id="the models"),
        pytest.param("health", "calls in the journal", id="the health"),
        pytest.param("summary", "Tokens by principal", id="what happened"),
        pytest.param("time", "first token", id="how late it was"),
    ],
)
def test_report_has_console_views(look: Open, page_of_a_run: str, view: str, says: str) -> None:
    page = look(page_of_a_run, view)
    page.get_by_text(says).first.wait_for()


@pytest.mark.parametrize("view", ["summary", "calls", "calls/", "scenario", "health"])
@pytest.mark.parametrize("width", [1280, 390], ids=["wide", "narrow"])
def test_report_views_have_no_serious_accessibility_violations(
    look: Open, page_of_a_run: str, view: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = look(page_of_a_run, view.rstrip("/"))
    page.set_viewport_size({"width": width, "height": 800})
    if view.endswith("/"):
        page.locator(ROWS).first.click()
        page.locator("#detail h2").wait_for()
    page.locator("#list, table").first.wait_for()
    found = axe.run(page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
