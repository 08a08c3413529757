"""A store is chosen by its URL."""

import pytest

from emulator.state import StoreError, open_store
from emulator.state.memory import MemoryStore


def test_the_default_is_the_memory_of_the_process() -> None:
    assert isinstance(open_store(), MemoryStore)


async def test_every_world_in_memory_is_empty() -> None:
    store = open_store("memory://")
    await store.open("one").count("", "rule", b"a")
    assert await store.open("one").count("", "rule", b"a") == 0


@pytest.mark.parametrize("url", ["", "memory", "tape://reel"])
def test_a_url_of_no_store_names_those_there_are(url: str) -> None:
    with pytest.raises(StoreError, match=r"memory://, redis://"):
        open_store(url)


def test_a_prefix_that_is_a_pattern_is_refused() -> None:
    with pytest.raises(StoreError, match="prefix"):
        open_store("redis://127.0.0.1?prefix=*")
