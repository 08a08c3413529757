"""Documents are bounded by what they take, over all sessions; those written longest ago go first."""

import pytest

from emulator.core.json import JSON
from emulator.storage.documents import DocumentStore, estimate_size

_TEXT = "x" * 1000


async def _fill(shelves: DocumentStore, count: int, session: str = "a") -> None:
    for number in range(count):
        assert await shelves.store(session, "shelf", str(number), {"text": _TEXT}, None)


async def test_document_store_evicts_oldest_beyond_limit() -> None:
    shelves = DocumentStore(max_size=20_000)
    await _fill(shelves, 100)
    kept = shelves.fetch("a", "shelf")
    assert [*kept] == [str(number) for number in range(100 - len(kept), 100)]
    assert 10 <= len(kept) <= 20


async def test_sessions_share_document_store_limit() -> None:
    shelves = DocumentStore(max_size=20_000)
    await _fill(shelves, 10, "a")
    await _fill(shelves, 100, "b")
    assert not shelves.fetch("a", "shelf")
    assert shelves.fetch("b", "shelf")


async def test_rewritten_document_counts_once_and_becomes_newest() -> None:
    shelves = DocumentStore(max_size=20_000)
    await _fill(shelves, 10)
    for _ in range(50):
        assert await shelves.store("a", "shelf", "0", {"text": _TEXT}, {"text": _TEXT})
    assert len(shelves.fetch("a", "shelf")) == 10
    await _fill(shelves, 14, "b")
    assert "0" in shelves.fetch("a", "shelf")


async def test_oversized_document_is_not_stored() -> None:
    shelves = DocumentStore(max_size=20_000)
    assert await shelves.store("a", "shelf", "large", "x" * 50_000, None)
    assert not shelves.fetch("a", "shelf")


@pytest.mark.parametrize("session", [pytest.param("a", id="a session"), pytest.param(None, id="all")])
async def test_reset_frees_document_store_space(session: str | None) -> None:
    shelves = DocumentStore(max_size=20_000)
    for _ in range(50):
        await _fill(shelves, 10)
        assert len(shelves.fetch("a", "shelf")) == 10
        shelves.reset(session)
        assert not shelves.fetch("a", "shelf")


async def test_large_document_is_measured_completely() -> None:
    shelves = DocumentStore(max_size=10_000_000)
    document: JSON = [[1, 2]] * 30_000
    assert estimate_size(document, 10_000) is None
    assert await shelves.store("a", "shelf", "many", document, None)
    assert (estimate_size(document) or 0) > 30_000 * 3 * 64
