"""What one call may cost."""

import gzip
import zlib
from contextlib import nullcontext

import pytest

from emulator.core.compression import unpack
from emulator.core.cost_limits import DEFAULT_BOUNDS, CallBounds, is_slow
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.faultable import Chunk, FaultableResponse
from emulator.core.http import Request
from emulator.core.json import check_json, parse_json
from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    Deployment,
    EmbeddingRequest,
    InferenceRequest,
    Message,
    Sampling,
    Tool,
)
from emulator.faults.extra_fields import ExtraFields
from emulator.faults.split import Split

_DEPLOYMENT = Deployment(vendor="v", name="d", dimensions=8)
_SMALL = CallBounds(messages=2, tools=1, inputs=3, answers=4, tokens=4096, components=16)
_TURN = Message(role="user", text="Hi")


def _chat(**sampling: int | bool) -> ChatRequest:
    return ChatRequest(messages=(_TURN,), sampling=Sampling(**sampling))  # type: ignore[arg-type]  # numbers and flags


@pytest.mark.covers("language/sections", "bounds")
@pytest.mark.parametrize(
    ("ask", "param"),
    [
        pytest.param(ChatRequest(messages=(_TURN,) * 3), "messages", id="messages"),
        pytest.param(ChatRequest(messages=(_TURN,), tools=(Tool(name="a"), Tool(name="b"))), "tools", id="tools"),
        pytest.param(_chat(n=5), "n", id="answers"),
        pytest.param(
            CompletionRequest(prompts=("a",) * 3, sampling=Sampling(n=2)), "n", id="answers to several prompts"
        ),
        pytest.param(CompletionRequest(prompts=("a",) * 4), "prompt", id="prompts"),
        pytest.param(_chat(n=2, max_tokens=5000, ignore_eos=True), "n", id="tokens without end"),
        pytest.param(_chat(max_tokens=400, logprobs=20), "n", id="alternatives of every token"),
        pytest.param(EmbeddingRequest(inputs=("a",) * 4), "input", id="inputs"),
        pytest.param(EmbeddingRequest(inputs=("a",) * 3), "input", id="inputs times the model's dimensions"),
        pytest.param(EmbeddingRequest(inputs=("a",), dimensions=17), "input", id="dimensions"),
    ],
)
def test_request_over_bounds_is_rejected(ask: InferenceRequest, param: str) -> None:
    with pytest.raises(EmulatedError) as refused:
        _SMALL.check(ask, _DEPLOYMENT)
    assert (refused.value.kind, refused.value.param) == (ErrorKind.INVALID_PARAMETER, param)
    assert "one call may have" in str(refused.value.message)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(ChatRequest(messages=(_TURN,) * 2, tools=(Tool(name="a"),)), id="as many messages and tools"),
        pytest.param(_chat(n=4), id="as many answers"),
        pytest.param(_chat(max_tokens=100_000), id="a limit that no answer comes to"),
        pytest.param(EmbeddingRequest(inputs=("a",) * 2), id="as many numbers"),
    ],
)
def test_request_within_bounds_is_accepted(ask: InferenceRequest) -> None:
    _SMALL.check(ask, _DEPLOYMENT)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(EmbeddingRequest(inputs=("a",) * 2048, dimensions=1536), id="2,048 inputs of 1,536 dimensions"),
        pytest.param(_chat(n=128), id="128 answers"),
        pytest.param(_chat(n=8, logprobs=20), id="eight with all alternatives"),
        pytest.param(_chat(max_tokens=131_072, ignore_eos=True), id="one as long as any model's"),
    ],
)
def test_default_bounds_accept_real_client_requests(ask: InferenceRequest) -> None:
    DEFAULT_BOUNDS.check(ask, _DEPLOYMENT)


@pytest.mark.parametrize(
    ("texts", "each", "fits"),
    [
        pytest.param(("a b ", "c d"), 1, True, id="as many tokens"),
        pytest.param(("a b ", "c d e"), 1, False, id="one more"),
        pytest.param(("a b",), 2, True, id="as many, each counted twice"),
        pytest.param(("a b c",), 2, False, id="one more, each counted twice"),
        pytest.param((" " * 100,), 1, False, id="a text too long to be counted"),
    ],
)
def test_check_texts_bounds_total_tokens(texts: tuple[str, ...], each: int, fits: bool) -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    with nullcontext() if fits else pytest.raises(EmulatedError, match="one call may have 4"):
        CallBounds(tokens=4).check_texts(texts, count, "text", each)
    assert all(len(text) <= 40 for text in counted)


@pytest.mark.parametrize(
    ("body", "most", "fits"),
    [
        pytest.param(b"[1,2,3]", 3, True, id="as many"),
        pytest.param(b"[1,2,3,4]", 3, False, id="one more"),
        pytest.param(b'["a,b,c,d,e,f"]', 3, True, id="commas in a text are no values"),
        pytest.param(b'["\\",\\",\\",\\",",1]', 3, True, id="quotes in a text neither"),
        pytest.param(b'{"a":[1,2],"b":[3,4]}', 4, True, id="lists in an object"),
        pytest.param(b'["' + b'\\"' * 100_000 + b"," * 9, 8, True, id="a text that is not closed takes all"),
    ],
)
def test_check_json_bounds_value_count(body: bytes, most: int, fits: bool) -> None:
    if fits:
        check_json(body, most, 2**30)
    else:
        with pytest.raises(ValueError, match=f"more than {most} values"):
            check_json(body, most, 2**30)


