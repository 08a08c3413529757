"""Send rounds of requests, each to one scenario, and check the responses."""

import hashlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from emulator.vendors import VENDORS
from tests.tools.fuzz.requests import Request, make_request
from tests.tools.fuzz.scenarios import make_scenario
from tests.tools.fuzz.server import Server
from tests.tools.fuzz.wire import Answer, Connection, Desynchronised, Lost
from tests.untyped_json import JSON

ROUND = 800  # requests
_BATCH = 8  # requests that are under way at once on a connection
_MOST_WORK = 1.0  # seconds of one request
_ENDS = (
    "disconnect",
    "hang",
    "timeout",
    "after_tokens",
)  # words of requests whose responses may break off
_OURS = (b"Server got itself in trouble", b"x-emulator-bug")
_NOT_OURS = b"\r\nserver: python"


@dataclass
class Findings:
    """Counts of responses and of findings, printed at once; ``folder``: for requests that reproduce them."""

    folder: Path | None = None
    answers: Counter[int] = field(default_factory=Counter)
    count: int = 0
    round: str = ""

    def add(self, reason: str, scenario: JSON, data: bytes) -> None:
        self.count += 1
        reported = json.dumps(scenario)
        print(f"{self.round}: {reason}\n  {reported[:300]}\n  {data[:300]!r}", flush=True)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            name = hashlib.blake2b(data, digest_size=6).hexdigest()
            (self.folder / f"{name}.request").write_bytes(data)
            (self.folder / f"{name}.json").write_text(f"{reported}\n{self.round}\n{reason}\n")


def attack(server: Server, seed: int, number: int, findings: Findings) -> None:
    """Run one round: a scenario, and some hundred requests to it."""
    findings.round = f"seed {seed}, round {number}"
    draw = random.Random(f"{seed} {number}")
    vendor = [*VENDORS][number % len(VENDORS)]
    scenario = make_scenario(vendor, draw)
    server.control("PUT", "scenario", scenario)
    address = server.urls[vendor]
    left = ROUND
    unframed: list[Request] = []
    with _moving(server, scenario):
        while left > 0 and server.alive:
            requests = [make_request(vendor, draw) for _ in range(_BATCH)]
            left -= len(requests)
            unframed += [request for request in requests if not request.framed]
            _send(server, address, scenario, [request for request in requests if request.framed], findings)
        _glance(address, scenario, unframed, findings)
    _check_anchor(server, scenario, findings)


@contextmanager
def _moving(server: Server, scenario: JSON) -> Iterator[None]:
    """Advance a frozen clock meanwhile."""
    if scenario["clock"] != "frozen":
        yield
        return
    over = threading.Event()

    def push() -> None:
        while not over.wait(0.02):
            server.control("POST", "clock", {"advance": "10s"})

    pusher = threading.Thread(target=push)
    pusher.start()
    try:
        yield
    finally:
        over.set()
        pusher.join()


def _send(
    server: Server, address: tuple[str, int], scenario: JSON, requests: list[Request], findings: Findings
) -> None:
    began = time.monotonic()
    together = [request for request in requests if not request.alone]
    most = 1 if address == server.urls["mindie"] else _BATCH  # MindIE closes every connection
    while together:
        together = together[_exchange(address, scenario, together[:most], findings) :]
    for request in requests:
        if request.alone:
            _exchange(address, scenario, [request], findings)
    if time.monotonic() - began > _MOST_WORK:
        for request in requests:
            _time(server, address, scenario, request, findings)


def _exchange(address: tuple[str, int], scenario: JSON, requests: list[Request], findings: Findings) -> int:
    """Send all on one connection; how many of them are done with."""
    connection = Connection(address)
    done = 0
    try:
        connection.send([request.data for request in requests])
        for request in requests:
            done += 1
            answer = connection.read(is_head=request.is_head)
            findings.answers[answer.status] += 1
            _judge(request, answer, scenario, findings)
            if answer.closes:
                break
    except Desynchronised as error:
        findings.add(f"desynchronised: {error}", scenario, b"".join(request.data for request in requests[:done]))
    except Lost as error:
        findings.answers[0] += 1
        sent = b"".join(request.data for request in requests[:done])
        if not _may_break_off(scenario, sent):
            findings.add(f"lost: {error}", scenario, sent)
        done = max(done, 1)
    except TimeoutError:
        findings.add("no answer", scenario, requests[done - 1].data)
    finally:
        connection.close()
    return done


def _may_break_off(scenario: JSON, sent: bytes) -> bool:
    """Return whether a response may end early or be absent: MindIE closes connections when its queue is full."""
    text = json.dumps(scenario) + sent.decode("latin-1")
    return any(word in text for word in _ENDS) or ("mindie" in scenario["vendors"] and "overloaded" in text)


def _judge(request: Request, answer: Answer, scenario: JSON, findings: Findings) -> None:
    head = answer.head.lower()
    if any(word in answer.head or word in answer.body for word in _OURS):
        findings.add("a bug of ours", scenario, request.data)
    elif _NOT_OURS in head and not (request.alone and answer.status == 400):
        findings.add("an answer of the framework", scenario, request.data)


def _glance(address: tuple[str, int], scenario: JSON, requests: list[Request], findings: Findings) -> None:
    """Send each on a connection of its own, and see what comes back soon."""
    connections = [Connection(address) for _ in requests]
    for connection, request in zip(connections, requests, strict=True):
        with suppress(Lost):
            connection.send([request.data])
    for connection, request in zip(connections, requests, strict=True):
        data = connection.glance()
        connection.close()
        findings.answers[int(data[9:12]) if data[9:12].isdigit() else 0] += 1
        if any(word in data for word in _OURS) or (data and not data.startswith(b"HTTP/1.")):
            findings.add("a bug of ours", scenario, request.data)


def _time(server: Server, address: tuple[str, int], scenario: JSON, request: Request, findings: Findings) -> None:
    """Send a request again, alone, and measure its cost."""
    before = server.cpu()
    _exchange(address, scenario, [request], findings)
    spent = server.cpu() - before
    if spent > _MOST_WORK:
        findings.add(f"{spent:.1f} s of work", scenario, request.data)


def _check_anchor(server: Server, scenario: JSON, findings: Findings) -> None:
    """After all that, the emulator still does what it should."""
    began = time.monotonic()
    try:
        server.control("GET", "health")
    except (OSError, RuntimeError) as error:
        findings.add(f"health: {error} after {time.monotonic() - began:.1f} s", scenario, b"")
