"""Remembered heads: the same request, bytes and journal entry as of a head that is parsed."""

import asyncio
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.http import Request, Response
from emulator.core.vendor import AnyEndpoint, Endpoint
from emulator.journal.entry import JournalEntry
from emulator.journal.payload import Payload
from tests.conftest import FROZEN, Start, running
from tests.golden import read_request
from tests.handler.toy import TOY, ToyService
from tests.http.calls import CHAT, HEAD, MODEL, chat, connect, find_heads, frame_request
from tests.http_client import Answer, Running, read_answer

VENDORS = Path(__file__).parent.parent / "vendors"


class Client:
    """Client that keeps its connection as long as the server does."""

    def __init__(self, served: Running, vendor: str) -> None:
        self._served = served
        self._vendor = vendor
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, request: bytes) -> Answer:
        if self._writer is None:
            self._reader, self._writer = await connect(self._served, self._vendor)
        self._writer.write(request)
        answer = await read_answer(self._reader)
        kept = (answer.header("connection") or "").lower()
        if kept == "close" or (b" HTTP/1.0\r\n" in request and kept != "keep-alive"):
            self.close()
        return answer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


async def begin_anew(served: Running, scenario: str) -> None:
    """Empty journal and state; a clock that has moved is replaced together with the scenario."""
    if scenario == PACED:
        await served.ask("front", "/_emulator/scenario", scenario.encode(), method="PUT")
    await served.ask("front", "/_emulator/reset", method="POST")


def picture(served: Running) -> dict[str, object]:
    """Return the latest journal entry without its sequence numbers."""
    entry = [*served.built.journal][-1]
    assert entry.payload is not None
    request = entry.payload.request
    asked = (request.body, dict(request.headers), dict(request.query), request.key, request.principal, request.attempt)
    figures = {
        **look(
            entry,
            "attempts",
            "build_payload",
            "_shown",
            "evidence",
            "seq",
            "start_seq",
            "real_start",
            "real_end",
            "connection",
        ),
        "summary": entry.summary,
    }
    return {**figures, **look(entry.payload, "request", "size", "encode_stream"), "request": asked}


def look(value: JournalEntry | Payload, *but: str) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.name not in but}


