"""Estimate latency distributions from measured times, and choose the one of the scenario language that fits best.

``emulator fit`` prints the result. The Bayesian information criterion chooses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, isfinite, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from emulator.fit.traces import MeasuredCall, Trace

Samples = NDArray[np.float64]
_HELD_OUT = 5  # one time in five is held out
_CONSTANT = 1e-3  # spread over the mean below which times are constant
_MAX_REGRESSION = 2000  # calls; the estimator compares all pairs
_MIN_OTHERS = 5  # calls; times of fewer, with another prompt length than most, are no sign of growth with the prompt
_QUANTILES = (0.5, 0.9, 0.99)
_EMPIRICAL = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)
_MAX_ERROR = 0.05  # of a held-out quantile, and of a share of times, past which no family fits
_KS_CRITICAL = 1.63  # over the root of their number: Kolmogorov-Smirnov distance that chance exceeds in 1 % of samples
_SEED = 7  # of the order in which times are taken, which is the same in each run


@dataclass(frozen=True, slots=True)
class FittedFamily:
    """Estimated distribution.

    Fields:
        parameters: parameters by their names in the scenario language; times in seconds.
        times: names of the parameters that are times.
        ppf: returns a quantile.
        cdf: returns the shares of times below values.
        bic: Bayesian information criterion.
    """

    name: str
    parameters: Mapping[str, float]
    times: frozenset[str]
    ppf: Callable[[float], float]
    cdf: Callable[[Samples], Samples]
    bic: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted distribution of one kind of time.

    Fields:
        ks: Kolmogorov-Smirnov distance on the held-out times.
        quantiles: share, measured and fitted seconds, on the held-out times.
        rejected: criterion of the other families by name.
    """

    chosen: FittedFamily
    count: int
    ks: float
    quantiles: tuple[tuple[float, float, float], ...]
    rejected: Mapping[str, float]
    held_out: Samples

    @property
    def worst(self) -> float:
        """Return the largest relative error of a held-out quantile."""
        return max(abs(fitted - measured) / measured for _, measured, fitted in self.quantiles if measured > 0)

    @property
    def is_off(self) -> bool:
        """Return whether a quantile, or the share of times below any, is off by 5 % and by more than chance explains.

        The interval of a quantile (99 %) is that of the order statistics around it.
        """
        count = len(self.held_out)
        if self.ks > max(_MAX_ERROR, _KS_CRITICAL / sqrt(count)):
            return True
        for share, _, fitted in self.quantiles:
            margin = 2.58 * sqrt(count * share * (1 - share))
            low, high = floor(count * share - margin) - 1, ceil(count * share + margin)
            if low >= 0 and fitted < self.held_out[low] * (1 - _MAX_ERROR):
                return True
            if high < count and fitted > self.held_out[high] * (1 + _MAX_ERROR):
                return True
        return False


@dataclass(frozen=True, slots=True)
class LatencyFit:
    """Fitted latency section.

    Fields:
        prefill: seconds for each prompt token; 0: no influence was found.
        factor: by which ITL rises from 1 to ``capacity`` running calls; 1: no influence was found.
        notes: sentences that say what could not be estimated, and why.
    """

    ttft: Fit
    itl: Fit | None
    prefill: float
    capacity: int
    factor: float
    notes: tuple[str, ...]


def fit_latency(trace: Trace) -> LatencyFit:
    """Fit TTFT, its growth with the prompt, ITL, and its growth with load."""
    calls = list(zip(trace.calls, trace.loads, strict=True))
    timed = [(call, load) for call, load in calls if call.has_ttft]
    ttfts = np.array([call.ttft for call, _ in timed], dtype=np.float64)
    prompts = np.array([call.prompt_tokens for call, _ in timed], dtype=np.float64)
    loads = np.array([load for _, load in timed], dtype=np.float64)
    notes: list[str] = []
    known = prompts > 0
    prefill = _fit_prefill(prompts[known], ttfts[known], notes)
    if prefill:
        ttfts, prompts, loads = ttfts[known], prompts[known], loads[known]
    base = np.maximum(ttfts - prefill * prompts, 1e-6)
    _find_growth(loads, base, notes)
    capacity, factor = _fit_load(calls, notes)
    gaps = np.array(
        [gap / _stretch(load, capacity, factor) for call, load in calls for gap in call.gaps], dtype=np.float64
    )
    itl = fit_times(gaps) if len(gaps) >= 30 else None
    if itl is None:
        notes.append(f"the trace has {len(gaps)} times between tokens, a fit takes at least 30: there is no itl")
    if any(call.is_mean for call in trace.calls):
        notes.append("the trace has one mean time between tokens for each call: single times vary more than this itl")
    return LatencyFit(fit_times(base), itl, prefill, capacity, factor, tuple(notes))


