"""Effect of each sampling field on the response."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, COMPLETIONS, LATEST, SEED, make_server


def _unbounded(**fields: JSON) -> JSON:
    return {**{name: value for name, value in BASE.items() if name != "max_tokens"}, **fields}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param({}, {"temperature": 1}, True, id="temperature at its default"),
        pytest.param({"temperature": 0.5}, {"temperature": 0.6}, False, id="temperature"),
        pytest.param({"top_p": 0.5}, {}, False, id="top_p"),
        pytest.param({"top_p": 1.0}, {}, True, id="top_p at its default"),
        pytest.param({"top_k": 5}, {}, False, id="top_k"),
        pytest.param({"top_k": -1}, {}, True, id="top_k of all"),
        pytest.param({"seed": 0}, {}, True, id="seed at its default"),
        pytest.param({"seed": 1}, {"seed": 2}, False, id="seed"),
        pytest.param({"frequency_penalty": 0.5}, {}, False, id="frequency_penalty"),
        pytest.param({"presence_penalty": 0.5}, {}, False, id="presence_penalty"),
        pytest.param({"repetition_penalty": 1.2}, {}, False, id="repetition_penalty"),
        pytest.param({"repetition_penalty": 1}, {}, True, id="repetition_penalty at its default"),
        pytest.param({"length_penalty": 2.0}, {}, True, id="length_penalty without beams"),
        pytest.param({"best_of": 3}, {"best_of": 4}, False, id="best_of"),
        pytest.param({"best_of": 3, "length_penalty": 2.0}, {"best_of": 3}, False, id="length_penalty of beams"),
        pytest.param({"best_of": 3, "diversity_penalty": 2.0}, {"best_of": 3}, False, id="diversity_penalty of beams"),
        pytest.param({"best_of": 3, "seed": 5}, {"best_of": 3}, True, id="seed of beams"),
        pytest.param({"best_of": 3, "temperature": 0.1}, {"best_of": 3}, True, id="temperature of beams"),
        pytest.param({"temperature": 0, "seed": 5}, {"temperature": 0}, True, id="seed without sampling"),
        pytest.param({"temperature": 0, "top_p": 0.5}, {"temperature": 0}, True, id="top_p without sampling"),
        pytest.param({"top_k": 1, "seed": 5}, {"temperature": 0}, True, id="one candidate is no sampling"),
    ],
)
def test_sampling_equality_depends_on_effective_parameters(left: JSON, right: JSON, same: bool) -> None:
    assert (SEED.sampling(**left) == SEED.sampling(**right)) is same


@pytest.mark.covers("openvino/fields of 2025.0", "beams, samples or greedy")
@pytest.mark.parametrize(
    ("fields", "greedy"),
    [
        pytest.param({}, False, id="sampling by default"),
        pytest.param({"temperature": 0}, True, id="temperature zero"),
        pytest.param({"top_k": 1}, True, id="one candidate"),
        pytest.param({"best_of": 2, "n": 2}, False, id="beams differ from one another"),
        pytest.param({"temperature": 0, "presence_penalty": 1}, False, id="a penalty changes a greedy text"),
    ],
)
def test_greedy(fields: JSON, greedy: bool) -> None:
    assert SEED.sampling(**fields).greedy is greedy


def test_choices() -> None:
    sampling = SEED.sampling(best_of=16, n=8, max_tokens=5)
    assert (sampling.n, sampling.max_tokens) == (8, 5)


@pytest.mark.parametrize(
    ("fields", "stop", "keep"),
    [
        pytest.param({}, (), False, id="none"),
        pytest.param({"stop": "."}, (".",), False, id="one, left out"),
        pytest.param({"stop": [".", ","], "include_stop_str_in_output": True}, (",", "."), True, id="two, kept"),
        pytest.param({"stop": ".", "stream": True}, (".",), True, id="kept in a stream"),
    ],
)
def test_stop(fields: JSON, stop: tuple[str, ...], keep: bool) -> None:
    sampling = SEED.sampling(**fields)
    assert (sampling.stop, sampling.keep_stop) == (stop, keep)


@pytest.mark.parametrize(
    ("fields", "seed_bound", "latest_bound"),
    [
        pytest.param({}, 8192 - 22, 8192 - 22, id="what the context leaves"),
        pytest.param({"max_tokens": 7}, 7, 7, id="max_tokens"),
        pytest.param({"max_completion_tokens": 5, "max_tokens": 7}, 5, 5, id="max_completion_tokens wins"),
        pytest.param({"ignore_eos": True}, 4000, 8192 - 22, id="ignore_eos alone"),
        pytest.param({"ignore_eos": True, "max_tokens": 9}, 9, 9, id="ignore_eos with max_tokens"),
        pytest.param({"ignore_eos": False}, 8192 - 22, 8192 - 22, id="ignore_eos false"),
    ],
)
def test_max_tokens(fields: JSON, seed_bound: int, latest_bound: int) -> None:
    for server, bound in ((SEED, seed_bound), (LATEST, latest_bound)):
        ask = server.call(_unbounded(**fields)).request
        assert ask.task == "chat"
        assert ask.sampling.max_tokens == bound
        assert ask.sampling.ignore_eos is fields.get("ignore_eos", False)


@pytest.mark.parametrize(
    ("release", "seed", "temperature"),
    [
        pytest.param("2024.2", None, 0.0, id="2024.2 is greedy"),
        pytest.param("2025.0", 0, 1.0, id="2025.0 has a fixed seed"),
        pytest.param("2026.1", 0, 1.0, id="2026.1 still has"),
        pytest.param("2026.2", None, 1.0, id="2026.2 draws one"),
    ],
)
def test_sampling_defaults_by_release(release: str, seed: int | None, temperature: float) -> None:
    sampling = make_server(release).sampling()
    assert sampling.seed == seed
    assert sampling.greedy is (temperature == 0)
    assert ("temperature", temperature) in sampling.parameters or temperature == 0


def test_top_k_40_is_default_in_2026_3() -> None:
    assert LATEST.sampling(top_k=40) == LATEST.sampling()
    assert LATEST.sampling(top_k=-1) != LATEST.sampling()


def test_logprobs_and_echo() -> None:
    assert SEED.sampling().logprobs is None
    assert SEED.sampling(logprobs=True).logprobs == 0
    completion = SEED.sampling(COMPLETIONS, logprobs=1, echo=True)
    assert (completion.logprobs, completion.prompt_details) == (0, True)
