"""What is counted of calls, and in how much room."""

from dataclasses import dataclass

import pytest

from emulator.control.totals import DURATIONS, FIRST_TOKENS, OTHER, Histogram, Totals

LABELS = ("chat", "toy", "m", 200, "")


@dataclass
class Counted:
    """A call made by hand."""

    operation: str | None = "chat"
    deployment: str | None = "m"
    status: int = 200
    failure: str = ""
    rule: str | None = None
    faults: tuple[str, ...] = ()
    prompt_tokens: int = 1
    sent_tokens: int = 1
    duration: float = 1.0
    ttft: float | None = 0.5
    stream: bool = True

    @property
    def kind(self) -> object:
        return id(self)


@pytest.mark.parametrize(
    ("value", "bucket"),
    [
        pytest.param(0.0, 0, id="nothing"),
        pytest.param(0.01, 0, id="a bound belongs to its bucket"),
        pytest.param(0.0100001, 1, id="just more"),
        pytest.param(81.92, 13, id="the last bound"),
        pytest.param(1e9, 14, id="beyond"),
    ],
)
def test_a_value_falls_into_a_bucket(value: float, bucket: int) -> None:
    histogram = Histogram(DURATIONS)
    histogram.waiting.append(value)
    histogram.settle()
    assert (histogram.counts.index(1), sum(histogram.counts), histogram.total) == (bucket, 1, value)


def test_buckets_are_those_of_the_conventions() -> None:
    assert [f"{bound:g}" for bound in DURATIONS[:4]] == ["0.01", "0.02", "0.04", "0.08"]
    assert (len(DURATIONS), DURATIONS[-1], len(FIRST_TOKENS)) == (14, pytest.approx(81.92), 16)


@pytest.mark.parametrize(
    ("call", "firsts"),
    [
        pytest.param(Counted(), 1, id="a stream"),
        pytest.param(Counted(stream=False), 0, id="an answer in one piece"),
        pytest.param(Counted(failure="cut"), 0, id="a stream that failed"),
        pytest.param(Counted(ttft=None), 0, id="one that never began"),
    ],
)
def test_first_tokens_are_those_of_streams_that_succeeded(call: Counted, firsts: int) -> None:
    totals = Totals()
    totals.add([call], LABELS)
    totals.settle()
    series = totals.series[LABELS]
    assert (sum(series.duration.counts), sum(series.first_token.counts)) == (1, firsts)


def test_what_waits_to_be_counted_is_bounded() -> None:
    totals = Totals()
    for _ in range(1000):
        totals.add([Counted()], LABELS)
    series = totals.series[LABELS]
    assert len(series.duration.waiting) < 256
    totals.settle()
    assert (series.count, sum(series.duration.counts), series.duration.total) == (1000, 1000, 1000.0)


def test_histograms_of_calls_with_other_statuses_are_one() -> None:
    one, two = Histogram(DURATIONS), Histogram(DURATIONS)
    one.waiting, two.waiting = [0.005, 1.0], [0.005]
    for each in (one, two):
        each.settle()
    merged = one.merge(two)
    assert (merged.counts[0], sum(merged.counts)) == (2, 3)
    assert merged.total == pytest.approx(1.01)


def test_rules_have_names_up_to_a_bound() -> None:
    totals = Totals()
    for number in range(1100):
        totals.add([Counted(rule=f"rule {number}")], LABELS)
    assert (len(totals.rules), totals.rules[OTHER], totals.rules["rule 1"]) == (1001, 100, 1)


def test_labels_are_told_apart_up_to_a_bound_and_no_call_is_lost() -> None:
    totals = Totals(most=10)
    for number in range(400):
        totals.add([Counted()], ("chat", "toy", f"m{number}", 200 + number, ""))
    assert len(totals.series) <= 2 * 10 + 5
    assert sum(series.count for series in totals.series.values()) == 400
    assert totals.series["chat", "toy", OTHER, 500, ""].count == 100
    assert totals.series["chat", "toy", "m9", 209, ""].count == 1
