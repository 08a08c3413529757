"""Tests of labelled totals."""

from dataclasses import dataclass

from emulator.observability.totals import OTHER
from emulator.observability.vendor_metrics import LabelledTotals
from tests.observability.test_totals import Counted


@dataclass
class Ended(Counted):
    """Hand-made record of a finished request."""

    over: bool = True
    path: str = "/chat"
    session: str = ""


def alone(*calls: Ended) -> list[list[Ended]]:
    """Return requests as sequences of one kind each."""
    return [[call] for call in calls]


def make() -> LabelledTotals:
    sums = LabelledTotals(lambda path: f"of {path}")
    sums.register(["m"])
    return sums


def models(sums: LabelledTotals, session: str | None = None) -> dict[str, int]:
    return {model: series.count for (_, _, model, _, _), series in sums.of(session).series.items()}


def test_unknown_models_are_grouped() -> None:
    sums = make()
    sums.add(
        alone(
            Ended(),
            Ended(deployment="invented"),
            Ended(deployment="another"),
            Ended(deployment=None, asked_operation=None),
        )
    )
    assert models(sums) == {"m": 1, OTHER: 2, "": 1}


def test_provider_is_derived_from_path() -> None:
    sums = make()
    sums.add(alone(Ended(path="/a"), Ended(path="/b")))
    assert [provider for _, provider, _, _, _ in sums.of(None).series] == ["of /a", "of /b"]


def test_unfinished_call_is_counted_after_it_ends() -> None:
    sums, call = make(), Ended(over=False)
    sums.add(alone(call, Ended()))
    assert models(sums) == {"m": 1}
    call.over = True
    assert models(sums) == {"m": 2}
    assert models(sums) == {"m": 2}


def test_session_totals_are_bounded() -> None:
    sums = make()
    sums.add(alone(*[Ended(session=f"s{number}") for number in range(1100)]))
    sums.add(alone(Ended(session="s1099")))
    assert (models(sums, "s0"), models(sums, "s1099"), models(sums)) == ({}, {"m": 2}, {"m": 1101})


def test_forgotten_session_has_no_totals() -> None:
    sums = make()
    sums.add(alone(Ended(session="a")))
    sums.forget("a")
    assert (models(sums, "a"), models(sums)) == ({}, {"m": 1})
