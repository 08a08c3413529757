"""What each view of the console shows and does, with keyboard and eyes."""

import http.client
import json
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from emulator.client import EmulatorClient
from tests.console.conftest import Open, Page

pytestmark = pytest.mark.slow

PATH = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
ROWS = "#list [role=option]:not([hidden])"


def chat(
    client: EmulatorClient,
    *prompts: str,
    session: str = "",
    headers: Mapping[str, str] | None = None,
    stream: bool = False,
) -> None:
    """A chat for each prompt, one after the other; what becomes of it does not matter."""
    address = urlsplit(client.url("databricks", via="root"))
    sent = {"authorization": "Bearer dapi-search-secret", "content-type": "application/json", **(headers or {})}
    if session:
        sent["x-emulator-session"] = session
    for prompt in prompts:
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        body = json.dumps({"messages": [{"role": "user", "content": prompt}], "max_tokens": 8, "stream": stream})
        try:
            connection.request("POST", PATH, body, sent)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the client is cut off on purpose
        finally:
            connection.close()


def console(client: EmulatorClient) -> str:
    return f"{client.front}/_emulator/"


def wait_for_rows(page: Page, count: int) -> None:
    page.wait_for_function("n => document.getElementById('found')?.textContent.startsWith(`${n} of`)", arg=count)


