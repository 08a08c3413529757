"""No answer of a vendor runs as a page where the control plane is: seen in a browser."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from typing import get_args as parts_of
from urllib.parse import urlsplit

import pytest
import yaml

from emulator.control.auth import ControlAuth
from emulator.faults import AnyFault
from tests.http_client import Running

pytestmark = pytest.mark.slow

PROBE = "fetch('/_emulator/requests?detail=true')"
SCRIPT = f'<script>{PROBE}</script><img src=x onerror="{PROBE}">'
SVG = f"<svg xmlns='http://www.w3.org/2000/svg'><script>{PROBE}</script></svg>"
XHTML = f"<html xmlns='http://www.w3.org/1999/xhtml'><body><script>{PROBE}</script></body></html>"
TYPES = {
    "text/html": SCRIPT,
    "TEXT/HTML;charset=utf-8": SCRIPT,
    "application/xhtml+xml": XHTML,
    "image/svg+xml": SVG,
    "text/xml": XHTML,
    "application/xml": SVG,
    "*/*": SCRIPT,
    "unknown/unknown": SCRIPT,
    "application/unknown": SCRIPT,
    "html": SCRIPT,
    "": SCRIPT,
    "; charset=utf-8": SCRIPT,
    "application/json, text/html": SCRIPT,
    "text/plain": SCRIPT,
    "application/json": SCRIPT,
}
PAGE = """<!doctype html><form method=post enctype="text/plain" action="{url}"><textarea></textarea></form><script>
const text = document.querySelector("textarea"); text.name = {name}; text.value = '"}}';
document.forms[0].submit()</script>"""
FAULTS = [str(parts_of(kind.model_fields["type"].annotation)[0]) for kind in parts_of(parts_of(AnyFault)[0])]
HEAD = "version: 1\nname: t\nclock: instant\n"


def word_page(url: str, prompt: str) -> str:
    """A page that sends a prompt by a form, which no browser asks about before."""
    name = f'{{"prompt":{json.dumps(prompt)},"inputs":{json.dumps(prompt)},"stream":false,"x":"'
    return PAGE.format(url=url, name=json.dumps(name).replace("</", "<\\/"))


driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture
def elsewhere() -> Iterator[Callable[[str], str]]:
    """Serve a page from another origin: ``url = elsewhere(page)``."""
    pages: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages[-1])

        def log_message(self, format: str, *args: Any) -> None:
            """Send nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def serve(page: str) -> str:
        pages.append(page.encode())
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    server.shutdown()
    thread.join()
    server.server_close()


def is_control(url: str) -> bool:
    return urlsplit(url).path.startswith("/_emulator")


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[[str], list[str]]]:
    """Open a page and let it do what it does; which requests reached for the control plane."""
    contexts = []

    def open_page(url: str) -> list[str]:
        context = browser.new_context()
        contexts.append(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if is_control(request.url) else None)
        with suppress(driver.Error):  # the answer may break off, or be no page
            page.goto(url, wait_until="networkidle")
        page.wait_for_load_state("networkidle")
        return asked

    yield open_page
    for context in contexts:
        context.close()


TOKENS = pytest.mark.parametrize("token", [None, "t0ken"])
Visit = Callable[[str], list[str]]
Serve = Callable[[str], str]
LiveWith = Callable[[str], Running]


def begin(live_with: LiveWith, scenario: str, token: str | None) -> Running:
    running = live_with(HEAD + scenario)
    running.built.control.auth = ControlAuth(token=token)
    return running


@pytest.mark.parametrize("fault", ["", *FAULTS])
def test_cross_origin_form_post_runs_no_script(live_with: LiveWith, visit: Visit, elsewhere: Serve, fault: str) -> None:
    needed = {
        "drip": ", bytes_per_second: 10000",
        "drop": ", field: usage",
        "hang": ", for: 1s",
        "split": ", writes: byte",
        "stall": ", for: 1s",
        "status": ", status: 502",
    }
    first = "" if fault in ("", "wrong_content_type") else f"{{type: {fault}{needed.get(fault, '')}}}, "
    faults = f"faults: [{first}{{type: wrong_content_type}}]"
    running = begin(live_with, f"rules: [{{name: a proxy answers, {faults}}}]\n", None)
    for url, token in ((running.urls["mindie"], None), (running.front("mindie"), "t0ken")):
        running.built.control.auth = ControlAuth(token=token)
        assert visit(elsewhere(word_page(f"{url}/generate", SCRIPT))) == []


@TOKENS
def test_no_content_type_runs_script(live_with: LiveWith, visit: Visit, elsewhere: Serve, token: str | None) -> None:
    rules = [
        {
            "name": f"answer {at}",
            "when": {"prompt": f"number {at}"},
            "error": {"kind": "rate_limited", "status": 200, "body": body, "headers": {"Content-Type": kind}},
        }
        for at, (kind, body) in enumerate(TYPES.items())
    ]
    running = begin(live_with, yaml.safe_dump({"rules": rules}), token)
    for at, kind in enumerate(TYPES):
        assert visit(elsewhere(word_page(f"{running.urls['mindie']}/generate", f"number {at}"))) == [], kind


@TOKENS
def test_vendor_pages_run_no_script(live_with: LiveWith, visit: Visit, token: str | None) -> None:
    running = begin(live_with, "", token)
    for path in ("/docs", f"/docs?x={SCRIPT}", f"/{SCRIPT}"):
        assert visit(running.urls["tgi"] + path) == []


def test_script_runs_without_policy(live_with: LiveWith, visit: Visit, elsewhere: Serve) -> None:
    """What the tests above look for is there to be seen: a page of another server does ask."""
    assert len(visit(elsewhere(SCRIPT))) >= 1
