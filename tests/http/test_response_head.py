"""Response heads: one line per header, and no scripts in a page."""

from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.vendor import Endpoint
from emulator.http.response_head import encode_control_head, encode_head, frame
from tests.conftest import Start
from tests.handler.toy import TOY, ToyCodec, ToyService
from tests.http.test_content_types import INERT, PAGES
from tests.http_client import read_answer

LENGTH = frame(200, 5)
CHUNKS = frame(200, None)
GUARDS = b"Content-Security-Policy: sandbox\r\nX-Content-Type-Options: nosniff\r\n"
SPLIT = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "\r\n", "a\r", "\nX-Evil: 1", "a\0"]


@pytest.mark.parametrize("text", SPLIT)
@pytest.mark.parametrize("place", ["name", "value"])
def test_header_with_line_break_or_nul_raises(text: str, place: str) -> None:
    header = (text, "a") if place == "name" else ("x-a", text)
    for headers in ((header,), (("Content-Type", "text/plain"), header), (header, ("x-b", "b"))):
        with pytest.raises(ValueError, match="line break or NUL"):
            encode_head(TOY, 200, headers, LENGTH, 0.0)
        with pytest.raises(ValueError, match="line break or NUL"):
            encode_control_head(200, headers, LENGTH, keep_alive=True, modern=True)


@pytest.mark.parametrize("place", ["name", "value"])
def test_other_control_bytes_are_percent_encoded(place: str) -> None:
    controls = "".join(map(chr, [*range(1, 0x20), 0x7F])).replace("\r", "").replace("\n", "")
    header = (controls, "a") if place == "name" else ("x-a", f"a{controls}\u2028b")
    for head in (
        encode_head(TOY, 200, (header, ("x-b", "c")), LENGTH, 0.0),
        encode_control_head(200, (header, ("x-b", "c")), LENGTH, keep_alive=True, modern=True),
    ):
        assert not {*head.replace(b"\r\n", b"")} & {*range(0x20), 0x7F}
        assert b"%01%02" in head
        assert b"%1F%7F" in head


@pytest.mark.parametrize("value", ["", "h\u00e9\udcff", "a: b", "\u2028\x85"])
def test_other_header_values_are_sent_unchanged(value: str) -> None:
    headers = (("x-a", value),)
    for head in (
        encode_head(TOY, 200, headers, LENGTH, 0.0),
        encode_control_head(200, headers, LENGTH, keep_alive=True, modern=True),
    ):
        assert f"\r\nx-a: {value}\r\n".encode("utf-8", "surrogateescape") in head


@pytest.mark.parametrize("framing", [LENGTH, CHUNKS, ""])
def test_executable_content_types_get_guard_headers(framing: str) -> None:
    for kind in INERT:
        assert GUARDS not in encode_head(TOY, 200, (("Content-Type", kind),), framing, 0.0), kind
    for kind in PAGES:
        for name in ("Content-Type", "content-type", "CONTENT-TYPE"):
            assert GUARDS in encode_head(TOY, 200, (("x-a", "b"), (name, kind)), framing, 0.0), kind


@pytest.mark.parametrize(
    ("headers", "guarded"),
    [
        pytest.param((), True, id="without a type"),
        pytest.param((("Content-Types", "text/plain"),), True, id="with a type by another name"),
        pytest.param((("Content-Type", "text/plain"), ("content-type", "text/html")), True, id="with two types"),
        pytest.param((("Content-Type", "text/plain"), ("content-type", "text/plain")), True, id="with one type twice"),
        pytest.param((("Content-Type", "text/html"), ("Content-Security-Policy", "x")), True, id="with a policy"),
    ],
)
def test_ambiguous_content_type_gets_guard_headers(headers: Headers, guarded: bool) -> None:
    assert (GUARDS in encode_head(TOY, 200, headers, LENGTH, 0.0)) is guarded


@pytest.mark.parametrize(("status", "framing"), [(200, frame(200, 0)), (204, frame(204, 3)), (304, frame(304, 3))])
def test_response_without_body_gets_no_guard_headers(status: int, framing: str) -> None:
    assert GUARDS not in encode_head(TOY, status, (), framing, 0.0)
    assert GUARDS not in encode_head(TOY, status, (("Content-Type", "text/html"),), framing, 0.0)


def test_guard_headers_follow_lower_case_vendor() -> None:
    head = encode_head(replace(TOY, lower_case=True), 200, (("content-type", "text/html"),), LENGTH, 0.0)
    assert GUARDS.lower() in head


@dataclass(frozen=True)
class SplittingCodec(ToyCodec):
    """Codec with a response header that has a line break."""

    def render(self, plan: Plan, request: Request) -> Response:
        return replace(super().render(plan, request), headers=(("x-a", "a\r\nX-Evil: 1"),))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return replace(super().stream(plan, request), headers=(("x-a", "a\r\nX-Evil: 1"),))


def _split_call(request: Request, service: ToyService) -> InferenceCall:
    (chat,) = [endpoint.parse for endpoint in TOY.endpoints if endpoint.path == "/chat"]
    call = chat(request, service)
    assert isinstance(call, InferenceCall)
    return replace(call, codec=SplittingCodec())


def _split(request: Request, service: ToyService) -> Response:
    return Response(200, b"{}", (("Content-Type", "application/json\r\nX-Evil: 1"),))


SPLITTING = replace(
    TOY,
    endpoints=(
        *(endpoint for endpoint in TOY.endpoints if endpoint.path != "/chat"),
        Endpoint(method="POST", path="/chat", parse=_split_call),
        Endpoint(method="GET", path="/split", parse=_split),
    ),
)
WHOLE, STREAM = b'{"prompt":"Hi","max":3}', b'{"prompt":"Hi","max":3,"stream":true}'


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize(
    ("scenario", "target", "body"),
    [
        pytest.param("", "GET /split", b"", id="a catalogue"),
        pytest.param("", "POST /chat", WHOLE, id="an answer in one piece"),
        pytest.param("", "POST /chat", STREAM, id="a stream"),
        pytest.param("latency: {ttft: 5ms, itl: 1ms}\n", "POST /chat", WHOLE, id="one piece that takes its time"),
        pytest.param("latency: {ttft: 5ms, itl: 1ms}\n", "POST /chat", STREAM, id="a stream that takes its time"),
        pytest.param("rules: [{name: a, faults: [{type: split, writes: byte}]}]\n", "POST /chat", WHOLE, id="bent"),
        pytest.param("rules: [{name: a, faults: [{type: split, writes: byte}]}]\n", "POST /chat", STREAM, id="bent s"),
    ],
)
async def test_header_with_line_break_returns_500_on_every_path(
    start: Start, caplog: pytest.LogCaptureFixture, scenario: str, target: str, body: bytes, version: str
) -> None:
    toy = await start(f"version: 1\nname: t\nclock: instant\n{scenario}", vendors=[SPLITTING])
    head = f"{target} HTTP/{version}\r\nHost: localhost\r\nx-key: k\r\nContent-Type: application/json\r\n"
    for _ in range(4):  # its head is remembered from the second on
        caplog.clear()
        reader, writer = await toy.connect("toy")
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await read_answer(reader)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        assert (answer.status, answer.header("x-emulator-bug")) == (500, "1")
        assert (answer.header("Content-Type") or "").startswith("text/plain")
        assert b"Evil" not in answer.head
        assert any("line break or NUL" in str(record.exc_info) for record in caplog.records), "it is in the log"
    kept = (await toy.ask("front", "/_emulator/requests")).json()
    assert [row["status"] for row in kept["requests"]] == [500] * 4
