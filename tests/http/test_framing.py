"""Framing under every fault: a connection that stays open delivers the next response intact."""

import asyncio
from itertools import product
from typing import get_args

import pytest

from emulator.faults import AnyFault
from tests.conftest import Start
from tests.http_client import Running, read_answer

pytestmark = pytest.mark.slow

_INSTANT = "version: 1\nname: framing\nclock: instant\n"
_FAULTS = (
    "",
    "disconnect",
    "disconnect; after_tokens=2",
    "truncate; after_tokens=2",
    "stall; for=1s; after_tokens=1",
    "hang; for=1s",
    "hang; for=1s; after_tokens=2",
    "drip; bytes_per_second=1000",
    "late_error; after_tokens=2",
    "garbage",
    "drop; field=usage",
    "drop; events=[done]",
    "duplicate",
    "reorder",
    "wrong_usage",
    "wrong_content_type",
    "bad_arguments; how=truncated",
    "empty_body",
    "extra_fields",
    "split; writes=byte",
    "split; writes=across",
)
_ENDING = ("disconnect", "hang")  # they end the connection instead of keeping it
_STATUSES = (0, 204, 304, 502)
_CONNECTIONS = (("1.1", ""), ("1.1", "Connection: close\r\n"), ("1.0", "Connection: keep-alive\r\n"))
_ANSWERS = ("whole", "streamed", "refused")
_CALLS = {
    "azure": "/chat/completions?api-version=2024-05-01-preview",
    "databricks": "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations",
    "mindie": "/v1/chat/completions",
    "tgi": "/v1/chat/completions",
    "openvino": "/v3/chat/completions",
}


def _request(vendor: str, lines: str, version: str = "1.1", *, stream: bool = False) -> bytes:
    body = b'{"model":"%s","messages":[{"role":"user","content":"Hi"}],"max_tokens":6%s}' % (
        {"mindie": b"llama_65b", "openvino": b"llama3"}.get(vendor, b"tgi"),
        b',"stream":true' if stream else b"",
    )
    head = f"POST {_CALLS[vendor]} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer k\r\n{lines}"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _check_next(running: Running, vendor: str, first: bytes) -> bool:
    """Send a request, then another if the connection stays open; return whether it did."""
    reader, writer = await running.connect(vendor, limit=2**24)
    try:
        writer.write(first)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        asked = b"Connection: close" in first or (b" HTTP/1.0" in first and b"connection: keep-alive" not in head)
        if asked or b"connection: close" in head:
            await reader.read()
            return False
        await _read_body(reader, head)
        writer.write(_request(vendor, "x-second: 1\r\n"))
        answer = await read_answer(reader)
        assert answer.status == 200, (first, head, answer.head, answer.body)
        assert answer.json()["choices"], (first, head)
        return True
    finally:
        writer.close()


async def _read_body(reader: asyncio.StreamReader, head: bytes) -> None:
    """Read the body that follows a head, as every client would."""
    if head[9:12] in (b"204", b"304"):
        assert b"\r\ncontent-length" not in head
        assert b"\r\ntransfer-encoding" not in head
    elif b"\r\ntransfer-encoding: chunked" in head:
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await reader.readexactly(size + 2)
        assert await reader.readline() == b"\r\n"
    else:
        await reader.readexactly(int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]))


@pytest.mark.parametrize("vendor", _CALLS)
async def test_response_after_faulted_one_is_intact(start: Start, vendor: str) -> None:
    running = await start(_INSTANT)
    kept = 0
    for fault, status, (version, connection), kind in product(_FAULTS, _STATUSES, _CONNECTIONS, _ANSWERS):
        if connection and fault not in _FAULTS[:4]:
            continue
        faults = [*filter(None, [fault, f"status; status={status}" if status else ""])]
        lines = "".join(f"x-emulator-fault: {each}\r\n" for each in faults) + connection
        if kind == "refused":
            lines += "x-emulator-error: rate_limited" + (f"; status={status}" if status else "") + "\r\n"
        try:
            kept += await _check_next(running, vendor, _request(vendor, lines, version, stream=kind == "streamed"))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            assert fault.startswith(_ENDING), (lines, kind)
    assert kept or vendor == "mindie"  # which closes every connection


@pytest.mark.parametrize("vendor", ["azure", "tgi"])
async def test_response_after_doubly_faulted_one_is_intact(start: Start, vendor: str) -> None:
    running = await start(_INSTANT)
    for first, second, kind in product(filter(None, _FAULTS), filter(None, _FAULTS), _ANSWERS):
        lines = f"x-emulator-fault: {first}\r\nx-emulator-fault: {second}\r\n"
        if kind == "refused":
            lines += "x-emulator-error: rate_limited\r\n"
        try:
            await _check_next(running, vendor, _request(vendor, lines, stream=kind == "streamed"))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            assert (first + second).count("disconnect") + (first + second).count("hang"), (lines, kind)


def test_every_fault_is_covered() -> None:
    named = {fault.partition(";")[0] for fault in _FAULTS if fault} | {"status"}
    faults = get_args(get_args(AnyFault)[0])
    assert named == {get_args(fault.model_fields["type"].annotation)[0] for fault in faults}


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Keep-Alive", "Upgrade", "TE"])
async def test_framing_header_cannot_be_injected(start: Start, name: str) -> None:
    running = await start(_INSTANT)
    body = {"model": "tgi", "messages": [{"role": "user", "content": "Hi"}]}
    asked = {"x-emulator-error": f'rate_limited; headers={{"{name}":"3"}}'}
    answer = await running.ask("tgi", _CALLS["tgi"], body, headers=asked)
    assert answer.status == 400
    assert f"{name} says where the answer ends" in answer.json()["detail"]


@pytest.mark.parametrize("vendor", [*_CALLS])
async def test_injected_date_replaces_default(start: Start, vendor: str) -> None:
    running = await start(_INSTANT)
    asked = 'x-emulator-error: internal; headers={"date":"yesterday"}\r\n'
    reader, writer = await running.connect(vendor)
    writer.write(_request(vendor, asked))
    answer = await asyncio.wait_for(read_answer(reader), 10)
    writer.close()
    assert answer.status == 500
    assert [value for name, value in answer.headers if name.lower() == "date"] == ["yesterday"]
