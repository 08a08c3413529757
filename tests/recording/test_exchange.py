"""The text file of an exchange."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.recording.exchange import (
    Exchange,
    ExchangeError,
    RecordedWrite,
    format_exchange,
    parse_exchange,
    parse_exchanges,
)
from tests.tools.docs.blocks import find_blocks

WHOLE = Exchange(
    vendor="databricks",
    method="POST",
    target="/serving-endpoints/a/invocations?x=1",
    time=1795706876.25,
    request_headers=(("Authorization", "Bearer dapi…"),),
    request_body=b'{"messages": []}',
    status=200,
    reason="OK",
    headers=(("Content-Type", "text/event-stream"),),
    offset=0.25,
    framing="chunked",
    writes=(RecordedWrite(0.5, b"data: 1\n\n"), RecordedWrite(0.75, "data: é\r\n\r\n".encode())),
    ending="whole",
    ended=1.0,
)


@given(st.lists(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), max_size=4), st.binary(max_size=40))
def test_any_bytes_come_back(parts: list[bytes], body: bytes) -> None:
    writes = tuple(RecordedWrite(number / 4, part) for number, part in enumerate(parts))
    exchange = replace(WHOLE, request_body=body, writes=writes)
    assert parse_exchange(format_exchange(exchange)) == exchange


@pytest.mark.parametrize(
    "changes",
    [
        {"ending": "reset", "missing": 245, "framing": "length"},
        {
            "status": 0,
            "reason": "",
            "headers": (),
            "writes": (),
            "ending": "timed out",
            "offset": 0.0,
            "framing": "length",
        },
        {"ending": "client left", "unkept": 5, "redacted": 2, "excess": 7},
        {"request_body": b"", "method": "GET"},
    ],
)
def test_every_ending_comes_back(changes: dict[str, object]) -> None:
    exchange = replace(WHOLE, **changes)  # type: ignore[arg-type]
    assert parse_exchange(format_exchange(exchange)) == exchange


def test_edited_body_has_its_new_length() -> None:
    text = format_exchange(replace(WHOLE, headers=(("Content-Length", "9"), ("A", "b"))))
    edited = parse_exchange(text.replace("| data: 1", "| data: a longer text"))
    assert edited.headers == (("A", "b"),)
    assert edited.writes[0].data == b"data: a longer text\n\n"


def test_documented_file_is_an_exchange() -> None:
    (text,) = (block.text for block in find_blocks() if block.page == "recording.md" and block.begins == "exchange 1")
    assert format_exchange(parse_exchange(text)) == text
    assert parse_exchange(text).ending == "whole"


def test_file_without_its_end_is_cut() -> None:
    exchange = parse_exchange(format_exchange(WHOLE).partition("=== end")[0])
    assert exchange.ending == "cut"
    assert exchange.writes == WHOLE.writes


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("exchange 1", "exchange 2", "x:1: expected `exchange 1`; this file is 'exchange 2'"),
        ("exchange 1", "a secret", "x:1: expected `exchange 1`"),
        ("=== write", "=== wrote", "x:15: expected a section such as `=== write after 0.25`"),
        ("end whole", "end well", "an exchange ends whole, cut, reset, timed out, client left, not 'well'"),
        ("framing chunked", "framing big", "x:14: framing is length, chunked, close or none, not 'big'"),
        ("200 OK", "fine", "expected a status, not 'fine'"),
        ("2026-", "twenty-", "expected a time such as 2026-01-31T12:00:00Z"),
        ("| data: 1", "|data: 1", "x:16: expected a blank after '|'"),
        ("Content-Type:", "Content-Type", "expected `name: value`"),
    ],
)
def test_mistake_is_located(before: str, after: str, message: str) -> None:
    with pytest.raises(ExchangeError) as caught:
        parse_exchange(format_exchange(WHOLE).replace(before, after, 1), "x")
    assert message in str(caught.value)


def test_mistake_counts_lines_of_its_file() -> None:
    whole = format_exchange(WHOLE)
    text = f"\n{whole}\n{whole.replace('framing chunked', 'framing big')}"
    line = text[: text.index("framing big")].count("\n") + 1
    with pytest.raises(ExchangeError, match=f"^x:{line}: framing is "):
        parse_exchanges(text, "x")
    assert parse_exchanges(f"\n{whole}\n{whole}", "x") == [WHOLE, WHOLE]