PACED = "version: 1\nclock: instant\nlatency: {ttft: 100ms, itl: 20ms}\n"
RULED = """
version: 1
clock: frozen
rules: [{name: other, when: {prompt: {contains: nothing like it}}, reply: {text: Other.}}]
limits: [{per: principal, unit: tokens, amount: 1000000, window: 1m}]
"""


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param("version: 1\nclock: frozen\n", id="at once"),
        pytest.param(PACED, id="paced", marks=pytest.mark.slow),
        pytest.param(RULED, id="ruled", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("vendor", ["databricks", "azure", "mindie", "tgi", "openvino"])
async def test_remembered_and_parsed_heads_give_the_same_bytes(start: Start, vendor: str, scenario: str) -> None:
    """Each golden request is sent twice: its head is parsed, then remembered."""
    served = await start(scenario)
    client = Client(served, vendor)
    host = urlsplit(served.urls[vendor]).netloc
    requests = []
    for path in sorted((VENDORS / vendor / "golden").glob("*.http")):
        head, body = read_request(path)
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        lines = head.replace("\n", "\r\n") + "\r\n"
        requests.append((path.name, f"{lines}Host: {host}\r\n{length}\r\n".encode(), body))
    heads = find_heads(served, vendor)
    kept = dict(heads)
    seen: dict[str, object] = {}
    for remembered in (False, True):
        await begin_anew(served, scenario)
        heads.update(kept)
        for name, end, body in requests:
            assert (end in heads) is remembered, name
            answer = await client.ask(end + body)
            found = answer.head, answer.chunks, answer.body, picture(served)
            assert seen.setdefault(name, found) == found, name
            if not remembered:
                kept.update(heads)
                heads.clear()
    client.close()


FIELDS = (
    *("method", "path", "query", "headers", "params", "principal", "session", "base_url", "key_suffix", "head_size"),
    "body",
)
Seen = dict[str, object]


def watch(seen: list[Seen]) -> Callable[[Request, ToyService], Response]:
    """Return a parser that adds the fields of each request to ``seen``."""

    def parse(request: Request, service: ToyService) -> Response:
        found: Seen = {name: getattr(request, name) for name in FIELDS}
        for name in ("query", "headers", "params"):
            values = getattr(request, name)
            found[name] = [*values.items()]
        seen.append(found)
        return Response(200, b"{}", (("Content-Type", "application/json"),))

    return parse


def watched(seen: list[Seen]) -> AnyEndpoint:
    return Endpoint(method="*", path="/seen/{name}", parse=watch(seen))


LETTERS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?/ %"), max_size=6)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8).map(str.strip)
LINES = st.sampled_from(
    [
        *("Connection: close", "Connection: keep-alive", "connection: Close", "x-emulator-session: b", "X-Key: k~c"),
        *("x-key: other", "api-key: k~d", "Authorization: Bearer k~e", "baggage: emulator.session=f", "Accept: */*"),
        *("Content-Type: application/json", "x-emulator-timing: 1", "Keep-Alive: 3", "Cookie: a=b; c=d"),
    ]
)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Draw a request whose head may be remembered."""
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]))
    prefix = draw(st.sampled_from(["", "", "/_s/a"]))
    name = draw(LETTERS | st.sampled_from(["%20", "a%2Fb", "%C3%A9", "%zz", "a+b", "."])) or "n"
    query = draw(st.sampled_from(["", "", "?", "?a=b", "?a=b&a=c", "?a", "?=b", "?a=%20+&key=k", "?%C3%A9=%zz"]))
    version = draw(st.sampled_from(["1.1", "1.1", "1.0"]))
    host = draw(st.sampled_from(["x", "localhost:4011", "a.localhost:4011"]))
    lines = [f"Host: {host}", *draw(st.lists(LINES, max_size=4)), f"x-a: {draw(VALUES)}", "X-Key: k"]
    body = draw(st.sampled_from([b"", b"", b"{}", b"a\r\n\r\nGET / HTTP/1.1\r\n\r\n"]))
    if body or draw(st.booleans()):
        lines.append(f"{draw(st.sampled_from(['Content-Length', 'content-length']))}: {len(body)}")
    target = f"{prefix}/seen/{name}{query}"
    return "\r\n".join([f"{method} {target} HTTP/{version}", *lines, "", ""]).encode() + body


async def see(sent: list[bytes]) -> None:
    seen: list[Seen] = []
    vendor = replace(TOY, endpoints=(watched(seen), *TOY.endpoints))
    async with running(FROZEN + "keys: [{token: k, principal: ann}]\n", vendors=[vendor]) as served:
        client = Client(served, "toy")
        for request in sent:
            answers, found = [], []
            for remembered in (False, True, True):
                end = request.index(b"\r\n\r\n") + 4
                assert (request[:end] in find_heads(served, "toy")) is remembered
                seen.clear()
                answer = await client.ask(request)
                ids = [line for line in answer.head.split(b"\r\n") if not line.startswith(b"x-emulator-request-id")]
                answers.append((ids, answer.body))
                found.append([*seen])
            assert answers[0] == answers[1] == answers[2]
            assert found[0] == found[1] == found[2]
            assert len(found[0]) <= 1
            assert len(found[0]) == (answer.status == 200)
            find_heads(served, "toy").clear()
        client.close()


@given(st.lists(requests(), min_size=4, max_size=8))
def test_a_remembered_head_gives_the_request_that_the_parser_gives(sent: list[bytes]) -> None:
    asyncio.run(see(sent))


POST = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n"
GET = "GET /api/2.0/serving-endpoints HTTP/1.1\r\nHost: x\r\n"
KEPT = [
    pytest.param(POST + "Content-Length: 2\r\n\r\n{}", 1, id="a body"),
    pytest.param(GET + "\r\n", 1, id="no body"),
    pytest.param(GET.replace("1.1", "1.0") + "\r\n", 1, id="an old client's"),
    pytest.param(GET + "Connection: close\r\n\r\n", 1, id="the last of its connection"),
    pytest.param(GET + "x-emulator-fault: status; status=222\r\n\r\n", 1, id="with a fault"),
    pytest.param("GET /_emulator/ready HTTP/1.1\r\nHost: x\r\n\r\n", 1, id="to the control API"),
    pytest.param(POST + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 0, id="chunks"),
    pytest.param(POST + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", 0, id="one that asks first"),
    pytest.param(GET + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 0, id="another protocol"),
    pytest.param(GET + f"x-a: {'a' * 5000}\r\n\r\n", 0, id="a long one"),
    pytest.param(GET + "\r\n" + GET + "\r\n", 0, id="two at once"),
    pytest.param(GET + "\r\n" + GET, 0, id="one and a half"),
    pytest.param(GET + "no header\r\n\r\n", 0, id="a broken one"),
    pytest.param(GET.replace("1.1", "2.0") + "\r\n", 0, id="of a version that is not spoken"),
]


@pytest.mark.parametrize(("data", "count"), KEPT)
async def test_which_heads_are_remembered(start: Start, data: str, count: int) -> None:
    served = await start()
    _, writer = await connect(served)
    writer.write(data.encode())
    writer.write_eof()
    while not served.clients:
        await asyncio.sleep(0)
    while served.clients:
        await asyncio.sleep(0)
    assert [*find_heads(served)] == [data.encode()[: data.index("\r\n\r\n") + 4]] * count
    writer.close()


async def test_remembered_heads_are_bounded(start: Start) -> None:
    served = await start(vendors=[TOY])
    client = Client(served, "toy")
    for number in range(1100):
        await client.ask(b"GET /open HTTP/1.1\r\nHost: x\r\nX: %d\r\n\r\n" % number)
    assert len(find_heads(served, "toy")) <= 1024
    client.close()


async def test_the_rest_of_a_head_is_no_head(start: Start) -> None:
    """A value of a header that looks like a request is never taken for one: another client may send it."""
    served = await start(vendors=[TOY])
    inner = b"GET /open HTTP/1.1\r\nHost: x\r\n\r\n"
    reader, writer = await connect(served, "toy")
    while not served.clients:
        await asyncio.sleep(0)
    (connection,) = served.clients
    connection.data_received(b"GET /echo HTTP/1.1\r\nx-key: k\r\nx-b: ")
    connection.data_received(inner)
    assert (await read_answer(reader)).json()["path"] == "/echo"
    assert not find_heads(served, "toy")
    writer.write(inner)
    assert (await read_answer(reader)).json()["path"] == "/open"
    writer.close()


@pytest.mark.parametrize("target", ["", "?session=mine"], ids=["the server's", "the session's"])
async def test_another_scenario_is_heard_of(start: Start, target: str) -> None:
    served = await start()
    client = Client(served, "databricks")
    request = frame_request(chat(), HEAD + "x-emulator-session: mine\r\n")
    for _ in range(2):
        assert (await client.ask(request)).status == 200
    rule = b"version: 1\nrules: [{name: busy, error: {kind: overloaded}}]\n"
    await served.ask("front", f"/_emulator/scenario{target}", rule, method="PUT")
    assert (await client.ask(request)).status == 503
    client.close()


async def test_a_document_that_is_kept_is_heard_of(start: Start) -> None:
    served = await start()
    client = Client(served, "databricks")
    path = f"/api/2.0/serving-endpoints/{MODEL}"
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\n\r\n".encode()
    assert [(await client.ask(request)).json().get("tags") for _ in range(2)] == [None, None]
    tags = {"add_tags": [{"key": "team", "value": "tides"}]}
    await served.ask("databricks", f"{path}/tags", tags, method="PATCH", headers={"Authorization": "Bearer k"})
    assert (await client.ask(request)).json()["tags"] == tags["add_tags"]
    client.close()


async def test_a_session_that_ended_begins_anew(start: Start) -> None:
    served = await start()
    client = Client(served, "databricks")
    request = frame_request(chat(), HEAD + "x-emulator-session: mine\r\n")
    first = [await client.ask(request) for _ in range(3)]
    await served.ask("front", "/_emulator/sessions/mine", method="DELETE")
    again = [await client.ask(request) for _ in range(3)]
    assert [(each.head, each.body) for each in again] == [(each.head, each.body) for each in first]
    client.close()


async def test_attempts_are_counted_over_remembered_and_parsed_heads(start: Start) -> None:
    served = await start()
    answers = []
    for number in range(6):
        answers.append(await served.send("databricks", HEAD.encode(), chat()))
        if number % 2:
            find_heads(served).clear()
    assert [entry.attempt for entry in served.built.journal] == [1, 2, 3, 4, 5, 6]
    assert len({answer.header("x-emulator-request-id") for answer in answers}) == 6
    assert len({answer.json()["choices"][0]["message"]["content"] for answer in answers}) == 1


async def test_heads_that_differ_by_a_letter_are_distinct_on_one_connection(start: Start) -> None:
    """The heads are shorter, longer or have another credential than the remembered ones."""
    served = await start("keys: [{token: key-a, principal: ann}, {token: key-b, principal: bob}]")
    heads = [f"POST {CHAT} HTTP/1.1\r\nAuthorization: Bearer {end}\r\n" for end in ("key-a", "key-b", "key-a\r\nX: 1")]
    client = Client(served, "databricks")
    order = (0, 0, 1, 2, 0, 2, 1, 1)
    for place, number in enumerate(order):
        assert (await client.ask(frame_request(chat(f"Question {place}"), heads[number]))).status == 200
    client.close()
    assert len(find_heads(served)) == 3
    entries = [*served.built.journal]
    assert [entry.principal for entry in entries] == [("ann", "bob", "ann")[number] for number in order]
    lines = [len(entry.payload.request.headers) for entry in entries if entry.payload is not None]
    assert lines == [(3, 3, 4)[number] for number in order]
