"""No credential of a client is in any byte that the emulator outputs about its requests."""

import asyncio
import io
from collections.abc import Iterator

import pytest
from redis.asyncio import Redis

from emulator.observability.access_log import AccessLog
from tests.conftest import Start
from tests.control.asking import control
from tests.handler.shared import open_replicas, steer
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.redaction.table import ROWS, Row
from tests.report_page import read_details

pytestmark = pytest.mark.slow

RULES = """
rules:
  - {name: reads a query, when: {query.key: another-key-12}, reply: {text: a}}
  - {name: reads a form, when: {query.access_token: {prefix: another}}, reply: {text: a}}
  - {name: reads a member, when: {body.client_secret: another-secret}, reply: {text: a}}
  - {name: reads a variable, when: {body.environment_vars.HF_TOKEN: another-secret}, reply: {text: a}}
  - {name: reads a header, when: {header.x-auth-key: another-key-12}, reply: {text: a}}
  - {name: reads it in a tool, when: {"body.tools[0].headers.X-Auth-Token": another-secret}, reply: {text: a}}
  - {name: reads an address, when: {"body.tools[0].server_url": another-secret}, reply: {text: a}}
"""


async def send(running: Running, row: Row) -> None:
    lines = {"x-key": "k", "Content-Type": row.media, **row.headers}
    verb = "GET" if row.body is None else "POST"
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    await running.send("toy", f"{verb} {row.target} HTTP/1.1\r\n{head}".encode(), row.body or b"")


async def send_all(running: Running) -> None:
    for row in ROWS:
        await send(running, row)


def find_leaks(text: bytes) -> list[str]:
    """Return the rows of which more than the beginning is shown."""
    return [row.name for row in ROWS if row.marker.encode() in text]


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(f"journal: {{entries: 100000}}\n{RULES}", vendors=[TOY])


def unpack(page: bytes) -> bytes:
    """A report with what is packed in it."""
    details = read_details(page.decode())
    assert details
    return page + "".join(details).encode()


def test_every_table_row_contains_its_marker() -> None:
    assert len(ROWS) > 700
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        said = " ".join((row.target, *row.headers.values())).encode() + (row.body or b"")
        assert row.marker.encode() in said


async def test_control_plane_reveals_no_credential(toy: Running) -> None:
    await send_all(toy)
    answer = await control(toy, "GET", f"/requests?detail=true&limit={len(ROWS)}")
    assert answer.body.count(b'"id"') >= len(ROWS)
    assert find_leaks(answer.body) == []
    entries = answer.json()["requests"]
    for entry in entries[:: len(entries) // 40]:
        assert find_leaks((await control(toy, "GET", f"/requests/{entry['id']}")).body) == []
    for path in ("/requests", "/rules", "/sessions", "/metrics", "/status", "/limits", "/scenario"):
        assert find_leaks((await control(toy, "GET", path)).body) == [], path
    assert find_leaks(unpack((await control(toy, "POST", "/report", {})).body)) == []


async def test_events_reveal_no_credential(toy: Running) -> None:
    await send_all(toy)
    reader, writer = await toy.connect("toy")
    writer.write(b"GET /_emulator/events?since=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    heard = b""
    async with asyncio.timeout(60):
        while heard.count(b"data: ") < len(ROWS):
            part = await reader.read(2**20)
            assert part, heard
            heard += part
    writer.close()
    await writer.wait_closed()
    assert find_leaks(heard) == []


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "JSON"])
async def test_log_reveals_no_credential(toy: Running, as_json: bool) -> None:
    stream = io.StringIO()
    log = AccessLog(as_json=as_json, stream=stream, colour=False, folds=True)
    toy.built.journal.listeners.append(log)
    await send_all(toy)
    log.flush()
    assert stream.getvalue().count("/echo") >= len(ROWS)
    assert find_leaks(stream.getvalue().encode()) == []


async def test_spans_reveal_no_credential(start: Start) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    from tests.observability.test_spans import Collector

    collector = Collector()
    running = await start(RULES, vendors=[TOY], spans=collector.spans)
    await send_all(running)
    assert len(collector.heard) == len(ROWS)
    assert find_leaks("".join(span.to_json() for span in collector.heard).encode()) == []


async def dump(address: str) -> bytes:
    """All that a store holds: names of keys and what they have."""
    parts: list[bytes] = []
    async with Redis.from_url(address) as server:
        async for key in server.scan_iter():
            parts.append(bytes(key) + bytes(await server.dump(key) or b""))
            if await server.type(key) == b"list":
                listed = await server.lrange(key, 0, -1)
                parts.extend(text if isinstance(text, bytes) else text.encode() for text in listed)
    return b"\n".join(parts)


async def test_store_holds_no_credential(server_url: str) -> None:
    async with open_replicas(f"{server_url}?prefix=redaction", f"version: 1\n{RULES}", count=2) as (one, other):
        await send_all(one)
        listed = await steer(other, "GET", "/requests?detail=true&limit=10000")
        assert listed.body.count(b'"id"') >= len(ROWS)
        assert find_leaks(listed.body) == []
        held = await dump(server_url)
    assert b"/echo" in held
    assert find_leaks(held) == []


def list_texts(toy: Running) -> Iterator[str]:
    """What memory keeps of calls, once it was read."""
    for entry in toy.built.journal:
        kept = entry.payload
        assert kept is not None
        request = kept.request
        yield " ".join(map(str.__str__, (*request.headers.values(), *request.query.values())))
        yield request.body.decode("utf-8", "replace") + (kept.body or b"").decode() + repr(entry.explain())


async def test_journal_memory_holds_no_credential(toy: Running) -> None:
    await send_all(toy)
    assert find_leaks("\n".join(list_texts(toy)).encode()) == []


TEMPLATES = (
    *("{query.key}", "{query.access_token}", "{header.authorization}", "{header.x-auth-key}", "{body.client_secret}"),
    *("{body.headers}", "{body.credentials.key}", "{body.tools[0].server_url}", "{header.referer}"),
    *("{body.pairs[0].value}", "{body.text}", "{header.cookie}"),
)


@pytest.mark.parametrize("template", TEMPLATES)
async def test_templates_reveal_no_credential(start: Start, template: str) -> None:
    toy = await start(f"rules: [{{name: says, reply: {{text: 'It is {template}.', template: true}}}}]\n", vendors=[TOY])
    secret = "zqx1-MARKER-tail"
    address = f"https://u:{secret}@h/?token={secret}"
    body = {
        **{"prompt": "Hi", "max": 50, "client_secret": secret, "headers": {"x-auth-key": secret}},
        **{"credentials": {"key": secret}, "tools": [{"server_url": address}], "text": f'{{"password": "{secret}"}}'},
        "pairs": [{"name": "Authorization", "value": secret}],
    }
    headers = {"x-key": "k", "Authorization": f"Bearer {secret}", "x-auth-key": secret, "Cookie": f"a={secret}"}
    answer = await toy.ask(
        "toy", f"/chat?key={secret}&access_token={secret}", body, headers={**headers, "Referer": address}
    )
    assert b"It is " in answer.body
    assert b"It is ." not in answer.body
    assert b"MARKER" not in answer.body
