"""Where a fault strikes, byte by byte."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulator.core.faultable import FaultableResponse
from emulator.faults.position import Positioned
from tests.faults.deliveries import HEAD, STREAM, WHOLE, body_until, make_fault, starts
from tests.untyped_json import JSON

STREAMED = STREAM.body
BODY = WHOLE.body


def find(response: FaultableResponse, **position: JSON) -> int:
    fault = make_fault(type="truncate", **position)
    assert isinstance(fault, Positioned)
    return fault.find(response)


@pytest.mark.covers("language/positions", "after_bytes", case="bytes are bytes of the body")
@pytest.mark.covers("language/positions", "at", case="in the middle")
@pytest.mark.covers("language/positions", "before: first_token", case="before the first token, after the role")
@pytest.mark.covers("language/positions", "before: usage", case="before the counts")
@pytest.mark.covers("language/positions", "before: finish", case="before the finish reason's event")
@pytest.mark.covers("language/positions", "before: done", case="before the mark of the end")
@pytest.mark.covers("language/positions", "inside: utf8", case="inside the first wide character")
@pytest.mark.covers("language/positions", "inside: escape", case="between a backslash and its letter")
@pytest.mark.covers("language/positions", "inside: event", case="inside the event that follows")
@pytest.mark.parametrize(
    ("position", "offset"),
    [
        pytest.param({}, 0, id="none is the beginning"),
        pytest.param({"after_tokens": 0}, 0, id="after no token"),
        pytest.param({"after_tokens": 1}, starts(2), id="after the event of the first token, not the role"),
        pytest.param({"after_tokens": 2}, starts(3), id="after the event of the second"),
        pytest.param({"after_tokens": 3}, starts(4), id="before the finish reason"),
        pytest.param({"after_tokens": 4}, starts(7), id="a token that never comes is the end"),
        pytest.param({"after_bytes": 10}, 10, id="bytes are bytes of the body"),
        pytest.param({"after_bytes": 9999}, starts(7), id="no more bytes than there are"),
        pytest.param({"at": 0}, 0, id="at the beginning"),
        pytest.param({"at": 0.5}, starts(7) // 2, id="in the middle"),
        pytest.param({"at": 1}, starts(7), id="at the end"),
        pytest.param({"before": "first_token"}, starts(1), id="before the first token, after the role"),
        pytest.param({"before": "finish"}, starts(4), id="before the finish reason's event"),
        pytest.param({"before": "usage"}, starts(5), id="before the counts"),
        pytest.param({"before": "done"}, starts(6), id="before the mark of the end"),
        pytest.param({"inside": "event"}, 1, id="inside the first event"),
        pytest.param({"after_tokens": 1, "inside": "event"}, starts(2) + 1, id="inside the event that follows"),
        pytest.param({"after_bytes": 5, "inside": "event"}, 5, id="inside one already"),
        pytest.param({"inside": "utf8"}, STREAMED.index("你".encode()) + 1, id="inside the first wide character"),
        pytest.param(
            {"after_bytes": STREAMED.index("你".encode()) + 2, "inside": "utf8"},
            STREAMED.index("你".encode()) + 2,
            id="inside one already, two bytes in",
        ),
        pytest.param({"after_tokens": 2, "inside": "utf8"}, starts(3), id="stays where no such thing follows"),
        pytest.param({"inside": "escape"}, STREAMED.index(b"\\n") + 1, id="between a backslash and its letter"),
    ],
)
def test_position_in_stream(position: dict[str, JSON], offset: int) -> None:
    assert find(STREAM, **position) == offset


@pytest.mark.parametrize(
    ("position", "offset"),
    [
        pytest.param({"after_tokens": 1}, body_until(HEAD, "Hi"), id="the bytes that carry the first token"),
        pytest.param({"after_tokens": 2}, body_until(HEAD, "Hi 你"), id="wide characters count as bytes"),
        pytest.param({"after_tokens": 3}, body_until(HEAD, "Hi 你\\n"), id="an escape is two bytes"),
        pytest.param({"after_tokens": 4}, len(BODY), id="a token that never comes is the end"),
        pytest.param({"before": "first_token"}, body_until(HEAD), id="before the first token's bytes"),
        pytest.param({"before": "finish"}, BODY.index(b'"finish_reason"'), id="before the finish reason's key"),
        pytest.param({"before": "usage"}, BODY.index(b'"usage"'), id="before the counts' key"),
        pytest.param({"before": "done"}, len(BODY), id="an answer in one piece has no mark of the end"),
        pytest.param({"after_tokens": 1, "inside": "utf8"}, BODY.index("你".encode()) + 1, id="inside a character"),
        pytest.param({"inside": "escape"}, BODY.index(b"\\n") + 1, id="inside an escape"),
        pytest.param({"inside": "event"}, 1, id="inside the one event there is"),
        pytest.param({"at": 1, "inside": "event"}, len(BODY), id="nothing is inside at the end"),
    ],
)
def test_position_in_unary_body(position: dict[str, JSON], offset: int) -> None:
    assert find(WHOLE, **position) == offset


def test_token_without_text_adds_no_bytes() -> None:
    silent = replace(STREAM, texts=("Hi", "", "", " 你"), chunks=STREAM.chunks[:2])
    assert find(silent, after_tokens=3) == find(silent, after_tokens=1) == starts(2)


def test_inside_escape_finds_unicode_escapes() -> None:
    body = b'{"a":"x\\u4f60\\\\y"}'
    escaped = replace(WHOLE, chunks=(replace(WHOLE.chunks[-1], data=body),))
    start = body.index(b"\\u")
    assert find(escaped, inside="escape") == start + 1
    assert find(escaped, after_bytes=start + 4, inside="escape") == start + 4
    assert find(escaped, after_bytes=start + 6, inside="escape") == start + 7


def test_two_positions_are_refused() -> None:
    with pytest.raises(ValidationError, match="only one of after_tokens, after_bytes, at, before"):
        make_fault(type="disconnect", after_tokens=1, at=0.5)


@given(st.sampled_from([STREAM, WHOLE]), st.integers(0, 800), st.sampled_from(["utf8", "escape", "event"]))
def test_inside_never_moves_position_back(response: FaultableResponse, count: int, inside: str) -> None:
    plain = find(response, after_bytes=count)
    moved = find(response, after_bytes=count, inside=inside)
    assert plain <= moved <= response.size
    if inside == "utf8" and moved > plain:
        assert response.body[moved] & 0xC0 == 0x80
