"""What a person does with the console, from what it shows to what the emulator then does."""

import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from emulator import start
from emulator.client import EmulatorClient
from tests.console.conftest import Open
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
    button = page.get_by_role("button", name="Load in session a")
    button.wait_for()
    page.fill("#yaml", page.input_value("#yaml").replace("Good day", "Good evening"))
    button.click()
    page.get_by_text("Loaded in session a.").wait_for()
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
            assert row.locator("td").all_inner_texts()[1:] == ["databricks", "the server's own", "1", "2"]
            caption = page.locator("figcaption", has_text="Model slots").inner_text()
            assert "running 1" in caption
            assert "waiting in the queue 2" in caption
            assert "open 3" in page.locator("figcaption", has_text="Calls").inner_text()
