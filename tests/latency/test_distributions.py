"""Quantiles of each latency distribution."""

import math

import pytest
from pydantic import TypeAdapter, ValidationError

from emulator.core.json import as_object
from emulator.latency import Delay
from emulator.latency.distributions import Distribution
from tests.untyped_json import JSON

DELAY: TypeAdapter[Distribution] = TypeAdapter(Delay)
MANY = 10_000
KEY = b"some key"

ALL = [
    pytest.param("20ms", id="constant as a bare duration"),
    pytest.param({"type": "constant", "value": "20ms"}, id="constant"),
    pytest.param({"type": "uniform", "low": "10ms", "high": "30ms"}, id="uniform"),
    pytest.param({"type": "normal", "mean": "12ms", "stddev": "30ms"}, id="normal"),
    pytest.param({"type": "lognormal", "median": "180ms", "p99": "900ms"}, id="lognormal by p99"),
    pytest.param({"type": "lognormal", "median": "180ms", "sigma": 0.7}, id="lognormal by sigma"),
    pytest.param({"type": "lognormal", "median": "180ms", "mean": "200ms"}, id="lognormal by mean"),
    pytest.param({"type": "gamma", "mean": "50ms", "cv": 0.5}, id="gamma"),
    pytest.param({"type": "gamma", "mean": "50ms", "cv": 3.0}, id="gamma of a shape below one"),
    pytest.param({"type": "pareto", "minimum": "10ms", "alpha": 1.5}, id="pareto"),
    pytest.param({"type": "empirical", "quantiles": {"p50": "1s", "p99": "3s"}}, id="empirical"),
    pytest.param({"type": "histogram", "edges": ["0s", "1s", "3s"], "weights": [1, 2]}, id="histogram"),
    pytest.param(
        {
            "type": "mixture",
            "parts": [
                {"weight": 9, "type": "constant", "value": "10ms"},
                {"weight": 1, "type": "uniform", "low": "1s", "high": "2s"},
            ],
        },
        id="mixture",
    ),
]


def sample(spec: JSON, count: int = MANY, key: bytes = KEY) -> list[float]:
    return DELAY.validate_python(spec).sample(key, count)


def quantile(draws: list[float], p: float) -> float:
    return sorted(draws)[min(int(p * len(draws)), len(draws) - 1)]


