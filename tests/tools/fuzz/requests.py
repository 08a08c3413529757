"""Mutated requests: golden exchanges changed in their structure or in their bytes."""

# ruff: noqa: E501 -- tables of odd things, one kind a line

import gzip
import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.golden import read_request
from tests.test_fuzz import CORPUS, mutate
from tests.tools.fuzz.scenarios import ERROR_HEADERS, FAULT_HEADERS
from tests.tools.fuzz.seeds import list_more

_VENDORS = Path(__file__).parent.parent.parent / "vendors"
_LONG = 300
_HEADERS = [
    "Content-Type: text/plain", "Content-Type:", "Authorization: Basic dG9rZW46eA==", "Authorization: Bearer", "Cookie: a=b",
    "Accept: text/event-stream", "Accept-Encoding: gzip", "x-ms-client-request-id: \x80\xff", "x-ms-client-request-id: é",
    "Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br", "Content-Encoding: identity",
    "x-request-id: " + "a" * 4000, "extra-parameters: drop", "azureml-model-deployment: x", "x-emulator-timing: 1",
    "x-emulator-session: s1", "x-emulator-session: \u00ff", "x-emulator-nonsense: 1", "x-emulator-ttft: 1ms", "x-emulator-ttft: x",
    "If-Match: *", "Range: bytes=0-1", "Expect: 200-ok", "req-id: 1", "X-HTTP-Method-Override: PUT",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent.

    Fields:
        framed: its length is declared correctly.
        alone: its head may be none, after which a server believes nothing on that connection.
    """

    data: bytes
    framed: bool = True
    alone: bool = False

    @property
    def is_head(self) -> bool:
        return self.data.startswith(b"HEAD ")


@cache
def list_seeds(vendor: str) -> tuple[tuple[str, str, tuple[str, ...], bytes], ...]:
    """Method, target, headers and body of every sensible request to a vendor."""
    seeds: list[tuple[str, str, tuple[str, ...], bytes]] = [
        (method, target, (), b"" if body is None else json.dumps(body).encode())
        for method, target, body in (*CORPUS[vendor], *list_more(vendor))
    ]
    for path in sorted((_VENDORS / vendor / "golden").glob("*.http")):
        head, body = read_request(path)
        first, *lines = head.split("\n")
        method, target = first.split(" ")[:2]
        seeds.append((method, target, tuple(line for line in lines if not line.lower().startswith("host")), body))
    return tuple(seeds)


def make_request(vendor: str, draw: random.Random) -> Request:
    """One request, bent in one way or several."""
    method, target, lines, body = draw.choice(list_seeds(vendor))
    headers = [*lines] if lines else ["Authorization: Bearer k", "Content-Type: application/json"]
    if body:
        body = _bend_body(body, draw)
    if draw.random() < 0.04:
        method = draw.choice(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
    alone = draw.random() < 0.1
    if alone:
        target = _bend_target(target, draw) if draw.random() < 0.5 else target
        headers += draw.choices(_HEADERS, k=draw.randrange(3))
    if draw.random() < 0.15:
        headers += [f"x-emulator-fault: {fault}" for fault in draw.choices(FAULT_HEADERS, k=draw.randint(1, 3))]
    if draw.random() < 0.05:
        headers.append(f"x-emulator-error: {draw.choice(ERROR_HEADERS)}")
    if draw.random() < 0.02:
        body = gzip.compress(body)
        headers.append("Content-Encoding: gzip")
    head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "".join(f"{line}\r\n" for line in headers)
    data = _frame(head.encode("utf-8", "replace"), body, draw)
    return Request(_bend_bytes(data, draw), framed=False) if draw.random() < 0.02 else Request(data, alone=alone)


def _frame(head: bytes, body: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.05:
        cut = draw.randrange(len(body) + 1)
        parts = [part for part in (body[:cut], body[cut:]) if part]
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _bend_body(body: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.25:
        return body
    try:
        return mutate(json.loads(body), draw)
    except (ValueError, IndexError):
        return body[: draw.randrange(len(body) + 1)]


def _bend_target(target: str, draw: random.Random) -> str:
    cut = draw.randrange(1, len(target) + 1)
    more = draw.choice(
        ["", "/", "x", "//", "/..", "/../", "%00", "%2f", "%0d%0a", "?a=%ff", "?", "#", "é", "%", "&&", "/" * 99]
    )
    rest = target[cut:] if draw.random() < 0.5 else ""
    return (target[:cut] + more + rest)[:_LONG]


def _bend_bytes(data: bytes, draw: random.Random) -> bytes:
    """The same with some bytes changed anywhere, the head not spared."""
    bent = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(bent) or 1)
        what = draw.random()
        if what < 0.5:
            bent[place : place + 1] = draw.randbytes(1)
        elif what < 0.7:
            del bent[place : place + draw.randint(1, 20)]
        elif what < 0.9:
            bent[place:place] = draw.choice([b"\r\n", b"\n", b"\0", b" ", b":", b"\r\n\r\n", b"Content-Length: 1\r\n"])
        else:
            del bent[place:]
    return bytes(bent)