def test_body_of_too_many_values_is_rejected_each_time() -> None:
    wire = Request(method="POST", path="/", body=b"[" + b"1," * 100_000 + b"1]", max_values=1000)
    for _ in range(2):
        with pytest.raises(ValueError, match="more than 1000 values"):
            wire.json()


_TEXT = b"some text " * 100
_RAW = zlib.compressobj(wbits=-15)
_DEFLATED = _RAW.compress(_TEXT) + _RAW.flush()


@pytest.mark.parametrize(
    ("body", "encoding", "expected"),
    [
        pytest.param(gzip.compress(_TEXT), "gzip", _TEXT, id="gzip"),
        pytest.param(gzip.compress(_TEXT), " X-GZIP ", _TEXT, id="its other name"),
        pytest.param(zlib.compress(_TEXT), "deflate", _TEXT, id="deflate"),
        pytest.param(_DEFLATED, "deflate", _TEXT, id="deflate without a wrapper"),
        pytest.param(_TEXT, "identity", _TEXT, id="identity"),
        pytest.param(_TEXT, "br", _TEXT, id="an unknown one"),
        pytest.param(b"nonsense", "gzip", b"nonsense", id="what is not packed stays"),
        pytest.param(gzip.compress(_TEXT)[:-9], "gzip", gzip.compress(_TEXT)[:-9], id="what is cut stays"),
        pytest.param(b"", "gzip", b"", id="nothing"),
    ],
)
async def test_unpack_decodes_body(body: bytes, encoding: str, expected: bytes) -> None:
    assert await unpack(body, encoding, 10_000) == expected


@pytest.mark.slow
@pytest.mark.parametrize("size", [1001, 100_000_000])
async def test_unpack_over_limit_raises_payload_too_large(size: int) -> None:
    packer = zlib.compressobj(wbits=31)
    packed = b"".join([packer.compress(bytes(size)), packer.flush()])
    with pytest.raises(EmulatedError) as refused:
        await unpack(packed, "gzip", 1000)
    assert refused.value.kind is ErrorKind.PAYLOAD_TOO_LARGE


def _delivery(body: bytes, **bounds: int) -> FaultableResponse:
    pieces = (Chunk(0.0, body),)
    return FaultableResponse(status=200, headers=(), chunks=pieces, streamed=False, chunked=False, **bounds)  # type: ignore[arg-type]


def test_faults_add_at_most_max_added_bytes() -> None:
    bent = _delivery(b'{"a":{},"b":{}}', max_added=100)
    for _ in range(50):
        bent = ExtraFields(type="extra_fields", fields={"c": {"d": {}}}).apply(bent)
    assert 15 < bent.size <= 115


def test_split_fault_respects_maximum_writes() -> None:
    bent = Split(type="split", writes="byte").apply(_delivery(b"abcdefgh", writes=3))
    assert [piece.data for piece in bent.chunks] == [b"a", b"b", b"c", b"defgh"]


_CHINESE = "漢字".encode() * 100


@pytest.mark.parametrize(
    ("text", "size"),
    [
        pytest.param(b"a" * 600, 600, id="a byte for a letter"),
        pytest.param(_CHINESE, 400, id="two for a Chinese one"),
        pytest.param("漢".encode() + b"a" * 99, 200, id="for all next to one, too"),
        pytest.param("🙂".encode() + b"a" * 99, 400, id="four for all next to an emoji"),
        pytest.param(b"\\u6f22" * 100, 200, id="escapes are characters"),
        pytest.param(b"\\ud83d\\ude42" + b"a" * 98, 400, id="two of them may be one that is wide"),
    ],
)
def test_check_json_bounds_text_size(text: bytes, size: int) -> None:
    body = b'["' + text + b'"]'
    check_json(body, 10, 2 * (size + 20))
    with pytest.raises(ValueError, match=f"texts of more than {size // 2} bytes"):
        check_json(body, 10, size // 2)


def test_wide_text_does_not_widen_other_texts() -> None:
    check_json(b'["' + b"a" * 10_000 + '","🙂"]'.encode(), 10, 11_000)


def test_large_deeply_nested_body_is_rejected() -> None:
    deep = b"[" * 300 + b'"%b"' % (b"a" * 5_000_000) + b"]" * 300
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(deep)


def test_fixed_vectors_are_counted_at_their_size() -> None:
    two, three = EmbeddingRequest(inputs=("a",) * 2), EmbeddingRequest(inputs=("a",) * 3, dimensions=1)
    _SMALL.check_vectors(two, 8)
    _SMALL.check_vectors(three, 0)
    with pytest.raises(EmulatedError, match="24 numbers in vectors are asked for, and one call may have 16"):
        _SMALL.check_vectors(three, 8)
    assert [is_slow(two, _DEPLOYMENT, fixed) for fixed in (0, 32_768, 40_000)] == [False, False, True]