@pytest.mark.covers("language/latency types", "constant", case="a constant is low")
@pytest.mark.covers("language/latency types", "uniform", case="uniform, first quarter")
@pytest.mark.covers("language/latency types", "normal", case="normal, one deviation")
@pytest.mark.covers("language/latency types", "lognormal", case="lognormal, p99")
@pytest.mark.covers("language/latency types", "gamma", case="gamma of shape two, p90")
@pytest.mark.covers("language/latency types", "pareto", case="pareto, heavy tail")
@pytest.mark.covers("language/latency types", "empirical", case="empirical, between two quantiles")
@pytest.mark.covers("language/latency types", "histogram", case="histogram with an empty bin")
@pytest.mark.parametrize(
    ("spec", "p", "seconds"),
    [
        pytest.param("20ms", 0.01, 0.020, id="a constant is low"),
        pytest.param("20ms", 0.99, 0.020, id="a constant is high"),
        pytest.param({"type": "uniform", "low": "10ms", "high": "30ms"}, 0.25, 0.015, id="uniform, first quarter"),
        pytest.param({"type": "uniform", "low": "10ms", "high": "30ms"}, 0.9, 0.028, id="uniform, nine tenths"),
        pytest.param({"type": "normal", "mean": "12ms", "stddev": "3ms"}, 0.5, 0.012, id="normal, mean"),
        pytest.param({"type": "normal", "mean": "12ms", "stddev": "3ms"}, 0.8413, 0.015, id="normal, one deviation"),
        pytest.param({"type": "lognormal", "median": "180ms", "p99": "900ms"}, 0.5, 0.180, id="lognormal, median"),
        pytest.param({"type": "lognormal", "median": "180ms", "p99": "900ms"}, 0.99, 0.900, id="lognormal, p99"),
        pytest.param(
            {"type": "lognormal", "median": "1s", "sigma": 0.5}, 0.8413, math.exp(0.5), id="lognormal, one sigma"
        ),
        pytest.param({"type": "pareto", "minimum": "10ms", "alpha": 2.0}, 0.75, 0.020, id="pareto, three quarters"),
        pytest.param({"type": "pareto", "minimum": "10ms", "alpha": 1.0}, 0.9, 0.100, id="pareto, heavy tail"),
        pytest.param({"type": "gamma", "mean": "1s", "cv": 1.0}, 0.5, math.log(2), id="gamma that is exponential"),
        pytest.param({"type": "gamma", "mean": "1s", "cv": 2**0.5}, 0.5, 0.4549, id="gamma that is chi-squared"),
        pytest.param({"type": "gamma", "mean": "1s", "cv": 0.5**0.5}, 0.9, 1.9449, id="gamma of shape two, p90"),
        pytest.param(
            {"type": "empirical", "quantiles": {"p50": "200ms", "p90": "400ms", "p99": "2s"}},
            0.7,
            0.300,
            id="empirical, between two quantiles",
        ),
        pytest.param(
            {"type": "empirical", "quantiles": {"p0": "100ms", "p50": "200ms", "p99.9": "2s"}},
            0.25,
            0.150,
            id="empirical, from a minimum",
        ),
        pytest.param({"type": "histogram", "edges": ["0s", "1s", "3s"], "weights": [3, 1]}, 0.375, 0.5, id="histogram"),
        pytest.param(
            {"type": "histogram", "edges": ["0s", "1s", "2s", "3s"], "weights": [1, 0, 1]},
            0.75,
            2.5,
            id="histogram with an empty bin",
        ),
    ],
)
def test_quantile(spec: JSON, p: float, seconds: float) -> None:
    assert quantile(sample(spec), p) == pytest.approx(seconds, rel=0.08)


@pytest.mark.parametrize(
    ("spec", "mean"),
    [
        pytest.param({"type": "lognormal", "median": "1s", "mean": "1200ms"}, 1.2, id="lognormal by mean"),
        pytest.param({"type": "gamma", "mean": "50ms", "cv": 0.3}, 0.05, id="gamma"),
        pytest.param({"type": "gamma", "mean": "50ms", "cv": 2.0}, 0.05, id="gamma of a shape below one"),
    ],
)
def test_mean(spec: JSON, mean: float) -> None:
    assert sum(sample(spec)) / MANY == pytest.approx(mean, rel=0.08)


def test_gamma_matches_its_cv() -> None:
    draws = sample({"type": "gamma", "mean": "50ms", "cv": 0.4})
    mean = sum(draws) / MANY
    deviation = math.sqrt(sum((draw - mean) ** 2 for draw in draws) / MANY)
    assert deviation / mean == pytest.approx(0.4, rel=0.05)


@pytest.mark.covers("language/latency types", "mixture")
def test_mixture_draws_parts_by_weight() -> None:
    parts: JSON = [{"weight": 3, "type": "constant", "value": "1s"}, {"weight": 1, "type": "constant", "value": "2s"}]
    draws = sample({"type": "mixture", "parts": parts})
    assert draws.count(2.0) / MANY == pytest.approx(0.25, abs=0.02)
    assert draws.count(1.0) + draws.count(2.0) == MANY


def test_zero_weight_part_is_never_drawn() -> None:
    parts: JSON = [{"weight": 0, "type": "constant", "value": "1s"}, {"weight": 1, "type": "constant", "value": "2s"}]
    assert set(sample({"type": "mixture", "parts": parts}, 1000)) == {2.0}


def test_normal_is_clamped_at_zero() -> None:
    draws = sample({"type": "normal", "mean": "1ms", "stddev": "10ms"})
    assert draws.count(0.0) / MANY == pytest.approx(0.46, abs=0.02)


