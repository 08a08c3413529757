"""A store is chosen by its URL."""

import pytest

from emulator.state import StoreError, open_state
from emulator.state.memory import MemoryState


def test_the_default_is_the_memory_of_the_process() -> None:
    assert isinstance(open_state(), MemoryState)


async def test_every_store_opened_is_empty() -> None:
    await open_state("memory://").count("", "rule", b"a")
    assert await open_state("memory://").count("", "rule", b"a") == 0


@pytest.mark.parametrize("url", ["", "memory", "tape://reel"])
def test_a_url_of_no_store_names_those_there_are(url: str) -> None:
    with pytest.raises(StoreError, match=r"memory://"):
        open_state(url)
