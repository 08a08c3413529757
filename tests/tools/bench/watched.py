"""Measure the cost of an open console: ``python -m tests.tools.bench.watched``, three minutes on a quiet machine.

Two servers are asked in turns for as much as they can answer; the console looks at one of them: not yet, then with a
thousand calls a second for half a minute, and then no longer. The other measures how fast the machine was meanwhile. It
is done with plain calls, and with rules and faults; what counts is the processor time that a server
takes for a call. At the end a report of ten thousand calls is opened without a network.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from tests.console.conftest import CHROMIUM, QUIET, Page
from tests.tools.bench.load import Load, Loader, loader
from tests.tools.bench.servers import LOAD_CORE, SERVER_CORE, Running, cpu_seconds, pinned

NAME = "version: 1\nname: watched\n"
RULES = """
rules:
  - {name: busy, when: {prompt: {contains: "7 "}}, error: {kind: rate_limited}}
  - {name: bent, when: {prompt: {contains: "5 "}}, faults: [{type: stall, after_tokens: 1, for: 1ms}]}
"""
PATH = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
BODY = {"messages": [{"role": "user", "content": "call ######## please"}], "max_tokens": 16}
SCENARIOS = {"short": NAME, "long": NAME + RULES}
RATE = 1000.0  # calls a second
CALLS = 10_000
SLICE, TURNS = 0.4, 35  # seconds that one of two is asked for, and how often
Served = tuple[Running, str]  # and the URL of its front
_HEAP = "JSHeapUsedSize"


@contextmanager
def serve(folder: Path, text: str) -> Iterator[Served]:
    """A server of its own."""
    scenario, ports = folder / "watched.yaml", folder / "ports.json"
    scenario.write_text(text, encoding="utf-8")
    ports.unlink(missing_ok=True)
    command = [sys.executable, "-m", "emulator", "serve", str(scenario), "--port", "0", "--port-file", str(ports)]
    process = subprocess.Popen(pinned([*command, "--log-level", "error"], SERVER_CORE), stderr=subprocess.DEVNULL)
    try:
        while not ports.exists():
            time.sleep(0.05)
        urls = json.loads(ports.read_text(encoding="utf-8"))
        yield Running(urlsplit(urls["databricks"]).port or 0, PATH, process.pid, 0.0), urls["front"]
    finally:
        process.terminate()
        process.wait()


def ask(front: str, method: str, path: str, body: bytes = b"") -> Any:
    """What the control plane answers, parsed where it is JSON."""
    connection = http.client.HTTPConnection(urlsplit(front).netloc)
    connection.request(method, f"/_emulator{path}", body, {"content-type": "application/json"})
    answer = connection.getresponse().read()
    connection.close()
    return json.loads(answer) if answer[:1] == b"{" else answer


def count(front: str) -> int:
    return sum(row["requests"] for row in ask(front, "GET", "/status")["vendors"])


def cost(load: Loader, server: Running, front: str) -> float:
    """Microseconds of the processor for a call, of as many as are answered in a while."""
    calls, cpu = count(front), cpu_seconds(server.pid)
    load.run(Load(body=BODY, connections=36, warm=0.1), server, SLICE)
    return (cpu_seconds(server.pid) - cpu) / (count(front) - calls) * 1e6


def compare(load: Loader, looked_at: Served, other: Served, turns: int) -> float:
    """What a call costs the server that is looked at, as a part of what it costs the other; in turns."""
    pairs = [(cost(load, *looked_at), cost(load, *other)) for _ in range(turns)]
    ratios = sorted(one / two for one, two in pairs)
    costs = [median(costs) for costs in zip(*pairs, strict=True)]
    middle = ratios[turns // 4 : -turns // 4]  # without those that a busy machine bent
    print(f"  {costs[0]:.1f} µs a call, the other {costs[1]:.1f} µs", end="; ")
    print(f"{fmean(middle):.3f} of it, half of the time {middle[0]:.3f} to {middle[-1]:.3f}")
    return fmean(middle)


def watch_for(load: Loader, server: Running, front: str, seconds: float, page: Page) -> None:
    """Load it at a fixed rate for a while, and return how the page responded meanwhile."""
    paced = Load(body=BODY, connections=36, warm=0.1, rate=RATE)
    with load.start(paced, server, seconds + 2) as process:
        time.sleep(1)
        calls, cpu, began = count(front), cpu_seconds(server.pid), time.perf_counter()
        for _ in range(3):
            time.sleep(seconds / 3)
            say_page(page, front)
        took = time.perf_counter() - began
        calls, cpu = count(front) - calls, cpu_seconds(server.pid) - cpu
        load.finish(process)
    print(f"  {calls / took:.0f} calls/s, {cpu / calls * 1e6:.0f} µs of the processor each, {cpu / took:.1%} of one")


def say_page(page: Page, front: str) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
    newest = page.evaluate("store.calls.at(-1)?.seq ?? 0")
    behind = ask(front, "GET", "/requests?limit=1")["requests"][0]["seq"] - newest
    rows = page.evaluate("document.querySelectorAll('#list [role=option]').length")
    held = page.evaluate("store.calls.length")
    print(f"  page: {held} calls held, {rows} rows, {metrics[_HEAP] / 2**20:.0f} MiB of heap, {behind} calls behind")


def open_report(browser: Any, file: Path) -> None:
    """Ten thousand calls, without a network."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.context.set_offline(True)
    wait = "n => document.getElementById('found')?.textContent.startsWith(n)"
    began = time.perf_counter()
    page.goto(file.as_uri())
    page.wait_for_function(wait, arg="10,000 of")
    print(f"report: {file.stat().st_size / 2**20:.1f} MiB, opened in {time.perf_counter() - began:.2f} s")
    for words in ("session:s1", "rule:busy", "00000042"):
        before = page.inner_text("#found")
        began = time.perf_counter()
        page.fill("#filter", words)
        changed = "before => ![before, 'searching…'].includes(document.getElementById('found').textContent)"
        page.wait_for_function(changed, arg=before)
        print(f"  {words}: {page.inner_text('#found')}, {time.perf_counter() - began:.2f} s")
    page.close()


