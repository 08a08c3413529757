"""Make the picture of the console that README and docs show, from one that runs.

Run it as ``python -m tests.tools.docs.picture``."""

import http.client
import json
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from emulator import start
from emulator.client import EmulatorClient

FILE = Path(__file__).parent.parent.parent.parent / "docs" / "images" / "console.png"
PATH = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
SCENARIO = """
version: 1
name: throttled-search-team
latency: {ttft: {type: lognormal, median: 60ms, p99: 200ms}, itl: 8ms}
keys: [{token: dapi-search, principal: search}, {token: dapi-batch, principal: batch}]
limits: [{vendor: databricks, per: principal, unit: requests, amount: 60, window: 60s}]
rules:
  - {name: every third call from search is throttled, when: {principal: search}, times: {every: 3}, error: {kind:
rate_limited, retry_after: 2s}}
  - {name: rivers run dry, when: {prompt: {contains: rivers}}, faults: [{type: stall, after_tokens: 6, for: 120ms},
{type: disconnect, after_tokens: 12}]}
"""
PROMPTS = ("What should I know about tides?", "What do rivers carry?", "How old is the moon?")


def ask(client: EmulatorClient, prompt: str, key: str, *, stream: bool) -> None:
    """Send one chat and ignore its outcome."""
    address = urlsplit(client.url("databricks", via="root"))
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 32, "stream": stream}
    try:
        connection.request("POST", PATH, json.dumps(body), {"authorization": f"Bearer {key}"})
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        pass  # the scenario cuts it
    finally:
        connection.close()


def main() -> None:
    """Some calls, and the one that was cut looked at."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with start(SCENARIO) as client, sync_playwright() as driver:
        for number in range(18):
            key = "dapi-batch" if number % 4 == 3 else "dapi-search"
            ask(client, PROMPTS[number % 3], key, stream=number % 2 == 0)
        ask(client, "What do rivers carry to the sea?", "dapi-batch", stream=True)
        cut = next(call for call in reversed(client.requests()) if "disconnect" in call.faults)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{client.front}/_emulator/#calls/{cut.id}")
        page.locator("#detail mark").first.wait_for()
        page.locator("#detail svg").wait_for()
        page.screenshot(path=FILE)
        browser.close()


if __name__ == "__main__":
    main()
