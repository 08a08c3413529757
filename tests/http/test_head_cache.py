"""Fast path: the same bytes and journal entries as the general path, for eligible requests only."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from emulator.http.compact_record import CompactRecord
from emulator.http.head_cache import is_bare, read_frame

from emulator.journal.record import JournalEntry, Payload
from tests.conftest import Start
from tests.golden import read_request
from tests.http_client import Answer, Running, read_answer

VENDORS = Path(__file__).parent.parent / "vendors"
CHAT = "/serving-endpoints/chat/completions"
HEAD = f"POST {CHAT} HTTP/1.1\r\nAuthorization: Bearer key-of-mine\r\n"
MODEL = "databricks-meta-llama-3-3-70b-instruct"


def chat(text: str = "What is a tide?", **more: object) -> bytes:
    return json.dumps({"model": MODEL, "messages": [{"role": "user", "content": text}], **more}).encode()


def is_short(running: Running) -> bool:
    """Return whether the fast path handled the latest call."""
    return isinstance(running.built.journal.list_calls()[-1], CompactRecord)


async def warm(running: Running, head: str = HEAD, vendor: str = "databricks") -> None:
    for _ in range(2):
        await running.send(vendor, head.encode(), b'{"warm": true}')


async def ask_both_ways(
    running: Running, vendor: str, head: str, body: bytes, scenario: str
) -> tuple[Answer, Answer, bool]:
    """Return the responses of both paths to the same calls, after comparing their journal entries."""
    long = await running.send(vendor, head.encode(), body)
    before = picture(running)
    await begin_anew(running, scenario)
    await warm(running, head, vendor)
    taken = running.taken
    short = await running.send(vendor, head.encode(), body)
    assert picture(running) == before
    await begin_anew(running, scenario)
    return long, short, running.taken > taken


async def begin_anew(running: Running, scenario: str) -> None:
    """Restart the scenario with a fresh clock and an empty journal."""
    await running.ask("front", "/_emulator/scenario", scenario.encode(), method="PUT")
    await running.ask("front", "/_emulator/reset", method="POST")


def picture(running: Running) -> dict[str, object]:
    """Return the latest journal entry without its sequence numbers."""
    entry = [*running.built.journal][-1]
    assert entry.payload is not None
    request = entry.payload.request
    asked = (request.body, dict(request.headers), dict(request.query), request.key, request.principal, request.attempt)
    figures = {
        **look(entry, "attempts", "build_payload", "_shown", "evidence", "seq", "start_seq"),
        "summary": entry.summary,
    }
    return {**figures, **look(entry.payload, "request", "size"), "request": asked}


def look(value: JournalEntry | Payload, *but: str) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.name not in but}


PACED = "version: 1\nclock: instant\nlatency: {ttft: 100ms, itl: 20ms}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "least"),
    [pytest.param("version: 1\nclock: frozen\n", 4, id="at once"), pytest.param(PACED, 4, id="paced")],
)
@pytest.mark.parametrize("vendor", ["databricks", "azure", "mindie", "tgi", "openvino"])
async def test_both_roads_give_the_same_bytes(start: Start, vendor: str, scenario: str, least: int) -> None:
    running = await start(scenario)
    took = 0
    for path in sorted((VENDORS / vendor / "golden").glob("*.http")):
        head, body = read_request(path)
        if body:
            long, short, was_short = await ask_both_ways(
                running, vendor, head.replace("\n", "\r\n") + "\r\n", body, scenario
            )
            assert (short.head, short.chunks, short.body) == (long.head, long.chunks, long.body), path.name
            took += was_short
    assert took >= least or (vendor, scenario) == ("mindie", PACED)  # whose calls have names to stop them by


TAKEN = [
    pytest.param("", HEAD, chat(), id="a chat"),
    pytest.param("", HEAD, chat(stream=True), id="a stream"),
    pytest.param("", HEAD + "x-emulator-session: mine\r\n", chat(), id="a chat of a session"),
    pytest.param("", HEAD + "Connection: keep-alive\r\n", chat(), id="of a client that says it stays"),
    pytest.param("", HEAD + "x-anything: else\r\n", chat(max_tokens=7, stop="a"), id="with knobs"),
    pytest.param("", HEAD.replace("completions", "completions?a=b&key=secret"), chat(), id="with a query"),
    pytest.param("journal: {bodies: none}", HEAD, chat(), id="without bodies in the journal"),
    pytest.param("clock: instant\nlatency: {itl: 1ms}", HEAD, chat(stream=True), id="a stream that takes its time"),
    pytest.param("clock: instant\nlatency: {ttft: 1ms}", HEAD, chat(), id="a chat that takes its time"),
]
LEFT = [
    pytest.param("", HEAD, chat(stream=True, logprobs=True), id="a stream of another kind"),
    pytest.param("", HEAD, b"{}", id="a refusal"),
    pytest.param("", HEAD, b"{", id="no JSON"),
    pytest.param("", HEAD + "Connection: close\r\n", chat(), id="the last of its connection"),
    pytest.param("", HEAD + "Connection: Upgrade\r\nUpgrade: h2c\r\n", chat(), id="that wants another protocol"),
    pytest.param("", HEAD + "x-emulator-fault: stall\r\n", chat(), id="with a fault"),
    pytest.param("", HEAD + "x-emulator-timing: 1\r\n", chat(), id="that is timed"),
    pytest.param("", HEAD.replace("HTTP/1.1", "HTTP/1.0"), chat(), id="of an old client"),
    pytest.param("rules: [{name: busy, error: {kind: overloaded}}]", HEAD, chat(), id="where there is a rule"),
    pytest.param("limits: [{unit: requests, amount: 5, window: 1m}]", HEAD, chat(), id="where there is a limit"),
    pytest.param("strict: true", HEAD, chat(), id="where nothing is taken without a rule"),
    pytest.param("journal: {bodies: 10B}", HEAD, chat(), id="of which the journal keeps but a part"),
]


@pytest.mark.parametrize(("scenario", "head", "body"), TAKEN)
async def test_is_taken(start: Start, scenario: str, head: str, body: bytes) -> None:
    running = await start(f"version: 1\n{scenario}\n" if "clock" in scenario else scenario)
    await warm(running, head)
    taken = running.taken
    answer = await running.send("databricks", head.encode(), body)
    assert answer.status == 200
    assert running.taken == taken + 1


def test_the_openai_client_is_usual(live: Running) -> None:
    openai = pytest.importorskip("openai")
    before = live.built.journal.latest
    with openai.OpenAI(base_url=f"{live.urls['databricks']}/serving-endpoints", api_key="key") as client:
        for number in range(4):
            said = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": f"Hi {number}"}])
            assert said.choices[0].message.content
    recorded = [call for call in live.built.journal.list_calls(None) if call.seq > before]
    assert [isinstance(call, CompactRecord) for call in recorded] == [False, False, True, True]


@pytest.mark.parametrize(("scenario", "head", "body"), LEFT)
async def test_is_left_to_the_long_road(start: Start, scenario: str, head: str, body: bytes) -> None:
    running = await start(f"version: 1\n{scenario}\n" if "clock" in scenario else scenario)
    await warm(running, head)
    await running.send("databricks", head.encode(), body)
    assert not is_short(running)


async def test_attempts_are_counted_over_both_roads(start: Start) -> None:
    running = await start()
    answers = [await running.send("databricks", HEAD.encode(), chat()) for _ in range(5)]
    assert is_short(running)
    assert [entry.attempt for entry in running.built.journal] == [1, 2, 3, 4, 5]
    assert len({answer.header("x-emulator-request-id") for answer in answers}) == 5
    assert len({answer.json()["choices"][0]["message"]["content"] for answer in answers}) == 1


@pytest.mark.slow
async def test_calls_that_come_again_are_remembered_up_to_a_bound(start: Start) -> None:
    running = await start()
    await warm(running)
    for number in range(600):
        for _ in range(2):
            await running.send("databricks", HEAD.encode(), chat(f"Again {number}", max_tokens=1))
    assert len(running.built.runtime.active.apps["databricks"]._reader.memo._cached) == 512


async def test_what_is_never_for_it_is_tried_no_longer(start: Start) -> None:
    running = await start()
    await warm(running)
    for _ in range(20):
        assert (await running.send("databricks", HEAD.encode(), b"{}")).status == 400
    await running.send("databricks", HEAD.encode(), chat())
    assert not is_short(running)


async def test_another_scenario_is_heard_of(start: Start) -> None:
    running = await start()
    await warm(running)
    assert (await running.send("databricks", HEAD.encode(), chat())).status == 200
    rule = b"version: 1\nrules: [{name: busy, error: {kind: overloaded}}]\n"
    await running.ask("front", "/_emulator/scenario", rule, method="PUT")
    assert (await running.send("databricks", HEAD.encode(), chat())).status == 503


async def test_a_session_with_its_own_scenario_is_heard_of(start: Start) -> None:
    running = await start()
    head = HEAD + "x-emulator-session: mine\r\n"
    await warm(running, head)
    await running.send("databricks", head.encode(), chat())
    assert is_short(running)
    rule = b"version: 1\nrules: [{name: busy, error: {kind: overloaded}}]\n"
    await running.ask("front", "/_emulator/scenario?session=mine", rule, method="PUT")
    assert (await running.send("databricks", head.encode(), chat())).status == 503


async def test_a_document_that_is_kept_is_heard_of(start: Start) -> None:
    running = await start()
    await warm(running)
    await running.send("databricks", HEAD.encode(), chat())
    assert is_short(running)
    tags = {"add_tags": [{"key": "team", "value": "tides"}]}
    path = f"/api/2.0/serving-endpoints/{MODEL}/tags"
    await running.ask("databricks", path, tags, method="PATCH", headers={"Authorization": "Bearer key-of-mine"})
    await running.send("databricks", HEAD.encode(), chat())
    assert not is_short(running)


Cut = Callable[[bytes], list[bytes]]
CUTS: list[object] = [
    pytest.param(lambda data: [data], id="in one piece"),
    pytest.param(
        lambda data: [data[: data.index(b"\r\n\r\n") + 4], data[data.index(b"\r\n\r\n") + 4 :]], id="head, body"
    ),
    pytest.param(lambda data: [data[:-5], data[-5:-3], data[-3:]], id="a body in three"),
    pytest.param(lambda data: [data[:20], data[20:]], id="a head in two"),
    pytest.param(lambda data: [data[n : n + 1] for n in range(len(data))], id="byte by byte"),
]


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
async def test_a_request_that_comes_in_pieces(start: Start, cut: Cut) -> None:
    """Each request gets its own response, on either path, on one connection."""
    running = await start()
    await warm(running)
    url = urlsplit(running.urls["databricks"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    for number in range(4):
        body = chat(f"Question {number}")
        head = f"{HEAD}Host: {url.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
        for piece in cut(head.encode() + body):
            writer.write(piece)
            await asyncio.sleep(0.001)
        assert (await read_answer(reader)).status == 200
    writer.close()
    asked = [entry.payload.request.body for entry in running.built.journal if entry.payload is not None]
    assert asked[-4:] == [chat(f"Question {number}") for number in range(4)]


async def test_requests_that_come_together_are_answered_in_order(start: Start) -> None:
    running = await start()
    await warm(running)
    url = urlsplit(running.urls["databricks"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    requests = []
    for number in range(5):
        body = chat(f"Question {number}")
        requests.append(f"{HEAD}Host: {url.netloc}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    for data in (requests[0], requests[1] + requests[2] + requests[3][:-10], requests[3][-10:], requests[4]):
        writer.write(data)
        await asyncio.sleep(0.001)
    ids = [(await read_answer(reader)).header("x-emulator-request-id") for _ in range(5)]
    writer.close()
    assert ids == [entry.id for entry in [*running.built.journal][-5:]]


async def test_heads_that_differ_by_a_letter_are_told_apart_on_one_connection(start: Start) -> None:
    """The heads are shorter, longer or have another credential than the cached one."""
    running = await start("keys: [{token: key-a, principal: ann}, {token: key-b, principal: bob}]")
    heads = [f"POST {CHAT} HTTP/1.1\r\nAuthorization: Bearer {end}\r\n" for end in ("key-a", "key-b", "key-a\r\nX: 1")]
    for head in heads:
        await warm(running, head)
    url = urlsplit(running.urls["databricks"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    for number in (0, 0, 1, 2, 0, 2, 1, 1):
        body = chat(f"Question {number}")
        writer.write(f"{heads[number]}Host: {url.netloc}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        async with asyncio.timeout(20):
            assert (await read_answer(reader)).status == 200
    writer.close()
    latest = [*running.built.journal][-8:]
    assert [entry.principal for entry in latest] == ["ann", "ann", "bob", "ann", "ann", "ann", "bob", "bob"]
    assert [len(entry.payload.request.headers) for entry in latest if entry.payload is not None] == [
        3,
        3,
        3,
        4,
        3,
        4,
        3,
        3,
    ]


async def test_a_body_that_never_comes_whole_is_nobodys_loss(start: Start) -> None:
    running = await start()
    await warm(running)
    url = urlsplit(running.urls["databricks"])
    _, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(f"{HEAD}Host: {url.netloc}\r\nContent-Length: 100\r\n\r\n{{".encode())
    await asyncio.sleep(0.001)
    writer.close()
    await writer.wait_closed()
    assert (await running.send("databricks", HEAD.encode(), chat())).status == 200


FRAMES = [
    pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 2\r\nA: b\r\n\r\n{}", (44, 46), id="the usual spelling"),
    pytest.param(b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{", (38, 40), id="lower case, and half a body"),
    pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n", None, id="half a head"),
    pytest.param(b"POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n{}", None, id="a sign"),
    pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 1234567890\r\n\r\n{}", None, id="a huge body"),
    pytest.param(b"POST / HTTP/1.1\r\nA: Content-Length: 2\r\n\r\n{}", None, id="a length inside a value"),
    pytest.param(b"POST / HTTP/1.1\r\n\r\nContent-Length: 2\r\n\r\n", None, id="a length inside the body"),
]


@pytest.mark.parametrize(("data", "places"), FRAMES)
def test_the_frame_of_a_request(data: bytes, places: tuple[int, int] | None) -> None:
    found = read_frame(data)
    assert (None if found is None else found[2:]) == places


BARE = [
    pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n\r\n", True, id="a head alone"),
    pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n\r\nG", False, id="and one letter more"),
    pytest.param(b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", False, id="chunks are to come"),
    pytest.param(b"GET / HTTP/1.1\r\nCONTENT-LENGTH : 3\r\n\r\n", False, id="a body is to come"),
    pytest.param(b"GET / HTTP/1.1\r\n", False, id="half a head"),
]


@pytest.mark.parametrize(("data", "is_whole"), BARE)
def test_a_request_without_a_body(data: bytes, is_whole: bool) -> None:
    assert is_bare(data) is is_whole
