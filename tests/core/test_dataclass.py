"""Records: dataclasses that are frozen for the type checker only."""

import pickle
from copy import copy
from dataclasses import dataclass, field, replace

import pytest

from emulator.core.dataclass import fast_dataclass
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


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    parts: list[object] = field(default_factory=list, hash=False, compare=False)
    secret: str = field(default="", repr=False)


@fast_dataclass(frozen=True, slots=True)
class Fast:
    name: str
    parts: list[object] = field(default_factory=list, hash=False, compare=False)
    secret: str = field(default="", repr=False)


@fast_dataclass(slots=True)
class Worded:
    """Record with methods of its own."""

    name: str

    def __repr__(self) -> str:
        return "worded"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@fast_dataclass(slots=True)
class Changing:
    name: str


@fast_dataclass(frozen=True, slots=True)
class Empty:
    pass


def test_methods_are_those_of_dataclass() -> None:
    fast, plain = Fast("a", [1], "s"), Plain("a", [1], "s")
    other: object = plain
    assert repr(fast) == repr(plain).replace("Plain", "Fast")
    fast.parts.append(fast)
    plain.parts.append(plain)
    assert repr(fast) == repr(plain).replace("Plain", "Fast")
    assert [fast == Fast("a", [], "s"), fast == Fast("a"), fast == other] == [True, False, False]
    assert hash(fast) == hash(Fast("a", [2], "s"))
    assert pickle.loads(pickle.dumps(fast)) == copy(fast) == fast  # of this process
    assert (Empty() == Empty(), hash(Empty()) == hash(Empty()), repr(Empty())) == (True, True, "Empty()")


def test_own_methods_stay() -> None:
    assert (repr(Worded("a")), Worded("a") == Worded("b")) == ("worded", True)


def test_unfrozen_record_has_no_hash() -> None:
    assert Changing("a") == Changing("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changing("a"))
