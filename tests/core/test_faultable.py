"""Cutting, editing and joining what goes over a socket."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.faultable import Chunk, CloseMode, EventRange, FaultableResponse, join_writes

BASE = FaultableResponse(status=200, headers=(), chunks=(), streamed=True, chunked=True)
pieces = st.lists(
    st.builds(
        Chunk, st.just(0.0), st.binary(max_size=6), tokens=st.integers(0, 9), last=st.booleans(), flush=st.booleans()
    ),
    max_size=6,
).map(tuple)


def make(*parts: bytes) -> FaultableResponse:
    return replace(BASE, chunks=tuple(Chunk(float(n), part, n + 1) for n, part in enumerate(parts)))


@pytest.mark.parametrize(
    ("position", "kept", "tokens"),
    [
        pytest.param(0, [], [], id="at the beginning"),
        pytest.param(2, [b"ab"], [1], id="between two pieces"),
        pytest.param(3, [b"ab", b"c"], [1, 1], id="a token that is cut has not come"),
        pytest.param(4, [b"ab", b"cd"], [1, 2], id="at the end"),
    ],
)
def test_cut_keeps_preceding_chunks(position: int, kept: list[bytes], tokens: list[int]) -> None:
    cut = make(b"ab", b"cd").cut(position, CloseMode.RESET)
    assert [piece.data for piece in cut.chunks] == kept
    assert [piece.tokens for piece in cut.chunks] == tokens
    assert cut.promised == 4 - position


@pytest.mark.parametrize(
    ("edits", "parts"),
    [
        pytest.param([(0, 0, b"X")], [b"Xab", b"cd"], id="in front"),
        pytest.param([(4, 4, b"X")], [b"ab", b"cdX"], id="behind"),
        pytest.param([(2, 2, b"X")], [b"ab", b"Xcd"], id="between, with the later piece"),
        pytest.param([(1, 3, b"XY")], [b"aXY", b"d"], id="over two pieces, with the first"),
        pytest.param([(0, 4, b"")], [b"", b""], id="all"),
        pytest.param([(0, 1, b"X"), (1, 2, b"Y"), (3, 4, b"")], [b"XY", b"c"], id="several"),
    ],
)
def test_edits_preserve_chunk_boundaries(edits: list[tuple[int, int, bytes]], parts: list[bytes]) -> None:
    assert [piece.data for piece in make(b"ab", b"cd").edit(edits).chunks] == parts


def test_event_ends_at_its_last_chunk() -> None:
    parts = Chunk(0, b"a", last=False), Chunk(0, b"b"), Chunk(0, b""), Chunk(0, b"c", last=False)
    delivery = replace(BASE, chunks=parts)
    assert delivery.events() == [EventRange(0, 2), EventRange(2, 3)]


@given(pieces, st.integers(0, 40))
def test_divide_preserves_all_bytes(parts: tuple[Chunk, ...], position: int) -> None:
    delivery = replace(BASE, chunks=parts)
    before, after = delivery.divide(position)
    assert b"".join(piece.data for piece in (*before, *after)) == delivery.body
    assert sum(len(piece.data) for piece in before) == min(position, delivery.size)


@given(pieces, st.lists(st.tuples(st.integers(0, 36), st.integers(0, 4), st.binary(max_size=3)), max_size=4))
def test_edits_of_chunks_equal_edits_of_body(parts: tuple[Chunk, ...], wanted: list[tuple[int, int, bytes]]) -> None:
    delivery = replace(BASE, chunks=parts)
    edits: list[tuple[int, int, bytes]] = []
    for start, length, new in sorted(wanted):
        if start + length <= delivery.size and (not edits or start > edits[-1][1]):
            edits.append((start, start + length, new))
    body = delivery.body
    for start, end, new in reversed(edits):
        body = body[:start] + new + body[end:]
    assert parts == () or delivery.edit(edits).body == body


@given(pieces)
def test_writes_contain_every_byte_and_are_never_empty(parts: tuple[Chunk, ...]) -> None:
    written = [data for _, data, _ in join_writes(parts)]
    assert b"".join(written) == b"".join(piece.data for piece in parts)
    assert all(written)