def test_empirical_ends_at_its_outermost_quantiles() -> None:
    draws = sample({"type": "empirical", "quantiles": {"p50": "200ms", "p99": "2s"}})
    assert (min(draws), max(draws)) == (0.2, 2.0)


@pytest.mark.covers("language/keys of latency", "max")
@pytest.mark.parametrize("spec", ALL)
def test_max_clamps_draws(spec: JSON) -> None:
    whole = as_object({"type": "constant", "value": spec} if isinstance(spec, str) else spec)
    free, cut = sample(whole, 1000), sample({**whole, "max": "15ms"}, 1000)
    assert cut == [min(draw, 0.015) for draw in free]
    assert max(cut) == 0.015


@pytest.mark.parametrize("spec", ALL)
def test_draws_are_deterministic_and_prefix_stable(spec: JSON) -> None:
    draws = sample(spec, 50)
    assert sample(spec, 50) == draws
    assert sample(spec, 20) == draws[:20]
    if len(set(draws)) > 1:
        assert sample(spec, 50, b"another key") != draws


@pytest.mark.parametrize("spec", ALL)
def test_draws_are_finite_and_never_negative(spec: JSON) -> None:
    assert all(0 <= draw < math.inf for draw in sample(spec))


def test_draws_are_stable_across_processes() -> None:
    assert sample({"type": "uniform", "low": "0s", "high": "1s"}, 2, b"key") == [
        0.4081360801216284,
        0.8074111758245476,
    ]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(12, id="a bare number"),
        pytest.param("12", id="no unit"),
        pytest.param(None, id="nothing"),
        pytest.param({"value": "1s"}, id="no type"),
        pytest.param({"type": "lognorml", "median": "1s"}, id="an unknown type"),
        pytest.param({"type": "constant", "value": 1}, id="a bare number inside"),
        pytest.param({"type": "constant", "value": "1s", "mean": "1s"}, id="a key of another type"),
        pytest.param({"type": "constant", "value": "1s", "weight": 1}, id="a weight outside a mixture"),
        pytest.param({"type": "uniform", "low": "2s", "high": "1s"}, id="low above high"),
        pytest.param({"type": "lognormal", "median": "1s"}, id="lognormal without spread"),
        pytest.param({"type": "lognormal", "median": "1s", "p99": "2s", "sigma": 1}, id="lognormal with two spreads"),
        pytest.param({"type": "lognormal", "median": "1s", "p99": "500ms"}, id="p99 below the median"),
        pytest.param({"type": "lognormal", "median": "0s", "p99": "500ms"}, id="a median of zero"),
        pytest.param({"type": "gamma", "mean": "1s", "cv": 0}, id="a cv of zero"),
        pytest.param({"type": "pareto", "minimum": "1s", "alpha": -1}, id="a negative power"),
        pytest.param({"type": "empirical", "quantiles": {}}, id="no quantiles"),
        pytest.param({"type": "empirical", "quantiles": {"median": "1s"}}, id="a quantile that is no percentage"),
        pytest.param({"type": "empirical", "quantiles": {"p50": "2s", "p99": "1s"}}, id="quantiles that fall"),
        pytest.param({"type": "histogram", "edges": ["0s", "1s"], "weights": [1, 2]}, id="too few edges"),
        pytest.param({"type": "histogram", "edges": ["1s", "0s"], "weights": [1]}, id="edges that fall"),
        pytest.param({"type": "histogram", "edges": ["0s", "1s"], "weights": [0]}, id="no weight at all"),
        pytest.param({"type": "mixture", "parts": []}, id="a mixture of nothing"),
        pytest.param({"type": "mixture", "parts": [{"type": "constant", "value": "1s"}]}, id="a part without weight"),
    ],
)
def test_invalid_distribution_is_rejected(spec: JSON) -> None:
    with pytest.raises(ValidationError):
        DELAY.validate_python(spec)
