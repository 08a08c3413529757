"""Methods that aiohttp's compiled parser does not know: the vendor answers them as its server does.

Sources, by vendor: TGI: hyper 1.6 and 0.14 take any token, and axum's router answers 405 or 404. MindIE: cpp-httplib
0.30, ``httplib.h`` (Server::parse_request_line). OpenVINO: drogon, ``lib/src/HttpRequestParser.cc``. Azure and
Databricks are unverified: they answer as to any other method that a path does not have.
"""

import pytest

from tests.conftest import Start
from tests.http.calls import find_heads
from tests.http_client import read_answer

KEY = "Authorization: Bearer dapi1\r\n"
COORDINATOR = "version: 1\nvendors: {mindie: {coordinator: true}}\n"
OLD_OVMS = "version: 1\nvendors: {openvino: {profile: '2024.2'}}\n"
OLD_TGI = "version: 1\nvendors: {tgi: {profile: '0.9.4'}}\n"


@pytest.mark.parametrize(
    ("scenario", "vendor", "line", "status", "closes"),
    [
        pytest.param("", "tgi", "BREW /generate", 405, False, id="tgi: known path"),
        pytest.param("", "tgi", "BREW /nothing", 404, False, id="tgi: unknown path"),
        pytest.param("", "tgi", "get /health", 405, False, id="tgi: methods are case-sensitive"),
        pytest.param("", "tgi", "!#$%&'*+-.^_`|~9 /generate", 405, False, id="tgi: any token"),
        pytest.param(OLD_TGI, "tgi", "BREW /v1/completions", 404, False, id="tgi 0.9.4: unknown path"),
        pytest.param(OLD_TGI, "tgi", "BREW /generate", 405, False, id="tgi 0.9.4: known path"),
        pytest.param("", "mindie", "BREW /generate", 400, True, id="mindie"),
        pytest.param("", "mindie", "PROPFIND /generate", 400, True, id="mindie: known to HTTP, not to its library"),
        pytest.param("", "mindie", "TRACE /generate", 404, True, id="mindie: known to its library"),
        pytest.param(COORDINATOR, "mindie", "BREW /generate", 400, True, id="mindie: a Coordinator"),
        pytest.param("", "openvino", "BREW /v3/completions", 405, True, id="openvino"),
        pytest.param("", "openvino", "TRACE /v3/completions", 405, True, id="openvino: known to HTTP alone"),
        pytest.param("", "openvino", "PUT /v3/completions", 406, False, id="openvino: known to its library"),
        pytest.param(OLD_OVMS, "openvino", "BREW /v3/completions", 406, False, id="openvino: another library"),
        pytest.param("", "azure", "BREW /openai/v1/chat/completions", 405, False, id="azure"),
        pytest.param("", "databricks", "BREW /api/2.0/serving-endpoints", 405, False, id="databricks"),
    ],
)
async def test_vendor_answers_unknown_methods(
    start: Start, scenario: str, vendor: str, line: str, status: int, closes: bool
) -> None:
    served = await start(scenario)
    answer = await served.send(vendor, f"{line} HTTP/1.1\r\n{KEY}".encode(), b"{}")
    assert answer.status == status, answer
    assert (answer.header("connection") == "close") is closes
    if closes and not scenario:
        assert not answer.body


async def test_connection_stays_open_after_unknown_method(start: Start) -> None:
    """The body is framed as usual, the head may come in parts, and is remembered with its method."""
    served = await start()
    reader, writer = await served.connect("tgi")
    statuses = []
    for part in (b"BR", b"EW /generate HTTP/1.1\r\nHost: x\r\n"):
        writer.write(part)
        await writer.drain()
    writer.write(b"Content-Length: 2\r\n\r\n{}GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    for _ in range(2):
        statuses.append((await read_answer(reader)).status)
    for _ in range(2):
        writer.write(b"brew /health HTTP/1.1\r\nHost: x\r\n\r\n")
        statuses.append((await read_answer(reader)).status)
    writer.close()
    assert statuses == [405, 200, 405, 405]
    heads = find_heads(served, "tgi").values()
    assert [head.method for head in heads] == ["brew"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"BR@W / HTTP/1.1\r\nHost: x\r\n\r\n", id="no token"),
        pytest.param(b"BREW / HTTP/2.0\r\nHost: x\r\n\r\n", id="another version"),
        pytest.param(b"BREW /\r\nHost: x\r\n\r\n", id="no version"),
        pytest.param(b"BREW / HTTP/1.1\r\nHost: x\r\nbad\r\n\r\n", id="a header without a colon"),
        pytest.param(
            b"BREW / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="two lengths",
        ),
        pytest.param(b"BREW / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}", id="a length that is no number"),
    ],
)
async def test_malformed_request_with_unknown_method_is_refused(start: Start, data: bytes) -> None:
    served = await start()
    reader, writer = await served.connect("tgi")
    writer.write(data)
    answer = await read_answer(reader)
    writer.close()
    assert (answer.status, answer.header("connection")) == (400, "close")