def test_call_list_adds_new_calls_live(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", "rivers")
    page = look(console(emulator_at_work))
    wait_for_rows(page, 2)
    chat(emulator_at_work, "tides")
    wait_for_rows(page, 3)
    labels = [row.get_attribute("aria-label") for row in page.locator(ROWS).all()]
    assert sorted(re.findall(r"#(\d+) POST \S+ (\d+), databricks, .*rule (\w+)", "\n".join(labels))) == [
        ("1", "200", "greets"),
        ("2", "429", "busy"),
        ("3", "200", "cuts"),
    ]
    assert "disconnect" in next(label for label in labels if label.startswith("#3"))


def test_keyboard_opens_and_closes_call(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", "rivers")
    page = look(console(emulator_at_work))
    wait_for_rows(page, 2)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    detail = page.locator("#detail")
    detail.get_by_text("'busy': matched").wait_for()
    text = detail.inner_text()
    assert "#2 POST" in text
    assert "'greets': prompt does not hold" in text
    page.locator("#raw-request summary").click()
    text = detail.inner_text()
    assert "Bearer dapi…" in text
    assert "-H 'authorization: Bearer '\"$TOKEN\"" in text
    assert "dapi-search-secret" not in page.content()
    page.keyboard.press("Escape")
    detail.wait_for(state="detached")


def test_faulted_stream_marks_fault_site_and_draws_writes(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "tides", stream=True)
    (call,) = emulator_at_work.requests()
    page = look(console(emulator_at_work), f"calls/{call.id}")
    page.locator("#raw-response summary").click()
    mark = page.locator("#raw-response mark")
    mark.wait_for()
    assert mark.inner_text() == "▲ disconnect"
    answer = page.locator(".turn.answer .said")
    assert answer.locator("mark").inner_text() == "▲ cut: disconnect"
    whole, received = call.response.planned or "", call.response.received or ""
    assert received
    assert whole.startswith(received)
    assert len(whole) > len(received)
    assert answer.inner_text().startswith(received.strip())
    answer.locator("summary").click()
    assert whole.strip() in answer.inner_text()
    before = mark.evaluate("node => node.previousSibling.textContent")
    assert before == call.response.raw
    assert before.count("data: ") == 4
    assert page.locator("#detail svg circle").count() == len(call.response.writes) == 4
    assert "4 writes over" in page.locator("#detail svg").get_attribute("aria-label")


def test_call_detail_links_attempts(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "rivers", "rivers", "Hello")
    chat(emulator_at_work, "rivers", session="a")
    calls = emulator_at_work.requests(status=429, session="")
    page = look(console(emulator_at_work), f"calls/{calls[1].id}/")
    joined = page.locator("#detail p", has_text="Attempts of this request")
    joined.wait_for()
    assert joined.inner_text() == "Attempts of this request: 1: 429 2: 429 Compare"
    assert joined.locator("[aria-current]").inner_text() == "2: 429"
    joined.locator("a").click()
    page.locator("#detail h2", has_text="#1 ").wait_for()
    chat(emulator_at_work, "rivers", "rivers")
    wait_for_rows(page, 6)
    page.locator("#call-1").click()  # which the list had before the others came
    page.locator("#call-2").click()
    joined.get_by_text("4: 429").wait_for()


def test_call_detail_shows_nearest_of_many_attempts(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, *["Hello"] * 30)
    page = look(console(emulator_at_work), f"calls/{emulator_at_work.requests()[14].id}")
    joined = page.locator("#detail p", has_text="Attempts of this request")
    joined.wait_for()
    assert re.findall(r"(\d+): 200", joined.inner_text()) == [str(attempt) for attempt in range(9, 22)]


def test_call_detail_links_attempts_missing_from_list(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "rivers", "rivers", "rivers")
    page = look(console(emulator_at_work))
    wait_for_rows(page, 3)
    page.evaluate("() => { store.calls = []; }")  # as if so many others had come since
    page.goto(f"{console(emulator_at_work)}#calls/{emulator_at_work.requests()[1].id}")
    joined = page.locator("#detail p", has_text="Attempts of this request")
    joined.wait_for()
    assert joined.inner_text() == "Attempts of this request: 1: 429 2: 429 3: 429 Compare"


def test_equal_call_ids_open_chosen_session(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello")
    chat(emulator_at_work, "Hello", session="a")
    one, two = emulator_at_work.requests(session=""), emulator_at_work.requests(session="a")
    assert one[0].id == two[0].id
    page = look(console(emulator_at_work))
    wait_for_rows(page, 2)
    for seq, session in ((1, "none"), (2, "a")):
        page.locator(f"#call-{seq}").click()
        page.locator("#detail h2", has_text=f"#{seq} ").wait_for()
        assert f"\n{session}\n" in page.locator("#detail dl").inner_text()


@pytest.mark.parametrize(
    ("words", "seqs"),
    [
        pytest.param("status:429", [2], id="a field"),
        pytest.param("status:>=400", [2], id="a bound"),
        pytest.param("faults:disconnect", [3], id="a fault"),
        pytest.param("session:a", [4], id="a session"),
        pytest.param("rule:gr*", [1, 4], id="a pattern"),
        pytest.param("error:-", [1, 3, 4], id="nothing there"),
        pytest.param("greets vendor:databricks session:-", [1], id="several words"),
        pytest.param("elsewhere", [], id="a text that does not occur"),
        pytest.param("prompt:riv", [2], id="a part of the prompt"),
        pytest.param("rivers", [2], id="a word, which explanations of other calls have too"),
        pytest.param("why:nearest", [], id="an explanation, when asked for"),
        pytest.param("duration:<1h", [1, 2, 3, 4], id="a duration"),
    ],
)
def test_filter_finds_calls_by_field_and_word(
    look: Open, emulator_at_work: EmulatorClient, words: str, seqs: list[int]
) -> None:
    chat(emulator_at_work, "Hello", "rivers", "tides")
    chat(emulator_at_work, "Hello", session="a")
    page = look(console(emulator_at_work))
    wait_for_rows(page, 4)
    page.fill("#filter", words)
    wait_for_rows(page, len(seqs))
    labels = " ".join(row.get_attribute("aria-label") for row in page.locator(ROWS).all())
    assert sorted(map(int, re.findall(r"#(\d+) ", labels))) == seqs


def test_session_menu_without_sessions_lists_only_server(look: Open, emulator_at_work: EmulatorClient) -> None:
    page = look(console(emulator_at_work))
    page.locator("#session option", has_text="All sessions").wait_for(state="attached")
    assert page.locator("#session option").count() == 1


def test_session_menu_filters_calls(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello")
    chat(emulator_at_work, "rivers", "tides", session="a")
    page = look(console(emulator_at_work))
    wait_for_rows(page, 3)
    page.locator("#session option", has_text="a").first.wait_for(state="attached")
    page.select_option("#session", "a")
    wait_for_rows(page, 2)


def test_call_list_renders_only_visible_rows(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, *["Hello"] * 150)
    page = look(console(emulator_at_work))
    wait_for_rows(page, 150)
    assert page.locator("#list [role=option]").count() < 60
    page.focus("#list")
    page.keyboard.press("End")
    page.locator("#list [aria-posinset='150'][aria-selected=true]").wait_for()
    assert page.get_attribute("#list", "aria-activedescendant") == "call-1"
    page.locator("#list").evaluate("list => { list.scrollTop = 0 }")
    page.locator("#list:not([aria-activedescendant])").wait_for()  # it names no row that does not exist


def test_skipped_live_calls_are_counted_and_loaded_on_demand(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, *["Hello"] * 40)
    page = look(console(emulator_at_work))
    page.locator("#link", has_text="live").wait_for()
    asked = re.compile(r"since=\d+&most=\d+")
    page.route("**/events?*", lambda route: route.continue_(url=asked.sub("since=0&most=3", route.request.url)))
    page.evaluate("void follow()")  # it gets three events a second, and so only the last of forty at once
    button = page.get_by_role("button", name="skipped: show the latest")
    button.wait_for()
    page.unroute("**/events?*")
    button.click()
    wait_for_rows(page, 40)
    button.wait_for(state="hidden")


def test_client_text_is_never_rendered_as_markup(look: Open, emulator_at_work: EmulatorClient) -> None:
    hostile = "<img src=x onerror=\"document.title='caught'\"></script><script>document.title='caught'</script>"
    chat(emulator_at_work, hostile)
    page = look(console(emulator_at_work), f"calls/{emulator_at_work.requests()[0].id}")
    page.locator("#detail").get_by_text("onerror").first.wait_for()
    assert page.title() == "Calls · emulator"


def test_scenario_view_checks_and_loads_edited_scenario(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello")
    page = look(console(emulator_at_work), "scenario")
    page.locator("#yaml").wait_for()
    assert "dapi-search-secret" not in page.input_value("#yaml")
    assert page.locator("#rule-hits tbody tr").all_inner_texts()[0].split("\t")[:2] == ["greets", "1"]
    page.fill("#yaml", "version: 1\nname: other\nrulez: []\n")
    page.get_by_role("button", name="Check").click()
    page.get_by_text("did you mean rules?").wait_for()
    page.get_by_role("button", name="line 3").click()
    assert page.evaluate("getSelection().toString()") == "rulez: []"
    page.fill("#yaml", "version: 1\nname: other\n")
    page.get_by_role("button", name="Apply", exact=True).click()
    page.get_by_text("Applied.").wait_for()
    assert emulator_at_work.scenario().name == "other"


def test_limits_view_shows_level_and_refill_time(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, *["Hello"] * 6)
    page = look(console(emulator_at_work), "limits")
    page.locator("meter").wait_for()
    cells = page.locator("tbody td").all_inner_texts()
    assert cells[:6] == ["limits[0]", "search", "54", "60", "requests", "in 6 s"]


def test_time_view_advances_and_switches_clock(look: Open, emulator_at_work: EmulatorClient) -> None:
    before = emulator_at_work.clock().now
    page = look(console(emulator_at_work), "time")
    page.get_by_role("button", name="+ 1m").click()
    page.locator("#clock", has_text="00:01:00").wait_for()
    assert emulator_at_work.clock().now == before + 60
    page.get_by_role("button", name="instant").click()
    page.locator("#clock", has_text="instant").wait_for()
    assert emulator_at_work.clock().kind == "instant"


def test_models_and_health_views_show_control_plane_data(look: Open, emulator_at_work: EmulatorClient) -> None:
    chat(emulator_at_work, "Hello", "rivers", session="a")
    page = look(console(emulator_at_work), "models")
    page.fill("#model-filter", "meta-llama-3-3-70b-instruct")
    page.get_by_role("cell", name="databricks-meta-llama-3-3-70b-instruct").first.wait_for()
    page.goto(f"{console(emulator_at_work)}#health")
    page.get_by_text("calls in the journal").wait_for()
    assert page.get_by_text("gap between tokens").count() == 0  # the table of the schedule error is in Time alone
    assert page.locator(".card", has_text="calls in the journal").inner_text().split()[0] == "2"
    page.get_by_role("button", name="End a").click()
    page.get_by_text("None.").wait_for()
    assert emulator_at_work.requests() == []


VIEWS = ["calls", "summary", "time", "scenario", "limits", "models", "health"]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_console_views_have_no_serious_accessibility_violations(
    look: Open, emulator_at_work: EmulatorClient, scheme: str, width: int
) -> None:
    """Layout depends on the width and contrast on the scheme; each of them is seen once."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    chat(emulator_at_work, "Hello", "rivers", "tides")
    views = [*VIEWS, f"calls/{emulator_at_work.requests()[0].id}"]
    for view in views:
        page = look(console(emulator_at_work), view, scheme)
        page.set_viewport_size({"width": width, "height": 800})
        page.locator("#detail h2, table, #list").first.wait_for()
        found = axe.run(page).response["violations"]
        serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
        assert not serious, view
        page.close()
