"""Due times follow from the draws, the prompt and the load."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.json import Object
from emulator.latency import Latency
from tests.untyped_json import JSON

KEY = b"some key"


def pace(spec: JSON, count: int = 4, prompt_tokens: int = 0, running: int = 1, key: bytes = KEY) -> list[float]:
    return list(Latency.model_validate(spec).pace(count, prompt_tokens, key, running))


LOAD: Object = {"itl": "10ms", "load": {"capacity": 5, "factor": 3.0}}


@pytest.mark.covers("language/keys of latency", "ttft", case="ttft moves all tokens")
@pytest.mark.covers("language/keys of latency", "itl", case="itl parts them")
@pytest.mark.covers("language/keys of latency", "prefill", case="prefill counts prompt tokens")
@pytest.mark.covers("language/keys of latency", "factor", case="half way to capacity")
@pytest.mark.parametrize(
    ("spec", "prompt_tokens", "running", "due"),
    [
        pytest.param({}, 9, 1, [0, 0, 0, 0], id="no latency takes no time"),
        pytest.param({"ttft": "1s"}, 0, 1, [1, 1, 1, 1], id="ttft moves all tokens"),
        pytest.param({"itl": "10ms"}, 0, 1, [0, 0.01, 0.02, 0.03], id="itl parts them"),
        pytest.param({"ttft": "1s", "itl": "10ms"}, 0, 1, [1, 1.01, 1.02, 1.03], id="both"),
        pytest.param({"prefill": "1ms"}, 200, 1, [0.2, 0.2, 0.2, 0.2], id="prefill counts prompt tokens"),
        pytest.param({"ttft": "1s", "prefill": "1ms"}, 50, 1, [1.05, 1.05, 1.05, 1.05], id="prefill adds to ttft"),
        pytest.param(LOAD, 0, 1, [0, 0.01, 0.02, 0.03], id="one running call is not stretched"),
        pytest.param(LOAD, 0, 3, [0, 0.02, 0.04, 0.06], id="half way to capacity"),
        pytest.param(LOAD, 0, 5, [0, 0.03, 0.06, 0.09], id="at capacity"),
        pytest.param(LOAD, 0, 50, [0, 0.03, 0.06, 0.09], id="past capacity as at capacity"),
        pytest.param({"itl": "10ms", "load": {"capacity": 1, "factor": 9}}, 0, 1, [0, 0.01, 0.02, 0.03], id="one slot"),
        pytest.param({"ttft": "1s", "load": {"capacity": 2, "factor": 9}}, 0, 2, [1] * 4, id="load leaves ttft alone"),
    ],
)
def test_pace(spec: JSON, prompt_tokens: int, running: int, due: list[float]) -> None:
    assert pace(spec, 4, prompt_tokens, running) == pytest.approx(due)


NOISY: Object = {
    "ttft": {"type": "lognormal", "median": "180ms", "p99": "900ms"},
    "itl": {"type": "normal", "mean": "1ms", "stddev": "30ms"},
}


@given(count=st.integers(0, 300), prompt_tokens=st.integers(0, 10**6), running=st.integers(0, 100), key=st.binary())
def test_due_times_match_token_count_and_never_decrease(
    count: int, prompt_tokens: int, running: int, key: bytes
) -> None:
    due = pace({**NOISY, "prefill": "1us", "load": LOAD["load"]}, count, prompt_tokens, running, key)
    assert len(due) == count
    assert all(earlier <= later for earlier, later in pairwise(due))


def test_ttft_and_itl_draw_independently() -> None:
    varied = pace(NOISY, 100)
    assert pace({"ttft": NOISY["ttft"]}, 100)[0] == varied[0]
    gaps = [later - earlier for earlier, later in pairwise(varied)]
    assert gaps == pytest.approx([b - a for a, b in pairwise(pace({"itl": NOISY["itl"]}, 100))])


def test_long_constant_pacing_matches_short() -> None:
    due = pace({"ttft": "1s", "itl": "10ms"}, 5000)
    assert due[:100] == pace({"ttft": "1s", "itl": "10ms"}, 100)
    assert due[-1] == pytest.approx(1 + 49.99)


@pytest.mark.covers("language/sections", "latency")
@pytest.mark.covers("language/outcomes", "latency")
@pytest.mark.parametrize(
    ("default", "rule", "merged"),
    [
        pytest.param({"ttft": "1s", "itl": "1ms"}, {}, {"ttft": "1s", "itl": "1ms"}, id="nothing is replaced"),
        pytest.param({"ttft": "1s", "itl": "1ms"}, {"ttft": "2s"}, {"ttft": "2s", "itl": "1ms"}, id="ttft alone"),
        pytest.param({"prefill": "1ms"}, {"itl": "1ms"}, {"prefill": "1ms", "itl": "1ms"}, id="a part is added"),
        pytest.param({"ttft": "1s"}, {"ttft": "0s"}, {"ttft": "0s"}, id="zero is a value"),
    ],
)
def test_merge(default: JSON, rule: JSON, merged: JSON) -> None:
    assert Latency.model_validate(default).merge(Latency.model_validate(rule)) == Latency.model_validate(merged)


def test_merge_with_no_latency() -> None:
    latency = Latency.model_validate(NOISY)
    assert latency.merge(None) is latency