def _fit_prefill(prompts: Samples, ttfts: Samples, notes: list[str]) -> float:
    """Return the seconds that TTFT grows by with each prompt token (Theil-Sen), if its interval excludes 0."""
    taken = _shuffle(len(prompts))[:_MAX_REGRESSION]
    _, counts = np.unique(prompts[taken], return_counts=True)
    if counts.sum() - counts.max(initial=0) < _MIN_OTHERS:
        notes.append(f"fewer than {_MIN_OTHERS} prompts have another length than the rest: there is no prefill")
        return 0.0
    found = stats.theilslopes(ttfts[taken], prompts[taken], 0.99)
    if not found.low_slope > 0:  # NaN included
        notes.append("TTFT does not grow with the prompt: there is no prefill")
        return 0.0
    return float(found.slope)


def _find_growth(loads: Samples, base: Samples, notes: list[str]) -> None:
    """Note that TTFT grows with load, by a tenth of its median or more; the scenario language has no such growth."""
    known = loads > 0
    if len(np.unique(loads[known])) < 3:
        return
    found = stats.linregress(loads[known], base[known])
    grown = found.slope * float(np.ptp(loads[known]))
    if found.pvalue < 0.001 and grown > 0.1 * float(np.median(base)):
        notes.append(
            f"TTFT grows by {found.slope:.3g} s with each running call, which a scenario cannot express: "
            "ttft covers all loads of the trace"
        )


def _shuffle(count: int) -> NDArray[np.int64]:
    """Return a permutation; load tests send prompts in turn, so that every fifth call may have the same prompt."""
    return np.random.default_rng(_SEED).permutation(count)


def _fit_load(calls: Sequence[tuple[MeasuredCall, int]], notes: list[str]) -> tuple[int, float]:
    """Return the most calls that ran at once, and how much longer ITL was then than alone."""
    rows = [(load, float(np.mean(call.gaps))) for call, load in calls if call.gaps and load]
    loads = np.array([load for load, _ in rows], dtype=np.float64)
    if len(rows) < 30 or len(np.unique(loads)) < 3:
        notes.append("calls that overlap, with their times between tokens, are too few: there is no load")
        return 0, 1.0
    found = stats.linregress(loads, np.array([gap for _, gap in rows]))
    capacity = int(loads.max())
    alone, full = found.intercept + found.slope, found.intercept + found.slope * capacity
    if found.pvalue > 0.001 or found.slope <= 0 or alone <= 0 or full / alone < 1.05:
        notes.append("ITL does not grow with load: there is no load")
        return 0, 1.0
    return capacity, float(full / alone)


def _stretch(load: int, capacity: int, factor: float) -> float:
    return 1 + (factor - 1) * (load - 1) / (capacity - 1) if capacity > 1 and load else 1.0


def fit_times(samples: Samples) -> Fit:
    """Fit the families to four fifths of some times, choose one, and check it on the rest."""
    order = _shuffle(len(samples))
    held_out, learned = np.sort(samples[order[::_HELD_OUT]]), np.delete(samples, order[::_HELD_OUT])
    constant = _estimate_constant(learned)
    estimates = [constant] if constant is not None else [estimate(learned) for estimate in _FAMILIES]
    families = [family for family in estimates if family is not None]
    families.sort(key=lambda family: family.bic)
    chosen = families[0]
    fit = _check(chosen, held_out, families, len(samples))
    if chosen.name != "constant" and fit.is_off:
        empirical = _check(_estimate_empirical(learned), held_out, families, len(samples))
        fit = empirical if not empirical.is_off or empirical.worst < fit.worst else fit
    return fit


