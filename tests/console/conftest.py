"""Browser that opens an emulator's page; it collects errors, and requests to other hosts."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from emulator import start
from emulator.client import EmulatorClient

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

Page = Any  # playwright's; it is no dependency of the types
Open = Callable[..., Page]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")

SCENARIO = """
version: 1
name: watched
clock: frozen
keys: [{token: dapi-search-secret, principal: search}]
limits: [{vendor: databricks, per: principal, unit: requests, amount: 60, window: 60s}]
rules:
  - {name: greets, when: {prompt: Hello}, reply: {text: Good day}}
  - {name: busy, when: {prompt: {contains: rivers}}, error: {kind: rate_limited, retry_after: 2s}}
  - {name: cuts, when: {prompt: {contains: tides}}, faults: [{type: disconnect, after_tokens: 3}]}
"""


def find_stranger(url: str, home: str) -> list[str]:
    """A URL that is neither the page's own host nor data of the page."""
    return [] if url.startswith((home, "data:", "blob:")) else [url]


@pytest.fixture(scope="module")  # no longer: meanwhile its driver keeps the thread's event loop
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def emulator_at_work() -> Iterator[EmulatorClient]:
    with start(SCENARIO) as client:
        yield client


@pytest.fixture
def look(browser: Any, emulator_at_work: EmulatorClient) -> Iterator[Open]:
    """Open a page; at the end check that there was no error, and no request to another host."""
    complaints: list[str] = []
    contexts = []

    def open_page(url: str, view: str = "calls", scheme: str = "light") -> Page:
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        home = url.split("/_emulator")[0]
        page.on("request", lambda asked: complaints.extend(find_stranger(asked.url, home)))
        page.goto(f"{url}#{view}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints
