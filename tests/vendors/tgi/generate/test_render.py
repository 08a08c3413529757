"""Non-streaming responses of ``/`` and ``/generate``: keys and their order in both releases."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import OLD, PROMPT, REPLY, ask, post


@pytest.mark.covers("mindie/TGI beside it", "body of POST /", "body of POST /generate")
async def test_root_returns_array_and_generate_returns_object(start: Start) -> None:
    running = await start(REPLY)
    assert await post(running, ask({"return_full_text": False}), "/") == [{"generated_text": "one two three"}]
    assert await post(running, ask({}), "/generate") == {"generated_text": "one two three"}


@pytest.mark.covers("mindie/TGI beside it", "order of keys", "keys of details", "token")
@pytest.mark.parametrize("section", ["", OLD], ids=["3", "0.9.4"])
async def test_details(start: Start, section: str) -> None:
    running = await start(section + REPLY)
    answer = await post(running, ask({"details": True, "do_sample": True}))
    assert list(answer) == ["generated_text", "details"]
    details = answer["details"]
    assert list(details) == ["finish_reason", "generated_tokens", "seed", "prefill", "tokens"]
    assert all(list(token) == ["id", "text", "logprob", "special"] for token in details["tokens"])
    assert all(token["logprob"] <= 0 for token in details["tokens"])
    assert details["tokens"][-1] | {"logprob": 0} == {"id": 2, "text": "</s>", "logprob": 0, "special": True}
    assert "".join(token["text"] for token in details["tokens"][:-1]) == answer["generated_text"]
    assert details["finish_reason"] == "eos_token"
    assert details["prefill"] == []


@pytest.mark.covers("mindie/TGI beside it", "seed when greedy")
@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        pytest.param({}, False, id="a greedy answer has no seed"),
        pytest.param({"seed": 7}, False, id="even if one was sent"),
        pytest.param({"do_sample": True}, True, id="a sampled one draws one"),
        pytest.param({"do_sample": True, "seed": 7}, True, id="or repeats its own"),
    ],
)
async def test_seed(start: Start, parameters: JSON, shown: bool) -> None:
    details = (await post(await start(REPLY), ask({"details": True, **parameters})))["details"]
    assert (details["seed"] is not None) is shown
    if shown and "seed" in parameters:
        assert details["seed"] == 7


@pytest.mark.covers("mindie/TGI beside it", "token of a prefill")
@pytest.mark.parametrize(
    ("section", "filled"),
    [
        pytest.param("", False, id="3 leaves it empty"),
        pytest.param("vendors: {tgi: {enable_prefill_logprobs: true}}\n", True, id="unless switched on"),
        pytest.param(OLD, True, id="0.9.4 fills it"),
    ],
)
async def test_prefill(start: Start, section: str, filled: bool) -> None:
    details = (await post(await start(section + REPLY), ask({"decoder_input_details": True})))["details"]
    assert bool(details["prefill"]) is filled
    if filled:
        assert details["prefill"][0] == {"id": 1, "text": "<s>", "logprob": None}
        assert "".join(token["text"] for token in details["prefill"][1:]) == PROMPT
        assert all(token["logprob"] <= 0 for token in details["prefill"][1:])


@pytest.mark.covers("mindie/TGI beside it", "extra parameters")
async def test_top_tokens(start: Start) -> None:
    running = await start(REPLY)
    details = (await post(running, ask({"details": True, "top_n_tokens": 3})))["details"]
    assert list(details)[-2:] == ["tokens", "top_tokens"]
    assert len(details["top_tokens"]) == len(details["tokens"])
    assert all(len(row) == 3 for row in details["top_tokens"])
    answer = await running.ask("tgi", "/generate_stream", ask({"top_n_tokens": 2}))
    assert all(list(row)[:3] == ["index", "token", "top_tokens"] for row in answer.events())


async def test_best_of(start: Start) -> None:
    details = (await post(await start(), ask({"details": True, "best_of": 2, "do_sample": True, "max_new_tokens": 8})))[
        "details"
    ]
    (other,) = details["best_of_sequences"]
    assert list(other) == ["generated_text", "finish_reason", "generated_tokens", "seed", "prefill", "tokens"]

    def mean(sequence: JSON) -> float:
        return float(sum(token["logprob"] for token in sequence["tokens"]) / len(sequence["tokens"]))

    assert mean(details) >= mean(other)


@pytest.mark.covers("mindie/TGI beside it", "stop text", "finish_reason on stop")
async def test_stop_string_stays_in_text(start: Start) -> None:
    running = await start(REPLY)
    answer = await post(running, ask({"details": True, "stop": [" two"]}))
    assert answer["generated_text"] == "one two"
    assert answer["details"]["finish_reason"] == "stop_sequence"
    assert (await post(running, ask({"details": True, "stop": [" two"], "max_new_tokens": 2})))["details"][
        "finish_reason"
    ] == "length"


async def test_truncate(start: Start) -> None:
    running = await start(OLD)
    details = (await post(running, ask({"truncate": 2, "decoder_input_details": True})))["details"]
    assert [token["text"] for token in details["prefill"]] == [" the", " harbour"]
