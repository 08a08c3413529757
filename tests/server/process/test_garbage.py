"""When everything is looked through."""

import pytest

from emulator.server.process.garbage import Garbage


@pytest.mark.parametrize(
    ("count", "busy", "looks"),
    [
        pytest.param(14, False, 0, id="little is new"),
        pytest.param(15, False, 1, id="much is new, and nobody waits"),
        pytest.param(15, True, 0, id="somebody would wait"),
        pytest.param(39, True, 0, id="somebody still would"),
        pytest.param(40, True, 1, id="too much is new"),
    ],
)
def test_it_is_looked_for_when_nobody_waits(count: int, busy: bool, looks: int) -> None:
    looked: list[int] = []

    def collect() -> int:
        looked.append(1)
        return 0

    Garbage(lambda: busy, lambda: count, collect).tidy()
    assert len(looked) == looks


def test_where_much_stays_much_may_come() -> None:
    counts, looked = iter([40, 49, 50]), []

    def collect() -> int:
        looked.append(1)
        return 1_000_000

    garbage = Garbage(lambda: True, lambda: next(counts), collect)
    for looks in (1, 1, 2):
        garbage.tidy()
        assert len(looked) == looks
