"""Documents that a store keeps."""

from emulator.core.state import State


async def test_what_is_stored_is_there(state: State) -> None:
    assert await state.fetch("", "shelf") == {}
    assert await state.store("", "shelf", "a", {"n": 1}, None)
    assert await state.fetch("", "shelf") == {"a": {"n": 1}}


async def test_a_document_takes_the_place_of_the_one_before(state: State) -> None:
    await state.store("", "shelf", "a", {"n": 1}, None)
    assert not await state.store("", "shelf", "a", {"n": 2}, None)
    assert not await state.store("", "shelf", "a", {"n": 2}, {"n": 0})
    assert await state.fetch("", "shelf") == {"a": {"n": 1}}
    assert await state.store("", "shelf", "a", {"n": 2}, {"n": 1})
    assert await state.fetch("", "shelf") == {"a": {"n": 2}}


async def test_nothing_in_its_place_forgets_a_document(state: State) -> None:
    await state.store("", "shelf", "a", {"n": 1}, None)
    assert await state.store("", "shelf", "a", None, {"n": 1})
    assert await state.fetch("", "shelf") == {}


async def test_what_was_fetched_stays_as_it_was(state: State) -> None:
    await state.store("", "shelf", "a", 1, None)
    before = await state.fetch("", "shelf")
    await state.store("", "shelf", "b", 2, None)
    assert before == {"a": 1}


async def test_documents_are_apart_by_session_and_shelf(state: State) -> None:
    await state.store("one", "shelf", "a", 1, None)
    assert await state.fetch("two", "shelf") == {}
    assert await state.fetch("one", "other") == {}


async def test_a_reset_forgets_documents(state: State) -> None:
    for session in ("one", "two"):
        await state.store(session, "shelf", "a", 1, None)
    await state.reset("one")
    assert [dict(await state.fetch(session, "shelf")) for session in ("one", "two")] == [{}, {"a": 1}]
    await state.reset()
    assert await state.fetch("two", "shelf") == {}
