"""Events made many at once are, byte for byte, the events made one by one."""

import sys
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.calls import InferenceCall
from emulator.core.http import Batch, BatchedEvents, Event, Mark, StreamingResponse
from emulator.encoding.sse import encode_string
from emulator.encoding.template_stream import (
    MAX_BATCH,
    NumberedTails,
    TemplateStream,
    encode_chunks,
    render_chunks,
)
from emulator.scenario.load import load_text
from emulator.scenario.matching import UNMATCHED
from emulator.serve.application import create_application
from emulator.vendors import VENDORS
from emulator.vendors.openvino.release import RELEASES
from tests.untyped_json import JSON
from tests.vendors.client import make_request, send

pytestmark = pytest.mark.slow

_KEY = b"0123456789abcdef"
_PROMPT: JSON = {"messages": [{"role": "user", "content": "Tell me about the tides"}]}
_DATABRICKS = "/serving-endpoints/databricks-{}/invocations"
_AZURE = "/chat/completions?api-version=2024-05-01-preview"


def frame(events: Iterable[Event]) -> tuple[bytes, int, int]:
    """Chunks, size and number of events, as they are written one by one."""
    chunks = held = b""
    size = count = 0
    for _, data, _, mark in events:
        size, count, held = size + len(data), count + 1, held + data
        if Mark.JOINED not in mark:
            chunks += f"{len(held):x}\r\n".encode() + held + b"\r\n"
            held = b""
    return chunks, size, count


def add_up(batches: Iterable[Batch]) -> tuple[bytes, int, int]:
    joints, pieces, sizes, counts = zip(*batches, strict=True)
    return b"".join(map(bytes.join, joints, pieces)), sum(sizes), sum(counts)


_BYTES = st.binary(max_size=20)
_WHOLE = st.lists(st.tuples(st.just(0.0), st.binary(min_size=1), st.just(0), st.sampled_from(Mark)), max_size=3)


@given(
    opening=_WHOLE,
    tokens=st.lists(st.text(min_size=1, max_size=9), max_size=40),
    before=_BYTES,
    counts=st.lists(st.tuples(_BYTES, st.integers(0, 9000)), max_size=2),
    after=_BYTES,
    ending=_WHOLE,
)
def test_batches_equal_event_by_event_stream(
    opening: list[Event],
    tokens: list[str],
    before: bytes,
    counts: list[tuple[bytes, int]],
    after: bytes,
    ending: list[Event],
) -> None:
    stream = TemplateStream(
        opening=[(due, data, number, mark & ~Mark.JOINED) for due, data, number, mark in opening],
        tokens=[*map(encode_string, tokens)],
        due=[0.0] * len(tokens),
        before=before,
        after=(*(part for part, _ in counts), after),
        offsets=tuple(offset for _, offset in counts),
        ending=[*ending, (0.0, b"data: [DONE]\n\n", 0, Mark.DONE)],
    )
    for _ in range(3):  # it comes again, as an answer that is kept does
        batches = stream.batches()
        assert batches is not None
        assert add_up(batches) == frame(stream)


@given(
    tokens=st.lists(st.text(min_size=1, max_size=40), max_size=40),
    before=_BYTES,
    heads=st.lists(_BYTES, min_size=4, max_size=4),
)
def test_padded_batches_equal_event_by_event_stream(tokens: list[str], before: bytes, heads: list[bytes]) -> None:
    quoted = [*map(encode_string, tokens)]
    for head in heads:  # the texts come again with other ids
        after = (head + b',"obfuscation":"ab"}\n\n',)
        ending = [(0.0, b"data: [DONE]\n\n", 0, Mark.DONE)]
        stream = TemplateStream((), quoted, [0.0] * len(tokens), before, after, ending, padded=tokens)
        batches = stream.batches()
        assert batches is not None
        assert add_up(batches) == frame(stream)
        chunks, size, count = frame(stream)
        assert add_up(stream.batches(b"head", b"tail") or ()) == (b"head" + chunks + b"tail", size, count)
    plain = TemplateStream((), quoted, [0.0] * len(tokens), before, (heads[0],), ending)
    assert add_up(plain.batches() or ()) == frame(plain)


