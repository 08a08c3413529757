"""Tests of merging the metrics of several processes."""

from emulator.observability.metrics import add_metrics, merge_metrics

ONE = """# HELP build_info Version.
# TYPE build_info gauge
build_info{version="1"} 1
# HELP asked_total Calls.
# TYPE asked_total counter
asked_total{vendor="a"} 2
# HELP late_seconds Late.
# TYPE late_seconds histogram
late_seconds_bucket{le="0.1"} 1
late_seconds_bucket{le="+Inf"} 2
late_seconds_sum 0.25
late_seconds_count 2
"""
TWO = """# HELP build_info Version.
# TYPE build_info gauge
build_info{version="1"} 1
# HELP asked_total Calls.
# TYPE asked_total counter
asked_total{vendor="a"} 3
asked_total{vendor="b{}"} 1
"""


def test_add_metrics_sums_counters_and_keeps_equal_gauges() -> None:
    assert add_metrics({"x": ONE, "y": TWO}) == ONE.replace(
        'asked_total{vendor="a"} 2\n', 'asked_total{vendor="a"} 5\nasked_total{vendor="b{}"} 1\n'
    )


def test_merge_metrics_labels_samples_by_replica() -> None:
    lines = merge_metrics({"x": ONE, "y": TWO}).splitlines()
    assert [line for line in lines if "asked_total{" in line] == [
        'asked_total{replica="x",vendor="a"} 2',
        'asked_total{replica="y",vendor="a"} 3',
        'asked_total{replica="y",vendor="b{}"} 1',
    ]
    assert 'late_seconds_sum{replica="x"} 0.25' in lines
    assert lines.count("# TYPE asked_total counter") == 1


def test_add_metrics_of_one_process_is_identity() -> None:
    assert add_metrics({"x": ONE}) == ONE