def _check(chosen: FittedFamily, held_out: Samples, families: Sequence[FittedFamily], count: int) -> Fit:
    quantiles = tuple((q, float(np.quantile(held_out, q)), float(chosen.ppf(q))) for q in _QUANTILES)
    steps = np.arange(1, len(held_out) + 1) / len(held_out)
    ks = float(np.max(np.abs(chosen.cdf(held_out) - steps)))
    others = {family.name: family.bic for family in families if family.name != chosen.name}
    return Fit(chosen, count, ks, quantiles, others, held_out)


# Families


def _build(
    name: str, parameters: Mapping[str, float], times: str, law: stats.rv_continuous, samples: Samples
) -> FittedFamily:
    likelihood = float(np.sum(law.logpdf(samples)))
    bic = len(parameters) * log(len(samples)) - 2 * likelihood
    return FittedFamily(
        name,
        parameters,
        frozenset(times.split()),
        lambda share: max(0.0, float(law.ppf(share))),
        lambda values: np.asarray(law.cdf(values)),
        bic if isfinite(bic) else float("inf"),
    )


def _estimate_constant(samples: Samples) -> FittedFamily | None:
    mean = float(np.mean(samples))
    if float(np.ptp(samples)) > _CONSTANT * mean:
        return None
    return FittedFamily(
        "constant",
        {"value": mean},
        frozenset({"value"}),
        lambda share: mean,
        lambda values: np.asarray(values >= mean, dtype=np.float64),
        float("-inf"),
    )


def _estimate_uniform(samples: Samples) -> FittedFamily | None:
    low, width = stats.uniform.fit(samples)
    if width <= 0:
        return None
    parameters = {"low": float(low), "high": float(low + width)}
    return _build("uniform", parameters, "low high", stats.uniform(low, width), samples)


def _estimate_normal(samples: Samples) -> FittedFamily | None:
    mean, stddev = stats.norm.fit(samples)
    if stddev <= 0:
        return None
    parameters = {"mean": float(mean), "stddev": float(stddev)}
    return _build("normal", parameters, "mean stddev", stats.norm(mean, stddev), samples)


def _estimate_lognormal(samples: Samples) -> FittedFamily | None:
    mu, sigma = stats.norm.fit(np.log(samples))
    if sigma <= 0:
        return None
    parameters = {"median": exp(mu), "sigma": float(sigma)}
    return _build("lognormal", parameters, "median", stats.lognorm(sigma, scale=exp(mu)), samples)


def _estimate_gamma(samples: Samples) -> FittedFamily | None:
    if float(np.ptp(samples)) <= 0:
        return None
    shape, _, scale = stats.gamma.fit(samples, floc=0)
    parameters = {"mean": float(shape * scale), "cv": float(shape**-0.5)}
    return _build("gamma", parameters, "mean", stats.gamma(shape, scale=scale), samples)


def _estimate_pareto(samples: Samples) -> FittedFamily | None:
    minimum = float(samples.min())
    spread = float(np.sum(np.log(samples / minimum)))
    if spread <= 0:
        return None
    alpha, _, scale = stats.pareto.fit(samples, floc=0, fscale=minimum)
    parameters = {"minimum": float(scale), "alpha": float(alpha)}
    return _build("pareto", parameters, "minimum", stats.pareto(alpha, scale=scale), samples)


def _estimate_empirical(samples: Samples) -> FittedFamily:
    parameters = {f"p{share:g}": float(np.quantile(samples, share / 100)) for share in _EMPIRICAL}
    shares, values = np.array(_EMPIRICAL) / 100, np.array(list(parameters.values()))
    return FittedFamily(
        "empirical",
        parameters,
        frozenset(parameters),
        lambda share: float(np.interp(share, shares, values)),
        lambda measured: np.asarray(np.interp(measured, values, shares), dtype=np.float64),
        float("inf"),
    )


_FAMILIES = (
    _estimate_uniform,
    _estimate_normal,
    _estimate_lognormal,
    _estimate_gamma,
    _estimate_pareto,
)
