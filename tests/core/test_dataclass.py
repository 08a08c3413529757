"""Records: dataclasses that are frozen for the type checker only."""

from dataclasses import replace

from emulator.core.plan import Usage
from emulator.core.requests import Message, Sampling


def test_records_compare_by_value_and_are_hashable() -> None:
    assert Message(role="user", text="Hi") == Message(role="user", text="Hi")
    assert len({Sampling(seed=1), Sampling(seed=1), Sampling(seed=2)}) == 2


def test_replace_leaves_original_unchanged() -> None:
    usage = Usage(1, 2)
    assert (replace(usage, prompt_tokens=5), usage) == (Usage(5, 2), Usage(1, 2))


def test_records_use_slots() -> None:
    assert not hasattr(Usage(), "__dict__")
