"""What a person does with the console, from what it shows to what the emulator then does."""

import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator import start
from emulator.client import EmulatorClient
from emulator.imports.files import read_files
from emulator.vendors import VENDORS
from tests.console.conftest import Open, Page
from tests.console.test_console import PATH, chat, console

pytestmark = pytest.mark.slow

BUSY = """
version: 1
name: busy
clock: frozen
latency: {ttft: 1s, load: {capacity: 1, queue: 4}}
"""
HARD = 'it\'s "quoted" $HOME `id` \\ é 🌊\nnext'


@pytest.mark.parametrize(
    ("session", "headers"),
    [
        pytest.param("", {}, id="without a session"),
        pytest.param("a", {"x-emulator-session": "a"}, id="in one"),
        pytest.param("a", {"baggage": "emulator.session=a"}, id="in one that was named in another way"),
    ],
)
def test_curl_line_repeats_call(
    look: Open, emulator_at_work: EmulatorClient, session: str, headers: Mapping[str, str]
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    mine = HARD.splitlines()[0].encode().decode("latin-1")
    chat(emulator_at_work, HARD, headers={"x-mine": mine, **headers})
    (before,) = emulator_at_work.requests(session=session)
    page = look(console(emulator_at_work), f"calls/{before.id}/{session}")
    line = page.locator("[aria-label='curl command that repeats the request']")
    line.wait_for()
    environment = {**os.environ, "TOKEN": "dapi-search-secret"}
    said = subprocess.run(
        ["sh", "-c", line.inner_text()], env=environment, capture_output=True, timeout=30, check=True
    ).stdout
    _, again = emulator_at_work.requests(session=session)
    assert (again.request.body, again.attempt, again.principal) == (before.request.body, 2, "search")
    assert again.request.headers["x-mine"] == before.request.headers["x-mine"]
    assert json.loads(said) == again.response.body


def test_scenario_is_loaded_in_one_session(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", session="a")
    page = look(console(emulator_at_work), "scenario")
    page.locator("#session option", has_text="a").first.wait_for(state="attached")
    page.select_option("#session", "a")
    button = page.get_by_role("button", name="Apply to session a")
    button.wait_for()
    page.fill("#yaml", page.input_value("#yaml").replace("Good day", "Good evening"))
    button.click()
    page.get_by_text("Applied to session a.").wait_for()
    chat(emulator_at_work, "Hello", session="a")  # with its key, which was shown cut
    chat(emulator_at_work, "Hello")
    assert [emulator_at_work.requests(session=name)[-1].response.text for name in ("a", "")] == [
        "Good evening",
        "Good day",
    ]


def test_library_scenario_is_loaded(look: Open, emulator_at_work: EmulatorClient) -> None:
    page = look(console(emulator_at_work), "scenario")
    page.get_by_label("Scenarios of the library").select_option("retry-then-succeed")
    page.locator("#main h2", has_text="retry-then-succeed").wait_for()
    assert emulator_at_work.scenario().name == "retry-then-succeed"
    assert "retry-then-succeed" in page.input_value("#yaml")


@contextmanager
def asking(client: EmulatorClient, count: int) -> Iterator[None]:
    """So many calls that are under way until it ends; by then their time has come."""
    address = urlsplit(client.url("databricks", via="root"))
    body = json.dumps({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})

    def ask() -> None:
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        connection.request("POST", PATH, body, {"authorization": "Bearer k"})
        connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        client.advance("1h")
        for thread in threads:
            thread.join(30)


def test_running_and_waiting_calls_are_shown(look: Open) -> None:
    with start(BUSY) as client:
        page = look(console(client), "time")
        with asking(client, 3):
            row = page.locator("tr", has_text="databricks-meta-llama-3-3-70b-instruct")
            row.filter(has=page.locator("td:nth-child(5)", has_text="2")).wait_for()
            assert row.locator("td").all_inner_texts()[1:] == ["databricks", "none", "1", "2"]
            caption = page.locator("figcaption", has_text="Capacity").inner_text()
            assert "running 1" in caption
            assert "waiting in the queue 2" in caption
            assert "open 3" in page.locator("figcaption", has_text="Calls").inner_text()
        page.close()


def test_open_calls_stand_above_the_list(look: Open) -> None:
    with start(BUSY) as client:
        page = look(console(client))
        with asking(client, 2):
            page.locator("#open-calls li", has_text="Hello").nth(1).wait_for()
            assert page.locator("#open-calls li").first.inner_text().startswith("open")
            page.set_viewport_size({"width": 390, "height": 800})
            box, head = page.locator("#list").bounding_box(), page.get_by_label("Sort by result").bounding_box()
            assert head["x"] + head["width"] <= box["x"] + box["width"] <= 390
        page.locator("#open-calls:empty").wait_for(state="attached")
        page.locator("#found", has_text="2 of 2").wait_for()
        page.close()


def test_list_shows_prompts_and_sorts_by_any_column(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", "rivers", "tides")
    page = look(console(emulator_at_work))
    page.locator("#found", has_text="3 of 3").wait_for()
    prompts = "#list [role=option]:not([hidden]) > :nth-child(2)"
    assert page.locator(prompts).all_inner_texts() == ["tides", "rivers", "Hello"]
    page.get_by_role("button", name="Sort by prompt").click()
    assert sorted_by_top(page) == ["tides", "rivers", "Hello"]
    page.get_by_role("button", name="Sort by prompt").click()
    assert sorted_by_top(page) == ["Hello", "rivers", "tides"]
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("principal", exact=True).check()
    assert page.locator("#calls-head button").all_inner_texts()[-1] == "principal"
    assert page.locator("#list [role=option]:not([hidden]) > :nth-child(6)").first.inner_text() == "search"


def sorted_by_top(page: Page) -> list[str]:
    rows = "rows => rows.filter(row => !row.hidden).sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top))"
    return list(page.locator("#list .row").evaluate_all(f"{rows[:-1]}).map(row => row.children[1].textContent)"))


def test_unknown_filter_field_is_said(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello")
    page = look(console(emulator_at_work))
    page.fill("#filter", "promt:Hello")
    page.get_by_text("no field “promt”; there are prompt,").wait_for()
    page.fill("#filter", "prompt:hello")
    page.locator("#found", has_text="1 of 1").wait_for()
    assert page.locator("#unknown").inner_text() == ""


def test_first_page_teaches_the_first_call(look: Open) -> None:
    with start() as client:
        page = look(console(client))
        page.locator("[aria-label='A first request']").wait_for()
        for vendor in VENDORS:
            page.get_by_role("button", name=f"Show a request to {vendor}").click()
            line = page.locator("[aria-label='A first request']").inner_text()
            said = subprocess.run(["sh", "-c", line], capture_output=True, timeout=30, check=True).stdout
            assert b"error" not in said[:12], vendor
            if vendor != list(VENDORS)[-1]:
                assert page.evaluate("firstShown = null") is None
                client.reset()
                page.reload()
        page.locator("#first").wait_for(state="hidden")
        page.close()


def test_reset_asks_and_clears_one_session(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", session="a")
    chat(emulator_at_work, "Hello", "rivers", session="b")
    page = look(console(emulator_at_work))
    page.locator("#found", has_text="3 of 3").wait_for()
    page.locator("#session option", has_text="b").first.wait_for(state="attached")
    page.select_option("#session", "b")
    page.locator("#found", has_text="2 of 2").wait_for()
    page.get_by_role("button", name="Reset…").click()
    dialog = page.get_by_role("dialog")
    assert "the 2 calls of session b" in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel").click()
    assert len(emulator_at_work.requests(session="b")) == 2
    page.get_by_role("button", name="Reset…").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    page.locator("#found", has_text="0 of 0").wait_for()
    assert (len(emulator_at_work.requests(session="a")), emulator_at_work.requests(session="b")) == (1, [])


def test_attempts_are_compared_side_by_side(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "rivers", "rivers")
    page = look(console(emulator_at_work), f"calls/{emulator_at_work.requests()[1].id}/")
    page.get_by_role("button", name="Compare").click()
    table = page.locator("table.compared")
    table.wait_for()
    assert table.locator("thead").inner_text().split()[1:] == ["attempt", "1", "attempt", "2"]
    assert table.locator("tr", has_text="result").locator("td").all_inner_texts() == ["429", "429"]


def test_call_is_sent_again_from_the_page(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", session="a")
    page = look(console(emulator_at_work), f"calls/{emulator_at_work.requests()[0].id}/a")
    page.on("dialog", lambda asked: asked.accept("dapi-search-secret"))
    page.get_by_role("button", name="Send again").click()
    page.get_by_text("Sent: 200.").wait_for()
    first, second = emulator_at_work.requests(session="a")
    assert (first.request.body, first.rule, 2) == (second.request.body, second.rule, second.attempt)


def test_summary_counts_failures_and_tokens(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", "rivers")
    chat(emulator_at_work, "tides", stream=True)
    page = look(console(emulator_at_work), "summary")
    page.locator(".card", has_text="error rate").wait_for()
    cards = {card.inner_text().split("\n")[1]: card.inner_text().split("\n")[0] for card in page.locator(".card").all()}
    assert (cards["calls"], cards["error rate"], cards["cut"]) == ("3", "33.3 %", "1")
    assert page.locator("tr", has_text="rate_limited").first.inner_text().split("\t")[:3] == [
        "rate_limited",
        "search",
        "1",
    ]
    assert "every rule matched" in page.locator("#main").inner_text()
    usage = page.locator("table", has_text="tokens sent").locator("td").all_inner_texts()
    sent = sum(call.sent_tokens for call in emulator_at_work.requests())
    assert usage[0] == str(sent)
    assert int(usage[0]) == int(usage[1]) + int(usage[2]) == sum(map(int, usage[3:7])) + int(usage[1])


def test_charts_begin_with_the_history_of_the_server(look: Open) -> None:
    with start("version: 1\n") as client:
        page = look(console(client), "time")
        rows = [
            {"time": at, "open": 7, "running": 0, "queued": 0, "requests": 5, "lateness_p99": 0.0} for at in (1.0, 2.0)
        ]
        page.route("**/history", lambda route: route.fulfill(json={"samples": rows}))
        # asked in the same call: each second the page drops rows as old as these
        given = page.evaluate("async () => { await beginSamples(); return samples.filter(row => row.open === 7); }")
        assert [row["time"] for row in given] == [1, 2]
        page.close()


@pytest.mark.parametrize(("session", "calls"), [pytest.param("", 3, id="all"), pytest.param("a", 1, id="of a session")])
def test_calls_are_saved_as_har(
    session: str, calls: int, look: Open, emulator_at_work: EmulatorClient, tmp_path: Path
) -> None:
    """The file of the button is what `emulator import` reads: an answer, a stream, a refusal."""
    chat(emulator_at_work, "Hello")
    chat(emulator_at_work, "Hello", stream=True)
    chat(emulator_at_work, "Which rivers?", headers={"x-emulator-session": "a"})
    page = look(console(emulator_at_work))
    if session:
        page.select_option("#session", session)
    page.locator("#found", has_text=f"{calls} of {calls}").wait_for()  # the view is drawn, buttons too
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save HAR").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    found = read_files([file])
    assert [exchange.vendor for exchange in found.exchanges] == ["databricks"] * calls
    assert file.name == "emulator.har"
    assert "dapi-search-secret" not in file.read_text(encoding="utf-8")