@pytest.mark.parametrize("length", [0, 1, MAX_BATCH - 1, MAX_BATCH, MAX_BATCH + 1, 3 * MAX_BATCH])
def test_long_stream_is_split_into_batches(length: int) -> None:
    ending = [(0.0, b"!", 0, Mark.DONE)]
    stream = TemplateStream((), [b'"%d"'] * length, [0.0] * length, b"%", (b"<", b"%%"), ending, (8000,))
    chunks, size, count = frame(stream)
    for _ in range(3):
        batches = [*(stream.batches(b"head", b"tail") or ())]
        assert len(batches) == max(1, -(-length // MAX_BATCH))
        assert add_up(batches) == (b"head" + chunks + b"tail", size, count)


@pytest.mark.parametrize(
    ("tokens", "due", "silent", "known"),
    [
        pytest.param(["a", "b"], [0.0, 0.0], False, True, id="all at once"),
        pytest.param(["a", "b"], [0.0, 0.1], False, False, id="one later"),
        pytest.param(["a", ""], [0.0, 0.0], False, False, id="a token without text, which has no event"),
        pytest.param(["a", ""], [0.0, 0.0], True, True, id="a token without text, which has an event"),
    ],
)
def test_only_stream_due_at_once_is_batched(tokens: list[str], due: list[float], silent: bool, known: bool) -> None:
    stream = TemplateStream(
        (), [*map(encode_string, tokens)], due, b"", (b"\n",), [(due[-1], b"!", 0, Mark.DONE)], silent=silent
    )
    assert (stream.batches() is not None) is known


@pytest.mark.parametrize(
    ("before", "after", "chunks", "size"),
    [
        pytest.param(b"<", b"!>", b"4\r\n<a!>\r\n6\r\n<bcd!>\r\n", 10, id="what follows is longer"),
        pytest.param(b"<!", b">", b"4\r\n<!a>\r\n6\r\n<!bcd>\r\n", 10, id="the text before is longer"),
        pytest.param(
            *(b"<", NumberedTails((b"%", b"/", b">"), (0, 90), 9)),
            *(b"8\r\n<a%9/99>\r\nc\r\n<bcd%10/100>\r\n", 20),
            id="what follows counts on",
        ),
    ],
)
def test_render_chunks_fills_template_with_texts(
    before: bytes, after: bytes | NumberedTails, chunks: bytes, size: int
) -> None:
    texts = [b"-", b"a", b"bcd", b"-"]
    for _ in range(3):
        joint, pieces, total = render_chunks(before, texts, 1, 3, after)
        assert (joint.join(pieces), total) == (chunks, size)


@pytest.mark.parametrize(("before", "after"), [(b"<%d", b">"), (b"<", b"%d>")], ids=["before", "after"])
def test_render_chunks_follows_changing_template(before: bytes, after: bytes) -> None:
    texts = [b"a", b"b"]
    for number in range(9):
        one, other = (part.replace(b"%d", b"%d" % number) for part in (before, after))
        joint, pieces, size = render_chunks(one, texts, 0, 2, other)
        assert joint.join(pieces) == b"4\r\n%ba%b\r\n4\r\n%bb%b\r\n" % (one, other, one, other)
        assert size == 8


def test_render_chunks_retains_few_texts() -> None:
    many = [[b"%d" % number] for number in range(999)]
    for texts in many * 2:
        render_chunks(b"<", texts, 0, 1, b">")
    assert sum(sys.getrefcount(texts) > sys.getrefcount([]) + 2 for texts in many) < 100


def test_numbered_tails_grow_beyond_cached_numbers() -> None:
    tails = NumberedTails((b"%", b"%d>"), (1 << 20,), 3)
    assert tails.take(1) == ([b"%1048579%d>\r\n"], [13])
    assert tails.take(2) == ([b"%1048579%d>\r\n", b"%1048580%d>\r\n"], [13, 13])
    assert tails.take(1) == ([b"%1048579%d>\r\n"], [13])


def test_joined_events_share_chunk() -> None:
    events = [(0.0, b"ab", 1, Mark.JOINED), (0.0, b"c", 1, Mark.DONE)]
    assert encode_chunks(events) == (b"3\r\nabc\r\n", 3, 2)


def stream_of(vendor: str, path: str, body: Mapping[str, JSON], scenario: str = "") -> StreamingResponse:
    """The usual answer to a request, in the vendor's words."""
    served = {vendor: VENDORS[vendor]}
    (app,) = create_application(
        load_text(f"version: 1\nname: batch\nclock: frozen\nvendors: {{{scenario}}}\n"), vendors=served
    ).apps
    request = make_request(path, body, {"extra-parameters": "pass-through", "Authorization": "Bearer k"})
    call = send(served[vendor], app.service, request)
    assert isinstance(call, InferenceCall)
    return call.codec.stream(app.emulator.decide(call, UNMATCHED, _KEY, 1.7e9), request)


_LENIENT = "databricks: {strict_unknown_fields: 'off'}"
_CASES = [
    ("databricks", _DATABRICKS.format("meta-llama-3-3-70b-instruct"), _LENIENT, True),
    ("databricks", _DATABRICKS.format("gemma-3-12b"), _LENIENT, True),
    *(
        (
            "databricks",
            _DATABRICKS.format("meta-llama-3-3-70b-instruct"),
            f"{_LENIENT[:-1]}, stream_usage: {style}}}",
            True,
        )
        for style in ("last", "closing", "on-request", "none")
    ),
    ("databricks", _DATABRICKS.format("claude-sonnet-4-5"), _LENIENT, True),
    ("databricks", _DATABRICKS.format("gpt-5"), _LENIENT, False),
    ("databricks", _DATABRICKS.format("gpt-oss-120b"), _LENIENT, False),
    *(("azure", _AZURE, f"azure: {{profile: {profile}}}", True) for profile in ("seed", "maas", "managed", "foundry")),
    ("azure", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "azure: {profile: aoai}", True),
    ("azure", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "azure: {profile: foundry}", True),
    ("mindie", "/v1/chat/completions", "", True),
    ("tgi", "/v1/chat/completions", "", True),
    *(
        ("openvino", path, f"openvino: {{profile: '{release}'}}", True)
        for path in ("/v3/chat/completions", "/v3/completions")
        for release in RELEASES
    ),
]
_NAMES = {"databricks": "", "azure": "mistral-small-2503", "mindie": "llama_65b", "tgi": "tgi", "openvino": "llama3"}
_MORE: Mapping[str, JSON] = {
    "no more": {},
    "one token": {"max_tokens": 1},
    "two tokens": {"max_tokens": 2},
    "many tokens": {"max_tokens": 600},
    "usage": {"stream_options": {"include_usage": True}},
    "a stop string": {"stop": ["the"]},
}


@pytest.mark.parametrize("more", _MORE)
@pytest.mark.parametrize(("vendor", "path", "scenario", "known"), _CASES)
def test_vendor_batches_equal_event_by_event_stream(
    vendor: str, path: str, scenario: str, known: bool, more: str
) -> None:
    asked = {"prompt": "Tell me"} if "chat" not in path and "invocations" not in path else _PROMPT
    body = {**asked, "model": _NAMES[vendor], "stream": True, **_MORE[more]}
    events = stream_of(vendor, path, body, scenario).events
    for _ in range(3):  # it comes again, as an answer that is kept does
        batches = events.batches() if isinstance(events, BatchedEvents) else None
        assert (batches is not None) is known
        if isinstance(events, BatchedEvents) and batches is not None:
            chunks, size, count = frame(stream_of(vendor, path, body, scenario).events)
            assert add_up(batches) == (chunks, size, count)
            assert add_up(events.batches(b"head", b"tail") or ()) == (b"head" + chunks + b"tail", size, count)
