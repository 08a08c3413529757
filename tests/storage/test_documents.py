"""Documents that a store keeps."""

from emulator.core.storage import State


async def test_stored_document_is_fetched(state: State) -> None:
    assert await state.fetch("", "shelf") == {}
    assert await state.store("", "shelf", "a", {"n": 1}, None)
    assert await state.fetch("", "shelf") == {"a": {"n": 1}}


async def test_document_is_replaced_only_if_expected_matches(state: State) -> None:
    await state.store("", "shelf", "a", {"n": 1}, None)
    assert not await state.store("", "shelf", "a", {"n": 2}, None)
    assert not await state.store("", "shelf", "a", {"n": 2}, {"n": 0})
    assert await state.fetch("", "shelf") == {"a": {"n": 1}}
    assert await state.store("", "shelf", "a", {"n": 2}, {"n": 1})
    assert await state.fetch("", "shelf") == {"a": {"n": 2}}


async def test_storing_null_deletes_document(state: State) -> None:
    await state.store("", "shelf", "a", {"n": 1}, None)
    assert await state.store("", "shelf", "a", None, {"n": 1})
    assert await state.fetch("", "shelf") == {}


async def test_fetched_documents_are_snapshot(state: State) -> None:
    await state.store("", "shelf", "a", 1, None)
    before = await state.fetch("", "shelf")
    await state.store("", "shelf", "b", 2, None)
    assert before == {"a": 1}


async def test_documents_are_separate_by_session_and_shelf(state: State) -> None:
    await state.store("one", "shelf", "a", 1, None)
    assert await state.fetch("two", "shelf") == {}
    assert await state.fetch("one", "other") == {}


async def test_reset_deletes_documents(state: State) -> None:
    for session in ("one", "two"):
        await state.store(session, "shelf", "a", 1, None)
    await state.reset("one")
    assert [dict(await state.fetch(session, "shelf")) for session in ("one", "two")] == [{}, {"a": 1}]
    await state.reset()
    assert await state.fetch("two", "shelf") == {}


TEXT = "x" * 500  # of which a small store holds three


async def test_oldest_documents_of_all_sessions_are_evicted(small: State) -> None:
    for number in range(20):
        assert await small.store("one", "shelf", str(number), TEXT, None)
    assert [*await small.fetch("one", "shelf")] == ["17", "18", "19"]
    for number in range(2):
        assert await small.store("two", "other", str(number), TEXT, None)
    assert [*await small.fetch("one", "shelf")] == ["19"]
    assert [*await small.fetch("two", "other")] == ["0", "1"]


async def test_rewritten_document_counts_once_and_becomes_recent(small: State) -> None:
    for name in "abc":
        assert await small.store("", "shelf", name, TEXT, None)
    for _ in range(20):
        assert await small.store("", "shelf", "a", TEXT, TEXT)
    assert [*await small.fetch("", "shelf")] == ["a", "b", "c"]
    assert await small.store("", "shelf", "d", TEXT, None)
    assert [*await small.fetch("", "shelf")] == ["a", "c", "d"]


async def test_oversized_document_is_not_stored(small: State) -> None:
    assert await small.store("", "shelf", "large", TEXT * 5, None)
    assert await small.fetch("", "shelf") == {}
    assert await small.store("", "shelf", "a", TEXT, None)
    assert [*await small.fetch("", "shelf")] == ["a"]


async def test_deleted_documents_free_space(small: State) -> None:
    for turn in range(10):
        for number in range(3):
            assert await small.store("one", "shelf", f"{number}", TEXT, None)
        assert len(await small.fetch("one", "shelf")) == 3
        if turn % 2:
            await small.reset("one")
        else:
            for name in [*await small.fetch("one", "shelf")]:
                assert await small.store("one", "shelf", name, None, TEXT)
        assert await small.fetch("one", "shelf") == {}
