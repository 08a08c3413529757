"""Delay distributions of the scenario language (constant, lognormal, …): their models, and draws from them by key.

``pacing.py`` draws TTFT, ITL and prefill from them.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import shake_128
from itertools import accumulate, count, pairwise
from math import exp, log, sqrt
from statistics import NormalDist
from struct import Struct
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError

from emulator.core.json import JSON
from emulator.core.rng import derive_key
from emulator.core.units import DURATION_SCHEMA, MAX_DURATION, Duration, StrictModel, require

quantile_of_normal = NormalDist().inv_cdf


def draw_uniforms(key: bytes, size: int) -> list[float]:
    """Draw ``size`` numbers strictly between 0 and 1, of 52 bits; a smaller size gives a prefix of a larger one."""
    words = Struct(f">{size}Q").unpack(shake_128(key).digest(8 * size))  # struct.unpack remembers each form
    return [((word >> 12) + 0.5) * 2.0**-52 for word in words]


def draw_endlessly(key: bytes) -> Iterator[float]:
    """Yield uniform numbers without end, for rejection sampling."""
    for block in count():
        yield from draw_uniforms(derive_key(key, block), 32)


def draw_gamma(shape: float, uniforms: Iterator[float]) -> float:
    """Draw from the gamma distribution with mean ``shape``, by rejection sampling.

    Source: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000.
    """
    if shape < 1:
        return draw_gamma(shape + 1, uniforms) * exp(log(next(uniforms)) / shape)
    d = shape - 1 / 3
    while True:
        x = quantile_of_normal(next(uniforms))
        v = (1 + x / sqrt(9 * d)) ** 3
        if v > 0 and log(next(uniforms)) < 0.5 * x * x + d * (1 - v + log(v)):
            return d * v


def interpolate(xs: Sequence[float], ys: Sequence[float], at: Sequence[float]) -> list[float]:
    """Interpolate linearly between ascending points; constant outside them."""
    values = []
    for x in at:
        right = bisect_left(xs, x)
        if 0 < right < len(xs):
            left = right - 1
            values.append(ys[left] + (ys[right] - ys[left]) * (x - xs[left]) / (xs[right] - xs[left]))
        else:
            values.append(ys[min(right, len(ys) - 1)])
    return values


class Distribution(StrictModel):
    """How a delay varies from draw to draw; seconds, never negative."""

    max: Duration | None = Field(default=None, description="The maximum; a longer delay is set to it.")

    def sample(self, key: bytes, size: int) -> list[float]:
        """Draw ``size`` delays in seconds; the same key gives the same delays, a smaller size a prefix of them."""
        draws = self.draw(key, size)
        top = MAX_DURATION if self.max is None else self.max
        return [min(draw, top) if draw > 0.0 else 0.0 for draw in draws]

    def draw(self, key: bytes, size: int) -> list[float]:
        """Draw ``size`` delays before limiting them to ``max`` and to 0."""
        raise NotImplementedError


class Constant(Distribution):
    """The same delay always."""

    type: Literal["constant"]
    value: Duration = Field(description="The delay.")

    def draw(self, key: bytes, size: int) -> list[float]:
        return [self.value] * size


class Uniform(Distribution):
    """Every delay between ``low`` and ``high`` is equally likely."""

    type: Literal["uniform"]
    low: Duration = Field(description="The shortest delay.")
    high: Duration = Field(description="The longest delay.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.low <= self.high, "expected low to be at most high")
        return self

    def draw(self, key: bytes, size: int) -> list[float]:
        low, width = self.low, self.high - self.low
        return [low + width * u for u in draw_uniforms(key, size)]


class Normal(Distribution):
    """Bell-shaped around ``mean``, cut at 0."""

    type: Literal["normal"]
    mean: Duration = Field(description="The mean.")
    stddev: Duration = Field(description="The standard deviation.")

    def draw(self, key: bytes, size: int) -> list[float]:
        mean, stddev = self.mean, self.stddev
        return [mean + stddev * quantile_of_normal(u) for u in draw_uniforms(key, size)]


class Lognormal(Distribution):
    """Skewed with a long tail, as measured latencies are: ``median`` and one of ``p99``, ``sigma``, ``mean``."""

    type: Literal["lognormal"]
    median: Duration = Field(description="The median: half of the delays are shorter.")
    p99: Duration | None = Field(default=None, description="The 99th percentile: 99 % of the delays are shorter.")
    sigma: float | None = Field(default=None, ge=0, le=50, description="The standard deviation of the logarithm.")
    mean: Duration | None = Field(default=None, description="The mean, which is above the median.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        spread = [value for value in (self.p99, self.sigma, self.mean) if value is not None]
        require(len(spread) == 1, "expected median and exactly one of p99, sigma, mean")
        require(self.median > 0, "expected median to be above 0")
        bound = self.p99 if self.mean is None else self.mean
        require(bound is None or bound >= self.median, "expected p99 or mean to be at least median")
        return self

    @property
    def spread(self) -> float:
        """Return the standard deviation of the logarithm."""
        if self.sigma is not None:
            return self.sigma
        if self.p99 is not None:
            return log(self.p99 / self.median) / quantile_of_normal(0.99)
        return sqrt(2 * log((self.mean or self.median) / self.median))

    def draw(self, key: bytes, size: int) -> list[float]:
        median, spread = self.median, self.spread
        return [median * exp(spread * quantile_of_normal(u)) for u in draw_uniforms(key, size)]


class Gamma(Distribution):
    """The sum of many small waits: ``cv`` is the standard deviation over the mean."""

    type: Literal["gamma"]
    mean: Duration = Field(description="The mean.")
    cv: float = Field(ge=0.001, le=100, description="The standard deviation divided by the mean.")

    def draw(self, key: bytes, size: int) -> list[float]:
        shape = self.cv**-2
        scale = self.mean / shape
        uniforms = draw_endlessly(key)
        return [scale * draw_gamma(shape, uniforms) for _ in range(size)]


class Pareto(Distribution):
    """Few very long delays: beyond ``minimum`` the probability falls with the power ``alpha``."""

    type: Literal["pareto"]
    minimum: Duration = Field(description="The shortest delay.")
    alpha: float = Field(ge=0.001, description="The exponent: the lower, the more long delays.")

    def draw(self, key: bytes, size: int) -> list[float]:
        minimum, power = self.minimum, -1 / self.alpha
        logs = ((power * log(u)) for u in draw_uniforms(key, size))
        return [minimum * exp(min(exponent, 700.0)) for exponent in logs]  # a float ends at exp(709)


class Empirical(Distribution):
    """Measured percentiles, linear between them; no delay is beyond the outermost ones."""

    type: Literal["empirical"]
    quantiles: dict[Annotated[str, Field(pattern=r"^p(\d{1,2}(\.\d+)?|100)$")], Duration] = Field(
        min_length=1, description="Durations by percentile.", examples=[{"p50": "200ms", "p90": "450ms", "p99": "2s"}]
    )

    @property
    def points(self) -> list[tuple[float, float]]:
        """Return pairs of probability and seconds, ascending."""
        return sorted((float(name[1:]) / 100, value) for name, value in self.quantiles.items())

    @model_validator(mode="after")
    def _check(self) -> Self:
        rising = all(low[1] <= high[1] for low, high in pairwise(self.points))
        require(rising, "expected quantiles that do not fall")
        return self

    def draw(self, key: bytes, size: int) -> list[float]:
        points = self.points
        return interpolate([p for p, _ in points], [value for _, value in points], draw_uniforms(key, size))


class Histogram(Distribution):
    """Bins between ``edges``, each as likely as its weight; within a bin every delay is equally likely."""

    type: Literal["histogram"]
    edges: Annotated[tuple[Duration, ...], Field(strict=False, min_length=2)] = Field(
        description="Where the bins begin and end, one more than weights.", examples=[["0s", "100ms", "1s"]]
    )
    weights: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(strict=False, min_length=1)] = Field(
        description="How likely each bin is, relative to the others.", examples=[[9, 1]]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(len(self.edges) == len(self.weights) + 1, "expected one edge more than weights")
        require(all(low <= high for low, high in pairwise(self.edges)), "expected edges that do not fall")
        require(sum(self.weights) > 0, "expected a weight above 0")
        return self

    def draw(self, key: bytes, size: int) -> list[float]:
        bounds = list(accumulate(self.weights, initial=0.0))
        shares = [bound / bounds[-1] for bound in bounds]
        return interpolate(shares, self.edges, draw_uniforms(key, size))


class Weighted(StrictModel):
    """A part of a mixture."""

    weight: float = Field(ge=0, description="How often this part is drawn, relative to the others.")


class ConstantPart(Constant, Weighted):
    pass


class UniformPart(Uniform, Weighted):
    pass


class NormalPart(Normal, Weighted):
    pass


class LognormalPart(Lognormal, Weighted):
    pass


class GammaPart(Gamma, Weighted):
    pass


class ParetoPart(Pareto, Weighted):
    pass


class EmpiricalPart(Empirical, Weighted):
    pass


class HistogramPart(Histogram, Weighted):
    pass


Part = Annotated[
    ConstantPart | UniformPart | NormalPart | LognormalPart | GammaPart | ParetoPart | EmpiricalPart | HistogramPart,
    Field(discriminator="type"),
]


class Mixture(Distribution):
    """Several distributions by their weights: for example, most answers are quick, some wait for a cold cache."""

    type: Literal["mixture"]
    parts: Annotated[tuple[Part, ...], Field(strict=False, min_length=1)] = Field(
        description="Distributions, each with its weight."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(sum(part.weight for part in self.parts) > 0, "expected a weight above 0")
        return self

    def draw(self, key: bytes, size: int) -> list[float]:
        """Draw each part from a key of its own, so that the draws of one part never shift those of another."""
        bounds = list(accumulate(part.weight for part in self.parts))
        columns = [part.sample(derive_key(key, index), size) for index, part in enumerate(self.parts)]
        choices = draw_uniforms(derive_key(key, "part"), size)
        return [columns[bisect_left(bounds, u * bounds[-1])][row] for row, u in enumerate(choices)]


def _read_delay(value: JSON) -> JSON:
    if isinstance(value, str):
        return {"type": "constant", "value": value}
    if not isinstance(value, dict | Distribution):
        raise PydanticCustomError("wanted", "expected a duration with a unit, such as 250ms, or a mapping with type")
    return value


class _OrDuration:
    """JSON Schema annotation that also allows a bare duration, as :func:`_read_delay` does."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JSON:
        return {"anyOf": [DURATION_SCHEMA, handler(schema)]}


Delay = Annotated[
    Constant | Uniform | Normal | Lognormal | Gamma | Pareto | Empirical | Histogram | Mixture,
    Field(discriminator="type"),
    BeforeValidator(_read_delay),
    _OrDuration(),
]
