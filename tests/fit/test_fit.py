"""Latency fitted to samples of known distributions and to files of load tests."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.cli import main
from emulator.fit.estimate import fit_latency, fit_times
from emulator.fit.traces import MeasuredCall, Trace, TraceError, read_traces
from emulator.recording.exchange import RecordedWrite, format_exchange
from emulator.scenario.load import load_text
from tests.recording.test_replay import STREAM
from tests.untyped_json import JSON

Draw = Callable[[np.random.Generator, int], "np.ndarray[tuple[int], np.dtype[np.float64]]"]
LAWS: dict[str, tuple[Draw, dict[str, float]]] = {
    "constant": (lambda rng, n: np.full(n, 0.2), {"value": 0.2}),
    "uniform": (lambda rng, n: rng.uniform(0.1, 0.3, n), {"low": 0.1, "high": 0.3}),
    "normal": (lambda rng, n: rng.normal(0.5, 0.05, n), {"mean": 0.5, "stddev": 0.05}),
    "lognormal": (lambda rng, n: rng.lognormal(np.log(0.18), 0.6, n), {"median": 0.18, "sigma": 0.6}),
    "gamma": (lambda rng, n: rng.gamma(4, 0.05, n), {"mean": 0.2, "cv": 0.5}),
    "pareto": (lambda rng, n: 0.1 * (1 + rng.pareto(3, n)), {"minimum": 0.1, "alpha": 3.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_family_and_parameters_are_found(name: str) -> None:
    draw, parameters = LAWS[name]
    fit = fit_times(draw(np.random.default_rng(7), 100_000))
    assert fit.chosen.name == name
    assert fit.chosen.parameters == pytest.approx(parameters, rel=0.05)
    assert fit.worst < 0.05
    assert fit.ks < 0.03 or name == "constant"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lognormal", "gamma", "normal"])
def test_few_times_keep_a_family(name: str) -> None:
    """Of 80 times 16 are held out; how far their quantiles are off says little."""
    draw, _ = LAWS[name]
    found = [fit_times(draw(np.random.default_rng(seed), 80)).chosen.name for seed in range(20)]
    assert found.count("empirical") <= 2


@pytest.mark.slow
def test_mixture_falls_back_to_quantiles() -> None:
    rng = np.random.default_rng(7)
    samples = np.concatenate([rng.normal(0.1, 0.005, 8500), rng.normal(1.0, 0.05, 1500)])
    fit = fit_times(rng.permutation(samples))
    assert fit.chosen.name == "empirical"


@pytest.mark.slow
def test_prefill_and_load_are_found() -> None:
    """Waves of one to ten calls at once; ITL is three times as long in the largest."""
    rng = np.random.default_rng(7)
    calls = []
    for wave in range(300):
        load = 1 + wave % 10
        for _ in range(load):
            prompt, stretch = int(rng.integers(10, 4000)), 1 + 2 * (load - 1) / 9
            gaps = tuple(float(gap) for gap in rng.gamma(16, 0.0125 / 16 * stretch, 20))
            ttft = float(0.05 + rng.gamma(4, 0.01) + 0.0002 * prompt)
            calls.append(MeasuredCall(ttft, gaps, prompt, float(wave), wave + 0.9))
    fit = fit_latency(Trace(calls))
    assert fit.prefill == pytest.approx(0.0002, rel=0.05)
    assert fit.capacity == 10
    assert fit.factor == pytest.approx(3, rel=0.05)
    assert fit.itl is not None
    assert fit.itl.chosen.parameters == pytest.approx({"mean": 0.0125, "cv": 0.25}, rel=0.05)


@pytest.mark.slow
def test_two_humps_are_no_pareto() -> None:
    """Of 200 times 40 are held out, too few for an interval of p99; the whole distribution is held against them."""
    rng = np.random.default_rng(10_000 + 200)
    samples = np.where(rng.random(200) < 0.8, rng.lognormal(np.log(0.1), 0.1, 200), rng.normal(1.2, 0.1, 200))
    assert fit_times(samples).chosen.name == "empirical"


def trace(count: int, lengths: list[int], load: float = 0.0) -> Trace:
    """Return calls of prompts in turn: 0.1 s and 0.3 ms a token, with ``load`` seconds more for each running call."""
    rng, calls = np.random.default_rng(5), []
    for number in range(count):
        prompt, running = lengths[number % len(lengths)], 1 + number // 3 % 4
        ttft = float(rng.gamma(25, 0.1 / 25)) + 0.0003 * (prompt or 1000) + load * running
        calls += [MeasuredCall(ttft, (0.01, 0.011), prompt, float(number), number + 0.5)]
        calls += [MeasuredCall(None, (), 0, number - 0.1 * other, number + 0.2) for other in range(1, running)]
    return Trace(calls)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "lengths"),
    [
        pytest.param(10_000, [100, 200, 400, 800, 1600], id="five prompts in turn"),
        pytest.param(1_000, [100, 2000], id="two lengths"),
        pytest.param(1_000, [100, 300, 500, 1500, 0], id="some lengths unknown"),
    ],
)
def test_prefill_of_prompts_in_turn(count: int, lengths: list[int]) -> None:
    fit = fit_latency(trace(count, lengths))
    assert fit.prefill == pytest.approx(0.0003, rel=0.05)
    assert fit.ttft.chosen.name == "gamma"
    assert fit.ttft.chosen.parameters == pytest.approx({"mean": 0.1, "cv": 0.2}, rel=0.1)


@pytest.mark.parametrize(
    ("count", "others"),
    [
        pytest.param(100, 1, id="one"),
        pytest.param(100, 4, id="four"),
        pytest.param(3_000, 1, id="one that the sample misses"),
        pytest.param(100, 0, id="none"),
    ],
)
def test_few_prompts_of_another_length_are_no_growth(count: int, others: int) -> None:
    """The last calls are late, and of another length."""
    times = np.random.default_rng(1).lognormal(-2, 0.2, count)
    calls = [
        MeasuredCall(float(time) + 0.2 * late, (), 100 + late)
        for number, time in enumerate(times)
        for late in [number >= count - others]
    ]
    fit = fit_latency(Trace(calls))
    assert fit.prefill == 0
    assert fit.ttft.chosen.name != "constant"
    assert any("fewer than 5 prompts have another length" in note for note in fit.notes)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "noted"), [(0.0, False), (0.05, True)])
def test_growth_of_ttft_with_load_is_noted(load: float, noted: bool) -> None:
    """Whole answers run at the same time as streams and count as load."""
    notes = fit_latency(trace(400, [100, 500, 900], load)).notes
    assert any(note.startswith("TTFT grows by 0.0") for note in notes) is noted


def write(tmp_path: Path, value: JSON) -> Path:
    file = tmp_path / "trace.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def times(count: int = 60) -> list[float]:
    return [float(value) for value in np.random.default_rng(3).gamma(4, 0.05, count)]


def journal(entry: JSON) -> JSON:
    more = {"status": 200, "completion_tokens": 3, "prompt_tokens": 7, "time": 5.0, "duration": 1.0}
    return {"requests": [{**more, "ttft": time, **entry} for time in times()]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "has_itl"),
    [
        pytest.param({"ttfts": times(), "itls": [[0.01, 0.02]] * 60, "input_lens": [5] * 60}, True, id="vLLM"),
        pytest.param(
            {
                "benchmarks": [
                    {
                        "requests": {
                            "successful": [
                                {"time_to_first_token_ms": t * 1e3, "inter_token_latency_ms": 9 + t} for t in times()
                            ]
                        }
                    }
                ]
            },
            True,
            id="guidellm",
        ),
        pytest.param(
            [
                {
                    "start_time": 1.0,
                    "end_time": 9.0,
                    "info": {"output_token_times": [1 + t, 1.3 + t], "input_tokens": 4},
                }
                for t in times()
            ],
            True,
            id="inference-perf",
        ),
        pytest.param(
            "\n".join([json.dumps({"ttfts": times(), "itls": [[0.01, 0.02]] * 60})] * 2), True, id="vLLM, appended"
        ),
        pytest.param(
            [
                {
                    "start_time": 1.0,
                    "end_time": 9.0,
                    "info": {"response_metrics": {"output_token_times": [1 + t, 1.3 + t]}, "input_tokens": 4},
                }
                for t in times()
            ],
            True,
            id="inference-perf of today",
        ),
        pytest.param(journal({"response": {"writes": [[0.1, 0.1], [0.2, 0.25]]}}), True, id="the journal"),
        pytest.param(journal({}), False, id="the journal without details"),
    ],
)
def test_results_of_load_tests_are_read(
    value: JSON, has_itl: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(write(tmp_path, value)), "--svg", str(tmp_path / "fit.svg")]) == 0
    section = capsys.readouterr().out
    latency = load_text(f"version: 1\n{section}").scenario.latency
    assert latency.ttft is not None
    assert (latency.itl is not None and "itl:" in section) or not has_itl
    assert (tmp_path / "fit.svg").read_text().startswith("<svg")


def test_rows_of_a_result_stay_together(tmp_path: Path) -> None:
    """A time that is no number leaves the lengths, errors and starts of later calls where they are."""
    value: JSON = {
        "ttfts": [float("nan"), 0.0, -1.0, 0.5, 0.6, None] + [0.25] * 30,
        "itls": [[], [], [], [0.1, 0.2], [0.3]],
        "input_lens": [1, 2, 3, None, 5, 6],
        "errors": ["", "refused", "", "", "reset", ""],
        "start_times": [1.0, 2.0, 3.0, 4.0],
    }
    calls = read_traces([write(tmp_path, value)]).calls
    assert calls[:2] == [MeasuredCall(0.5, (0.1, 0.2), 0, 4.0, 4.8), MeasuredCall(0.25)]
    assert len(calls) == 31


@pytest.mark.parametrize("prefix", ["", "request_"])
def test_mean_gaps_of_guidellm_are_named(prefix: str, tmp_path: Path) -> None:
    row: dict[str, JSON] = {"time_to_first_token_ms": 100, "inter_token_latency_ms": 9, "prompt_tokens": 3}
    row |= {f"{prefix}start_time": 5.0, f"{prefix}end_time": 6.0}
    value: JSON = {"benchmarks": [{"requests": {"successful": [row] * 40}}]}
    calls = read_traces([write(tmp_path, value)]).calls
    assert calls[0] == MeasuredCall(0.1, (0.009,), 3, 5.0, 6.0, is_mean=True)
    assert any("one mean time between tokens" in note for note in fit_latency(Trace(calls)).notes)


def test_recordings_are_read(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.exchange").write_text(format_exchange(STREAM))
    calls = read_traces([tmp_path]).calls
    assert calls[0] == MeasuredCall(0.5, (0.25,), 9, STREAM.time, STREAM.time + 1.25)


def test_tokens_of_one_write_share_its_gap(tmp_path: Path) -> None:
    """Three tokens in a second are three in a second, however the network joined them."""
    first, second, last = STREAM.writes
    joined = RecordedWrite(first.offset + 1, first.data * 3 + second.data)
    exchange = replace(STREAM, writes=(first, joined, replace(last, offset=2.0)))
    (tmp_path / "1.exchange").write_text(format_exchange(exchange))
    (tmp_path / "2.exchange").write_text(format_exchange(replace(STREAM, writes=(), ending="cut")))
    for number in range(3, 33):
        (tmp_path / f"{number}.exchange").write_text(format_exchange(exchange))
    assert read_traces([tmp_path]).calls[0].gaps == (0.25,) * 4


@pytest.mark.covers("language/commands", "fit")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            "TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n", "arrivals and lengths has no latency", id="arrivals"
        ),
        pytest.param('{"timestamp": 0, "input_length": 6758}\n' * 40, "arrivals and lengths has no", id="Mooncake"),
        pytest.param({"input_lens": [5] * 40, "output_lens": [5] * 40}, "arrivals and lengths has no", id="lengths"),
        pytest.param({"ttfts": [0.0, -1.0] * 40}, "0 calls have a time", id="times that were not measured"),
        pytest.param('{"ttfts": [1, 2], "a":', "no JSON", id="cut JSON"),
        pytest.param({"mean_ttft_ms": 5}, "only averages", id="averages"),
        pytest.param({"ttfts": [0.1] * 5}, "5 calls have a time to first token; a fit takes at least 30", id="few"),
        pytest.param({"ttfts": [1e308, 10**400, -(10**400)] * 40}, "0 calls have a time", id="times of no clock"),
        pytest.param({"a": 1}, "no recording, journal, or result", id="something else"),
        pytest.param("text", "no JSON", id="text"),
        pytest.param("[" * 200_000, "JSON nested too deeply", id="a deep document"),
        pytest.param("{}\n" + "[" * 200_000, "JSON nested too deeply", id="a deep line"),
    ],
)
def test_trace_without_times_is_refused(value: JSON, message: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        read_traces([write(tmp_path, value)])
    assert message in str(caught.value)