def make_report(server: Running, front: str, file: Path) -> None:
    """So many calls, one of them in a session."""
    ask(front, "POST", "/reset")
    ask(front, "POST", "/clock", b'{"clock": "instant"}')
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for number in range(CALLS):
        body = json.dumps(BODY).replace("########", f"{number:08}")
        headers = {"authorization": "Bearer k", **({"x-emulator-session": "s1"} if number % 100 == 0 else {})}
        connection.request("POST", PATH, body, headers)
        connection.getresponse().read()
    file.write_bytes(ask(front, "POST", "/report", b"{}"))


@contextmanager
def browse(driver: Any, folder: Path) -> Iterator[Any]:
    """A browser that has the load's processor."""
    starter = folder / "chromium"
    starter.write_text("#!/bin/sh\nexec " + " ".join(pinned([str(CHROMIUM)], LOAD_CORE)) + ' "$@"\n')
    starter.chmod(0o755)
    browser = driver.chromium.launch(executable_path=str(starter), args=list(QUIET))
    yield browser
    browser.close()


def watch(load: Loader, browser: Any, looked_at: Served, other: Served, seconds: float) -> None:
    """Measure one server with the console closed, open, and closed again."""
    for server, _ in (looked_at, other):
        load.run(Load(body=BODY, connections=36), server, 3)  # until each call lets an older one go
    print(" nobody has looked yet:")
    before = compare(load, looked_at, other, TURNS)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{looked_at[1]}/_emulator/#calls")
    print(" the console is open:")
    watch_for(load, *looked_at, seconds, page)
    opened = compare(load, looked_at, other, TURNS // 3)
    say_page(page, looked_at[1])
    page.close()
    time.sleep(1)
    print(" it is closed again:")
    closed = compare(load, looked_at, other, TURNS)
    print(f" a call costs {opened / before - 1:+.1%} while it is open, {closed / before - 1:+.1%} after it was closed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="with the console open")
    parser.add_argument("--scenarios", nargs="*", choices=SCENARIOS, default=list(SCENARIOS), help="of the calls")
    parser.add_argument("--no-report", action="store_true", help="make and open none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, loader() as load, sync_playwright() as driver:
        folder = Path(name)
        with browse(driver, folder) as browser:
            for kind in given.scenarios:
                print(f"calls of the {kind} scenario")
                with serve(folder, SCENARIOS[kind]) as looked_at, serve(folder, SCENARIOS[kind]) as other:
                    watch(load, browser, looked_at, other, given.seconds)
            if not given.no_report:
                with serve(folder, SCENARIOS["long"]) as (server, front):
                    make_report(server, front, folder / "run.html")
                    open_report(browser, folder / "run.html")


if __name__ == "__main__":
    main()
