"""Tests of metric totals and their bounds."""

from dataclasses import dataclass

import pytest

from emulator.observability.totals import DURATIONS, FIRST_TOKENS, OTHER, MetricTotals, Series

LABELS = ("chat", "toy", "m", 200, "")


@dataclass
class Counted:
    """Hand-made record of a finished request."""

    asked_operation: str | None = "chat"
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


def _count(*durations: float) -> Series:
    """Return the totals of requests with these durations."""
    totals = MetricTotals()
    totals.add([Counted(duration=duration) for duration in durations], LABELS)
    return totals.series[LABELS]


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
def test_value_is_counted_in_its_bucket(value: float, bucket: int) -> None:
    histogram = _count(value).duration
    assert (histogram.counts.index(1), sum(histogram.counts), histogram.total) == (bucket, 1, value)


def test_values_added_together_fall_into_their_buckets() -> None:
    histogram = _count(0.005, 0.02, 0.03, 1e9).duration
    assert [place for place, count in enumerate(histogram.counts) if count] == [0, 1, 2, len(DURATIONS)]
    assert sum(histogram.counts) == 4
    assert histogram.total == pytest.approx(1e9 + 0.055)


def test_buckets_follow_conventions() -> None:
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
def test_first_token_is_recorded_only_for_successful_streams(call: Counted, firsts: int) -> None:
    totals = MetricTotals()
    totals.add([call], LABELS)
    series = totals.series[LABELS]
    assert (sum(series.duration.counts), sum(series.first_token.counts)) == (1, firsts)


def test_series_size_is_constant_per_label_set() -> None:
    totals = MetricTotals()
    totals.add([Counted()], LABELS)
    room = len(totals.series[LABELS].figures)
    for _ in range(1000):
        totals.add([Counted()], LABELS)
    series = totals.series[LABELS]
    assert len(series.figures) == room
    assert (series.count, sum(series.duration.counts), series.duration.total) == (1001, 1001, 1001.0)


def test_label_sets_are_counted_separately() -> None:
    totals = MetricTotals()
    other = ("chat", "toy", "n", 200, "")
    totals.add([Counted(prompt_tokens=2, sent_tokens=3, duration=2.5)], LABELS)
    totals.add([Counted(prompt_tokens=5, sent_tokens=7, stream=False)] * 2, other)
    one, two = totals.series[LABELS], totals.series[other]
    assert [(each.count, each.prompt_tokens, each.sent_tokens) for each in (one, two)] == [(1, 2, 3), (2, 10, 14)]
    assert (one.first_token.total, one.per_token.total, two.duration.total) == (0.5, 1.0, 2.0)
    assert (sum(one.per_token.counts), sum(two.per_token.counts)) == (1, 0)


def test_merge_adds_histograms() -> None:
    merged = _count(0.005, 1.0).duration.merge(_count(0.005).duration)
    assert (merged.counts[0], sum(merged.counts)) == (2, 3)
    assert merged.total == pytest.approx(1.01)


def test_rule_names_are_bounded() -> None:
    totals = MetricTotals()
    for number in range(1100):
        totals.add([Counted(rule=f"rule {number}")], LABELS)
    assert (len(totals.rules), totals.rules[OTHER], totals.rules["rule 1"]) == (1001, 100, 1)


def test_label_sets_are_bounded_without_losing_calls() -> None:
    totals = MetricTotals(most=10)
    for number in range(400):
        totals.add([Counted()], ("chat", "toy", f"m{number}", 200 + number, ""))
    assert len(totals.series) <= 2 * 10 + 5
    assert sum(series.count for series in totals.series.values()) == 400
    assert totals.series["chat", "toy", OTHER, 500, ""].count == 100
    assert totals.series["chat", "toy", "m9", 209, ""].count == 1
